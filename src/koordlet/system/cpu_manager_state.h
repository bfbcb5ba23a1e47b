#pragma once

// The state file of kubelet's CPU manager: its policy, and the exclusive CPUs of containers of
// Guaranteed pods. Kubelet resets the cpusets of all other containers periodically, so components
// that set cpusets must know them.

#include <map>
#include <string>

#include "base/cpuset.h"
#include "base/result.h"
#include "koordlet/system/host_dirs.h"

namespace koord::koordlet {

struct CpuManagerState {
  std::string policy;                   // "none", "static"; "" if kubelet has not written it
  std::map<std::string, CpuSet> owned;  // by pod uid: all CPUs of its containers
  bool isStatic() const { return policy == "static"; }
  bool operator==(const CpuManagerState&) const = default;
};

// The file cpu_manager_state in kubelet's directory, for reads in each second: parses it only if
// its text has changed. A missing or empty file is an empty state. Not thread-safe.
class CpuManagerFile {
 public:
  explicit CpuManagerFile(const HostDirs& dirs) : path_(dirs.varLibKubelet + "cpu_manager_state") {}

  // Reads the file again. On an error (unreadable or malformed) the state stays as it was.
  Result<> refresh();
  const CpuManagerState& state() const { return state_; }

 private:
  std::string path_;
  std::string text_, parsed_;  // last read; text of state_. Both keep their memory.
  CpuManagerState state_;
};

// The same, once.
Result<CpuManagerState> readCpuManagerState(const HostDirs& dirs);

}  // namespace koord::koordlet
