#pragma once

// What this machine is, as a kubelet reports it, and whether pods can run on it.

#include <string>

#include "api/core.h"
#include "cluster/hostnode/cgroups.h"

namespace koord::cluster {

struct Machine {
  std::string hostname;  // lower case; the node's name
  int cpus = 0;
  std::int64_t memoryBytes = 0;
  std::int64_t diskBytes = 0;
  api::NodeSystemInfo info;
};

// Reads /proc, /etc/os-release, the machine id and the disk that holds `dataDir`.
Machine readMachine(const std::string& dataDir);
// The MemTotal line of /proc/meminfo in bytes, 0 when it is missing.
std::int64_t memTotal(std::string_view meminfo);

api::ResourceList capacityOf(const Machine& machine);
// Capacity without the 100Mi that a kubelet keeps for itself before it evicts.
api::ResourceList allocatableOf(const Machine& machine);

// The machine's claim to be the one host node: held for as long as the object lives, given up by
// the kernel when the process dies.
class HostNodeLock {
 public:
  static Result<HostNodeLock> take();
  HostNodeLock(HostNodeLock&& other) noexcept;
  HostNodeLock& operator=(HostNodeLock&&) = delete;
  ~HostNodeLock();

 private:
  explicit HostNodeLock(int fd) : fd_(fd) {}
  int fd_;
};

// Where cgroups are, when this process may run pods in them; otherwise the reason why not, for a
// person.
Result<CgroupLayout> checkHostNode(CgroupFs& fs);

}  // namespace koord::cluster
