#pragma once

// The container runtime of this node, as far as koordlet talks to it by itself: it kills containers
// that must go now, and asks which container a new cgroup is. containerd, CRI-O and pouch speak CRI,
// gRPC on a unix socket.

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
  bool running = true;  // false: it has been made, and is about to be started
  std::string scheme;   // that pod status puts before the id: "containerd"
};

class ContainerRuntime {
 public:
  virtual ~ContainerRuntime() = default;
  // Ends a container, given as in pod status ("containerd://<id>"): asked to, and killed when `grace`
  // is over. One that runs no more is no error; NotFound where no runtime answers for its kind.
  virtual Future<Result<>> stop(const std::string& containerId, Duration grace) = 0;
  // Containers that run, with those that were just made.
  virtual Future<Result<std::vector<RuntimeContainer>>> list() = 0;
};

// Sockets of runtimes, by the scheme of their container ids ("containerd").
struct RuntimeEndpoint {
  std::string scheme;
  std::string socket;
};
struct RuntimeEndpoints {
  std::string containerd, crio, docker, pouch;  // given by hand; empty: searched for
};
// Those that exist.
std::vector<RuntimeEndpoint> findRuntimes(const HostDirs& dirs, const RuntimeEndpoints& given);

// Calls go out on a thread of their own, answers come on `executor`, which outlives the runtime.
std::unique_ptr<ContainerRuntime> makeCriRuntime(Executor& executor,
                                                 std::vector<RuntimeEndpoint> endpoints);

// CRI's messages, runtime.v1.
std::string stopContainerRequest(std::string_view id, std::int64_t graceSeconds);
Result<std::vector<RuntimeContainer>> containersInReply(std::string_view message);

}  // namespace koord::koordlet
