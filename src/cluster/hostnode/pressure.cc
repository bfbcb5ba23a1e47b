#include "cluster/hostnode/pressure.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <array>
#include <charconv>
#include <chrono>

#include "base/file.h"
#include "base/quantity.h"
#include "base/split.h"
#include "cluster/hostnode/machine.h"

namespace koord::cluster {

namespace {

using namespace std::chrono_literals;

constexpr Duration kTransitionPeriod = 5min;

constexpr std::array kSignals = {
    std::pair{"memory.available", EvictionSignal::MemoryAvailable},
    std::pair{"nodefs.available", EvictionSignal::NodefsAvailable},
    std::pair{"nodefs.inodesFree", EvictionSignal::NodefsInodesFree},
    std::pair{"imagefs.available", EvictionSignal::ImagefsAvailable},
    std::pair{"imagefs.inodesFree", EvictionSignal::ImagefsInodesFree},
    std::pair{"pid.available", EvictionSignal::PidAvailable},
};

std::unexpected<Error> refused(std::string_view term, std::string_view why) {
  return fail(ErrorCode::Invalid, fmt::format("\"{}\": {}", term, why));
}

Result<EvictionThreshold> parseThreshold(std::string_view name, std::string_view value) {
  const std::string term = fmt::format("{}<{}", name, value);
  EvictionThreshold threshold;
  bool known = false;
  for (const auto& [text, signal] : kSignals) {
    if (name != text) continue;
    threshold.signal = signal;
    known = true;
  }
  if (!known) return refused(term, "unknown signal");
  if (value.ends_with('%')) {
    value.remove_suffix(1);
    float percent = -1;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), percent);
    if (error != std::errc() || end != value.data() + value.size() || !(percent >= 0) ||
        percent > 100)
      return refused(term, "must be a percentage from 0 to 100");
    threshold.fraction = percent / 100;
    return threshold;
  }
  const auto amount = Quantity::parse(value);
  if (!amount || *amount <= Quantity::of(0)) return refused(term, "must be an amount above 0");
  threshold.amount = amount->value();
  return threshold;
}

bool isMet(const EvictionThreshold& threshold, const SignalReading& reading) {
  return reading.available < threshold.of(reading.capacity);
}

void readDisk(const std::string& folder, EvictionSignal bytes, EvictionSignal inodes,
              SignalReadings& into) {
  struct statvfs disk{};
  if (folder.empty() || ::statvfs(folder.c_str(), &disk) != 0) return;
  into[bytes] = {static_cast<std::int64_t>(disk.f_bavail * disk.f_frsize),
                 static_cast<std::int64_t>(disk.f_blocks * disk.f_frsize)};
  // Some file systems create inodes on demand, and count none.
  if (disk.f_files > 0)
    into[inodes] = {static_cast<std::int64_t>(disk.f_ffree),
                    static_cast<std::int64_t>(disk.f_files)};
}

std::optional<std::int64_t> numberIn(std::string_view text) {
  std::int64_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc())
    return std::nullopt;
  return number;
}

// "0.50 0.43 0.40 2/345 6789": running tasks, and all tasks.
std::optional<std::int64_t> tasksIn(std::string_view loadavg) {
  const auto slash = loadavg.find('/');
  return slash == std::string_view::npos ? std::nullopt : numberIn(loadavg.substr(slash + 1));
}

}  // namespace

std::int64_t EvictionThreshold::of(std::int64_t capacity) const {
  if (!fraction) return amount;
  return static_cast<std::int64_t>(static_cast<double>(capacity) * static_cast<double>(*fraction));
}

Result<std::vector<EvictionThreshold>> parseEvictionHard(std::string_view text) {
  std::map<std::string_view, std::string_view> values;  // by signal
  for (const std::string_view term : splitAll(text, ',')) {
    if (term.empty()) continue;
    const auto sign = term.find('<');
    if (sign == std::string_view::npos) return refused(term, "want signal<amount");
    values[trim(term.substr(0, sign))] = trim(term.substr(sign + 1));
  }
  std::vector<EvictionThreshold> thresholds;
  for (const auto& [name, value] : values) {
    auto threshold = parseThreshold(name, value);
    if (!threshold) return fail(std::move(threshold.error()));
    if (value != "0%" && value != "100%") thresholds.push_back(*threshold);
  }
  return thresholds;
}

std::optional<SignalReading> memorySignal(std::string_view meminfo) {
  const auto total = meminfoLine(meminfo, "MemTotal");
  const auto free = meminfoLine(meminfo, "MemFree");
  const auto inactive = meminfoLine(meminfo, "Inactive(file)");
  if (!total || !free || !inactive) return std::nullopt;
  return SignalReading{*free + *inactive, *total};
}

std::optional<SignalReading> pidSignal(std::string_view pidMax, std::string_view threadsMax,
                                       std::string_view loadavg) {
  auto most = numberIn(pidMax);
  if (const auto threads = numberIn(threadsMax); threads && (!most || *threads < *most))
    most = threads;
  const auto tasks = tasksIn(loadavg);
  if (!most || !tasks) return std::nullopt;
  return SignalReading{*most - *tasks, *most};
}

bool hasReadableDisk(const std::string& folder) {
  struct statvfs disk{};
  return ::statvfs(folder.c_str(), &disk) == 0;
}

SignalReadings readSignals(const std::string& dataDir, const std::string& imageDir) {
  SignalReadings readings;
  if (const auto meminfo = readFile("/proc/meminfo"))
    if (const auto memory = memorySignal(*meminfo))
      readings[EvictionSignal::MemoryAvailable] = *memory;
  readDisk(dataDir, EvictionSignal::NodefsAvailable, EvictionSignal::NodefsInodesFree, readings);
  readDisk(imageDir, EvictionSignal::ImagefsAvailable, EvictionSignal::ImagefsInodesFree, readings);
  const auto content = [](const char* path) { return readFile(path).value_or(""); };
  if (const auto pids =
          pidSignal(content("/proc/sys/kernel/pid_max"), content("/proc/sys/kernel/threads-max"),
                    content("/proc/loadavg")))
    readings[EvictionSignal::PidAvailable] = *pids;
  return readings;
}

NodePressures PressureWatch::observe(const SignalReadings& signals, SteadyTime now) {
  for (const auto& threshold : thresholds_) {
    const auto reading = signals.find(threshold.signal);
    if (reading == signals.end() || !isMet(threshold, reading->second)) continue;
    if (threshold.signal == EvictionSignal::MemoryAvailable) {
      memoryMet_ = now;
    } else if (threshold.signal == EvictionSignal::PidAvailable) {
      pidMet_ = now;
    } else {
      diskMet_ = now;
    }
  }
  const auto holds = [&](const std::optional<SteadyTime>& met) {
    return met && now - *met < kTransitionPeriod;
  };
  return {holds(memoryMet_), holds(diskMet_), holds(pidMet_)};
}

}  // namespace koord::cluster
