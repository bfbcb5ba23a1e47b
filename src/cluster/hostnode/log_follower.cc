#include "cluster/hostnode/log_follower.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "cluster/hostnode/log_files.h"

namespace koord::cluster {

namespace {

using namespace std::chrono_literals;

constexpr Duration kPoll = 200ms;
constexpr std::int64_t kPiece = 1 << 20;
constexpr std::int64_t kBlock = 64 << 10;  // of the search for the last lines

std::string readAt(const Fd& file, std::int64_t offset, std::int64_t size) {
  std::string text(static_cast<std::size_t>(std::max<std::int64_t>(size, 0)), '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), offset);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

std::int64_t sizeOf(const Fd& file) {
  struct stat entry{};
  return ::fstat(file.get(), &entry) == 0 ? static_cast<std::int64_t>(entry.st_size) : 0;
}

bool isSameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

Result<LogFollower> LogFollower::open(Executor& executor, const HostNode& node, api::ObjectKey pod,
                                      std::string container, LogOptions options) {
  auto path = node.logPath(pod, container, options.previous);
  if (!path) return fail(std::move(path.error()));
  LogFollower follower(executor, node, std::move(pod), std::move(container), *std::move(path),
                       options);
  if (auto opened = follower.openLog(); !opened) return fail(std::move(opened.error()));
  return follower;
}

// A container that has not started has no log.
Result<> LogFollower::openLog() {
  file_ = Fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file_ && errno != ENOENT) return fail(errnoError(path_, errno));
  if (!file_) return {};
  end_ = sizeOf(file_);
  offset_ = tailLines_ ? end_ : 0;
  return {};
}

bool LogFollower::seekTail() {
  if (*tailLines_ <= 0) return true;
  for (const auto stop = std::max<std::int64_t>(offset_ - kPiece, 0); offset_ > stop;) {
    const std::int64_t from = std::max<std::int64_t>(offset_ - kBlock, 0);
    const std::string block = readAt(file_, from, offset_ - from);
    if (static_cast<std::int64_t>(block.size()) < offset_ - from) return true;
    // A line begins after the previous line break. A final line break does not begin a line.
    for (; offset_ > from; --offset_)
      if (block[static_cast<std::size_t>(offset_ - 1 - from)] == '\n' && offset_ != end_ &&
          --*tailLines_ == 0)
        return true;
  }
  return offset_ == 0;
}

std::string LogFollower::read(bool rest) {
  const std::int64_t limit = follow_ ? kPiece : std::min(kPiece, end_ - offset_);
  std::string text = readAt(file_, offset_, limit);
  const bool last = !follow_ && offset_ + static_cast<std::int64_t>(text.size()) >= end_;
  // A log without line breaks is passed on unchanged.
  const bool whole = !rest && !last && static_cast<std::int64_t>(text.size()) < kPiece;
  const auto lines = wholeLines(text);
  if (lines > 0 && !last)
    text.resize(lines);
  else if (whole)
    text.clear();
  offset_ += static_cast<std::int64_t>(text.size());
  return text;
}

bool LogFollower::isOver() const {
  const auto current = node_->logPath(pod_, container_, false);
  return !current || *current != path_ || !node_->isRunning(pod_, container_);
}

std::optional<int> LogFollower::age() const {
  struct stat mine{};
  struct stat other{};
  if (::fstat(file_.get(), &mine) != 0) return std::nullopt;
  for (int age = 0; age < LogLimits().files; ++age)
    if (::stat(rotatedLog(path_, age).c_str(), &other) == 0 && isSameFile(mine, other)) return age;
  return std::nullopt;
}

bool LogFollower::advance() {
  const auto before = age();
  if (before == 0) return false;
  int next = before ? *before - 1 : LogLimits().files - 1;
  while (!before && next > 0 && fileSize(rotatedLog(path_, next)) < 0) --next;
  Fd file(::open(rotatedLog(path_, next).c_str(), O_RDONLY | O_CLOEXEC));
  // It does not exist yet, or was rotated as well, or the old file was still being written.
  if (!file) return false;
  if (before && age() != before) return true;
  if (sizeOf(file_) > offset_) return true;
  file_ = std::move(file);
  offset_ = 0;
  return true;
}

Task<std::optional<std::string>> LogFollower::next() {
  if (selector_.full()) co_return std::nullopt;
  if (std::exchange(begun_, true)) {
    auto yield = sleepFor(*executor_, 0ns);
    co_await yield;
  }
  if (!file_ && (!openLog() || !file_)) {
    if (!follow_ || isOver()) co_return std::nullopt;
    auto pause = sleepFor(*executor_, kPoll);
    co_await pause;
    co_return std::string();
  }
  if (tailLines_) {
    if (seekTail()) tailLines_.reset();
    co_return std::string();
  }
  const bool over = follow_ && isOver();
  std::string text = read(false);
  if (text.empty() && !follow_) co_return std::nullopt;
  const bool aside = text.empty() && age() != 0;
  if (over || aside) {
    if (text.empty()) text = read(true);
    if (text.empty() && aside && advance()) co_return std::string();
    if (text.empty() && over) co_return std::nullopt;
  }
  if (!text.empty()) co_return selector_.select(text);
  auto pause = sleepFor(*executor_, kPoll);
  co_await pause;
  co_return std::string();
}

}  // namespace koord::cluster
