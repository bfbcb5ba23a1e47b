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

// Of the file cpu_manager_state in kubelet's directory; no or an empty file is an empty state.
Result<CpuManagerState> readCpuManagerState(const HostDirs& dirs);

}  // namespace koord::koordlet
