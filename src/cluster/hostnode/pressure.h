#pragma once

// The host's resource pressure, computed as in a kubelet: signals (memory, disk, inodes, process
// ids) are compared with hard eviction thresholds, and set the node's pressure conditions. A
// condition stays for five minutes after its signal was last below a threshold, so that it does not
// flap.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "base/result.h"
#include "cluster/node/node_agent.h"

namespace koord::cluster {

enum class EvictionSignal {
  MemoryAvailable,
  NodefsAvailable,
  NodefsInodesFree,
  ImagefsAvailable,
  ImagefsInodesFree,
  PidAvailable,
};

// In bytes, inodes or process ids.
struct SignalReading {
  std::int64_t available = 0;
  std::int64_t capacity = 0;
};
// Unreadable signals are absent and meet no threshold.
using SignalReadings = std::map<EvictionSignal, SignalReading>;

struct EvictionThreshold {
  // The amount below which the threshold is met.
  std::int64_t of(std::int64_t capacity) const;

  EvictionSignal signal{};
  std::int64_t amount = 0;        // used without a fraction
  std::optional<float> fraction;  // of the capacity; kubelet's type, so that amounts are equal
};

// "memory.available<100Mi,nodefs.available<10%", the format of kubelet's --eviction-hard: the last
// value of a signal holds, empty parts are skipped, and 0% and 100% are no threshold.
Result<std::vector<EvictionThreshold>> parseEvictionHard(std::string_view text);

// memory.available from /proc/meminfo, computed as in kubelet: free memory and inactive files.
std::optional<SignalReading> memorySignal(std::string_view meminfo);
// pid.available from /proc/sys/kernel/pid_max, /proc/sys/kernel/threads-max and /proc/loadavg. The
// kernel starts no task beyond the lower of the two limits. A text is "" if its file is unreadable.
std::optional<SignalReading> pidSignal(std::string_view pidMax, std::string_view threadsMax,
                                       std::string_view loadavg);
// Signals of the host. nodefs is the file system of `dataDir`, imagefs that of `imageDir`; "" if
// there are no images. Blocks.
SignalReadings readSignals(const std::string& dataDir, const std::string& imageDir);

// Returns true if the signals of the folder's file system can be read. Blocks.
bool hasReadableDisk(const std::string& folder);

class PressureWatch {
 public:
  explicit PressureWatch(std::vector<EvictionThreshold> thresholds)
      : thresholds_(std::move(thresholds)) {}

  NodePressures observe(const SignalReadings& signals, SteadyTime now);

 private:
  std::vector<EvictionThreshold> thresholds_;
  std::optional<SteadyTime> memoryMet_, diskMet_, pidMet_;  // when a threshold was met last
};

}  // namespace koord::cluster
