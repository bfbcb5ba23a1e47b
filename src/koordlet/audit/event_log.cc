#include "koordlet/audit/event_log.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "koordlet/system/cgroup_path.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kFileBytes = 2 << 20;
constexpr std::size_t kManyWaiting = 64 << 10;
constexpr std::size_t kMaxWaiting = 1 << 20;  // while the folder cannot be written
constexpr int kNamesASecond = 9;
constexpr std::string_view kNewest = "audit.log";

bool isEviction(const AuditEntry& entry) {
  return entry.file == "pod";
}

bool isRotated(const std::string& name) {
  return name.starts_with("audit-") && name.ends_with(".log");
}

}  // namespace

int levelOf(const AuditEntry& entry) {
  if (isEviction(entry)) return 0;
  if (entry.file == "tasks") return 5;
  return entry.reason == "AdjustBEByNodeCPUUsage" && entry.file != "cpuset.cpus" ? 1 : 3;
}

std::string eventText(const AuditEntry& entry) {
  json::object event{{"createdAt", formatMicroTime(entry.time)}, {"level", levelOf(entry)}};
  if (isEviction(entry) || entry.file == "interference") {
    const auto slash = entry.cgroup.find('/');
    event["type"] = "pod";
    event["namespace"] = entry.cgroup.substr(0, slash);
    event["name"] = slash == std::string::npos ? "" : entry.cgroup.substr(slash + 1);
    event["reason"] = isEviction(entry) ? "evicted" : "interference";
    event["message"] = entry.reason;
    return toJson(event);
  }
  event["type"] = entry.reason == "AdjustBEByNodeCPUUsage" ? "node" : "group";
  event["name"] = entry.cgroup;
  event["reason"] = entry.reason;
  event["message"] = fmt::format("update {} to {} (was {})", joinPath(entry.cgroup, entry.file),
                                 entry.after, entry.before);
  return toJson(event);
}

EventLog::EventLog(AuditOptions options) : options_(std::move(options)) {}

void EventLog::add(const AuditEntry& entry) {
  if (!options_.enabled || waiting_.size() > kMaxWaiting) return;
  if (options_.verbosity != 0 && levelOf(entry) > options_.verbosity) return;
  waiting_ += eventText(entry);
  waiting_ += '\n';
  if (waiting_.size() >= kManyWaiting && problem_.empty()) flush(entry.time);
}

std::vector<std::string> EventLog::files() const {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(options_.folder, ignored))
    if (isRotated(entry.path().filename())) names.push_back(entry.path().filename());
  std::ranges::sort(names, std::greater());
  if (pathExists(path(std::string(kNewest)))) names.insert(names.begin(), std::string(kNewest));
  for (auto& name : names) name = path(name);
  return names;
}

Result<> EventLog::rotate(WallTime now) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  const std::string stem = fmt::format("audit-{:%Y-%m-%d-%H-%M-%S}", seconds);
  for (int i = 0; i < kNamesASecond; ++i) {
    const std::string to = path(fmt::format("{}-{}.log", stem, i));
    if (pathExists(to)) continue;
    if (::rename(path(std::string(kNewest)).c_str(), to.c_str()) != 0)
      return fail(errnoError("rename to " + to, errno));
    break;
  }
  const std::int64_t most =
      std::max<std::int64_t>(options_.maxMegabytes * (1 << 20) / kFileBytes, 1);
  auto all = files();
  while (static_cast<std::int64_t>(all.size()) > most - 1 && !all.empty()) {
    ::unlink(all.back().c_str());
    all.pop_back();
  }
  return {};
}

Result<> EventLog::write(WallTime now) {
  if (options_.maxMegabytes <= 0)
    return fail(ErrorCode::Invalid, "--audit-max-disk-space-mb must be at least 1");
  auto made = makeDirs(options_.folder, 0755);
  if (!made) return made;
  const std::string file = path(std::string(kNewest));
  const int fd = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return fail(errnoError("open " + file, errno));
  struct stat before{};
  const bool known = ::fstat(fd, &before) == 0;
  const auto size = ::write(fd, waiting_.data(), waiting_.size());
  const int error = errno;
  // An incomplete line, e.g. on a full disk, is removed.
  const bool whole = size == static_cast<ssize_t>(waiting_.size());
  if (!whole && size > 0 && known) (void)!::ftruncate(fd, before.st_size);
  ::close(fd);
  if (!whole) return fail(errnoError("write to " + file, size < 0 ? error : ENOSPC));
  waiting_.clear();
  waiting_.shrink_to_fit();
  return before.st_size + size >= kFileBytes ? rotate(now) : Result<>();
}

void EventLog::flush(WallTime now) {
  if (waiting_.empty()) return;
  const auto done = write(now);
  const std::string problem = done ? "" : done.error().message;
  if (!problem.empty() && problem != problem_) log::warn("cannot store events: {}", problem);
  problem_ = problem;
}

}  // namespace koord::koordlet
