#pragma once

// What kubelet's CPU manager wrote down: its policy, and the CPUs that containers of Guaranteed
// pods have to themselves. Kubelet resets the cpusets of all other containers again and again, so
// whoever moves processes between CPUs has to know them.

#include <map>
#include <string>

#include "base/cpuset.h"
#include "base/result.h"
#include "koordlet/system/host_dirs.h"

namespace koord::koordlet {

struct CpuManagerState {
  std::string policy;                   // "none", "static"; "" when kubelet has written nothing
  std::map<std::string, CpuSet> owned;  // by pod uid: all CPUs of its containers
  bool isStatic() const { return policy == "static"; }
  bool operator==(const CpuManagerState&) const = default;
};

// The file cpu_manager_state in kubelet's directory, for those who look every second: it is parsed when its text has
// changed. No or an empty file is an empty state. Not thread-safe.
class CpuManagerFile {
 public:
  explicit CpuManagerFile(const HostDirs& dirs) : path_(dirs.varLibKubelet + "cpu_manager_state") {}

  // Looks again. An error when it cannot be read or understood; the state is then what it was.
  Result<> refresh();
  const CpuManagerState& state() const { return state_; }

 private:
  std::string path_;
  std::string text_, parsed_;  // as read now; of the state. Both keep their memory.
  CpuManagerState state_;
};

// The same, once.
Result<CpuManagerState> readCpuManagerState(const HostDirs& dirs);

}  // namespace koord::koordlet
