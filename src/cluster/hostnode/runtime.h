#pragma once

// What the host node needs from a container runtime; a small CRI. ProcessRuntime
// (process_runtime.h) runs commands as plain host processes, ContainerdRuntime (cluster/containerd)
// goes to containerd. The runtime remembers its containers over a restart of this program: list()
// is how the host node finds its pods again.
//
// Called on the host node's executor; replies arrive there. Calls may overlap.

#include <string>
#include <vector>

#include "base/executor.h"
#include "base/result.h"
#include "base/task.h"
#include "cluster/hostnode/cgroups.h"

namespace koord::cluster {

struct PodRef {
  std::string uid;
  std::string namespace_;
  std::string name;
  std::string cgroup;  // "kubepods/besteffort/pod<uid>"; the host node has made it
  bool operator==(const PodRef&) const = default;
};

struct ContainerConfig {
  PodRef pod;
  std::string name;
  int attempt = 0;  // 0 for the first start, then one more each time
  std::string image;
  std::vector<std::string> command;
  std::vector<std::string> args;
  std::vector<std::string> env;  // NAME=value
  std::string workingDir;
  CgroupValues values;
};

struct RuntimeContainer {
  enum class Phase { Created, Running, Exited };

  std::string id;  // without "containerd://"
  PodRef pod;
  std::string name;
  int attempt = 0;
  Phase phase = Phase::Created;
  WallTime startedAt{};
  WallTime finishedAt{};
  int exitCode = 0;
  int signal = 0;
  std::string reason;  // Completed, Error, OOMKilled, StartError
  std::string message;
  std::string logPath;
  bool operator==(const RuntimeContainer&) const = default;
};

class Runtime {
 public:
  virtual ~Runtime() = default;

  // As in node.status.nodeInfo.containerRuntimeVersion.
  virtual std::string version() const = 0;

  // Makes what has to be there before the first container of a pod. Idempotent.
  virtual Task<Result<>> preparePod(PodRef pod) = 0;
  // Starts a container and returns its id. A command that cannot be executed is no error here: the
  // container is listed as exited with StartError.
  virtual Task<Result<std::string>> startContainer(ContainerConfig config) = 0;
  // SIGTERM now, SIGKILL for everything in the container's cgroup after the grace time; returns
  // when nothing of it runs. One that has exited or is unknown is fine.
  virtual Task<Result<>> stopContainer(std::string id, Duration grace) = 0;
  // Forgets an exited container with its log.
  virtual Task<Result<>> removeContainer(std::string id) = 0;
  // Takes down what preparePod made; the containers are gone. The host node removes the cgroup.
  virtual Task<Result<>> removePod(PodRef pod) = 0;

  virtual Task<Result<std::vector<RuntimeContainer>>> list() = 0;
};

}  // namespace koord::cluster
