#pragma once

// What runs short on this machine, as a kubelet decides it: signals (memory, disk, inodes, process ids) are compared
// with hard eviction thresholds, and the node's pressure conditions follow. A condition stays for five minutes after
// its signal was below a threshold last, so that pods do not come and go with it.

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
// What cannot be read is absent, and no threshold is met by it.
using SignalReadings = std::map<EvictionSignal, SignalReading>;

struct EvictionThreshold {
  EvictionSignal signal{};
  std::int64_t amount = 0;         // met below this
  std::optional<double> fraction;  // or below this part of the capacity
};

// "memory.available<100Mi,nodefs.available<10%", as kubelet's --eviction-hard has it; "" has none.
Result<std::vector<EvictionThreshold>> parseEvictionHard(std::string_view text);

// memory.available of /proc/meminfo as kubelet counts it: what is free, and files that nobody uses now.
std::optional<SignalReading> memorySignal(std::string_view meminfo);
// Signals of this machine. nodefs is the file system of `dataDir`, imagefs that of `imageDir`; "" where there are no
// images. Blocks.
SignalReadings readSignals(const std::string& dataDir, const std::string& imageDir);

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
