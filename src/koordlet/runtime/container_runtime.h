#pragma once

// Client of the node's container runtime. koordlet uses it to kill containers at once, and to find
// the container of a new cgroup. containerd, CRI-O and pouch speak CRI, gRPC on a unix socket.

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "koordlet/system/host_dirs.h"

namespace koord::koordlet {

struct RuntimeContainer {
  std::string id;
  std::string name;  // in the pod's spec
  std::string podUid;
  bool running = true;  // false: created and not started yet
  std::string scheme;   // the prefix of the id in pod status: "containerd"
};

class ContainerRuntime {
 public:
  virtual ~ContainerRuntime() = default;
  // Stops a container, given as in pod status ("containerd://<id>"): SIGTERM, and SIGKILL after
  // `grace`. Success if it has already stopped; NotFound if no runtime serves its scheme.
  virtual Future<Result<>> stop(const std::string& containerId, Duration grace) = 0;
  // Returns the containers that are created or running.
  virtual Future<Result<std::vector<RuntimeContainer>>> list() = 0;
};

// Sockets of runtimes, by the scheme of their container ids ("containerd").
struct RuntimeEndpoint {
  std::string scheme;
  std::string socket;
};
struct RuntimeEndpoints {
  std::string containerd, crio, docker, pouch;  // from flags; empty: the default paths are searched
};
// Returns the endpoints that exist.
std::vector<RuntimeEndpoint> findRuntimes(const HostDirs& dirs, const RuntimeEndpoints& given);

// Calls run on a separate thread; replies arrive on `executor`, which must outlive the runtime.
std::unique_ptr<ContainerRuntime> makeCriRuntime(Executor& executor,
                                                 std::vector<RuntimeEndpoint> endpoints);

// CRI's messages, runtime.v1.
std::string stopContainerRequest(std::string_view id, std::int64_t graceSeconds);
Result<std::vector<RuntimeContainer>> containersInReply(std::string_view message);

}  // namespace koord::koordlet
