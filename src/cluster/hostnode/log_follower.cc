#include "cluster/hostnode/log_follower.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"

namespace koord::cluster {

namespace {

using namespace std::chrono_literals;

constexpr Duration kPoll = 200ms;

// Whole lines from `offset` on; moves it. At most one MiB, so that a long log does not hold others
// up.
std::string readFrom(const std::string& path, std::int64_t& offset) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text(1 << 20, '\0');
  const ssize_t got = ::pread(fd, text.data(), text.size(), offset);
  ::close(fd);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  // A log without line breaks is passed on as it comes.
  if (const auto whole = wholeLines(text); whole > 0) text.resize(whole);
  offset += static_cast<std::int64_t>(text.size());
  return text;
}

}  // namespace

Result<LogFollower> LogFollower::open(Executor& executor, const HostNode& node, api::ObjectKey pod,
                                      std::string container, LogOptions options) {
  auto path = node.logPath(pod, container, options.previous);
  if (!path) return fail(std::move(path.error()));
  return LogFollower(executor, node, std::move(pod), std::move(container), *std::move(path),
                     std::move(options));
}

std::string LogFollower::select(std::string_view log) {
  std::string text = selectLog(log, options_);
  if (options_.limitBytes) *options_.limitBytes -= static_cast<std::int64_t>(text.size());
  return text;
}

Result<std::string> LogFollower::first() {
  const auto log = readFile(path_);
  // A container that has not begun has none.
  if (!log && log.error().code == ErrorCode::NotFound) return std::string();
  if (!log) return fail(log.error());
  offset_ = static_cast<std::int64_t>(options_.follow ? wholeLines(*log) : log->size());
  return select(std::string_view(*log).substr(0, static_cast<std::size_t>(offset_)));
}

Task<std::optional<std::string>> LogFollower::next() {
  options_.tailLines.reset();
  if (options_.limitBytes && *options_.limitBytes <= 0) co_return std::nullopt;
  const bool over = [this] {
    const auto current = node_->logPath(pod_, container_, false);
    return !current || *current != path_ || !node_->isRunning(pod_, container_);
  }();
  const std::string more = readFrom(path_, offset_);
  if (!more.empty()) co_return select(more);
  if (over) co_return std::nullopt;
  auto pause = sleepFor(*executor_, kPoll);
  co_await pause;
  co_return std::string();
}

}  // namespace koord::cluster
