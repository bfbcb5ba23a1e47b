#pragma once

// The host's properties, as a kubelet reports them, and whether pods can run on it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/core.h"
#include "base/fd.h"
#include "cluster/hostnode/cgroups.h"
#include "cluster/hostnode/pressure.h"

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
// A line of /proc/meminfo, "MemTotal", in bytes.
std::optional<std::int64_t> meminfoLine(std::string_view meminfo, std::string_view key);

api::ResourceList capacityOf(const Machine& machine);
// Capacity minus the thresholds of memory.available and nodefs.available: pods that use all that is
// allocatable cause no pressure. As kubelet, which withholds nothing for the other signals.
api::ResourceList allocatableOf(const Machine& machine,
                                const std::vector<EvictionThreshold>& thresholds);

// The lock that makes a process the only host node of this host: held while the object lives, and
// released by the kernel when the process dies.
class HostNodeLock {
 public:
  static Result<HostNodeLock> take();

 private:
  explicit HostNodeLock(Fd socket) : socket_(std::move(socket)) {}
  Fd socket_;
};

// The cgroup layout, if this process may run pods in it; otherwise the error explains why not.
Result<CgroupLayout> checkHostNode(CgroupFs& fs);

}  // namespace koord::cluster
