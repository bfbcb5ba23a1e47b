#pragma once

// What the host node needs from a container runtime; a small CRI. ProcessRuntime
// (process_runtime.h) runs commands as plain host processes, ContainerdRuntime (cluster/containerd)
// goes to containerd. The runtime remembers its containers over a restart of this program: list()
// is how the host node finds its pods again.
//
// Called on the host node's executor; replies arrive there. Calls may overlap.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/result.h"
#include "base/task.h"
#include "cluster/hostnode/cgroups.h"
#include "cluster/hostnode/mounts/mount_view.h"
#include "cluster/hostnode/podspec/refusals.h"

namespace koord::cluster {

struct PodRef {
  std::string uid;
  std::string namespace_;
  std::string name;
  std::string cgroup;  // "kubepods/besteffort/pod<uid>"; the host node has made it
  bool operator==(const PodRef&) const = default;
};

// What the containers of a pod share with the host or with each other, beyond its network, and what
// the runtime is told of the pod for those who ask it.
struct SandboxOptions {
  bool hostPid = false;
  bool hostIpc = false;
  bool sharedPid = false;
  bool privileged = false;  // one of the containers is
  std::map<std::string, std::string> labels = {};
  std::map<std::string, std::string> annotations = {};
  bool operator==(const SandboxOptions&) const = default;
};

// Who the command of a container is.
struct ContainerUser {
  std::optional<std::uint32_t> user;  // root otherwise
  std::optional<std::uint32_t> group;
  std::vector<std::uint32_t> groups;  // beside that
  bool privileged = false;
  bool noNewPrivileges = false;
  std::vector<std::string> addCapabilities;  // NET_ADMIN, ALL
  std::vector<std::string> dropCapabilities;
  bool operator==(const ContainerUser&) const = default;
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
  SandboxOptions sandbox = {};
  ContainerUser user = {};
  std::vector<MountSpec> mounts = {};
  bool readOnlyRoot = false;
  bool openStdin = false;  // there is one, and it never ends; without, it is empty
  bool terminal = false;
};

struct ExecResult {
  int exitCode = 0;
  std::string output;  // standard output, then standard error
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
  virtual RuntimeAbilities abilities() const = 0;
  // Whether MountSpec::subPath is taken care of here; otherwise it has to be empty.
  virtual bool resolvesSubPaths() const = 0;

  // Makes what has to be there before the first container of a pod. Idempotent.
  virtual Task<Result<>> preparePod(PodRef pod, SandboxOptions options) = 0;
  // Starts a container and returns its id. A command that cannot be executed is no error here: the
  // container is listed as exited with StartError.
  virtual Task<Result<std::string>> startContainer(ContainerConfig config) = 0;
  // SIGTERM now, SIGKILL for everything in the container's cgroup after the grace time; returns
  // when nothing of it runs. One that has exited or is unknown is fine.
  virtual Task<Result<>> stopContainer(std::string id, Duration grace) = 0;
  // Runs a command in a container as the container's own would be, and waits for its end. Timeout:
  // it took longer and was killed. NotFound: the container does not run.
  virtual Task<Result<ExecResult>> exec(std::string id, std::vector<std::string> command,
                                        Duration timeout) = 0;
  // Forgets an exited container with its log.
  virtual Task<Result<>> removeContainer(std::string id) = 0;
  // Takes down what preparePod made; the containers are gone. The host node removes the cgroup.
  virtual Task<Result<>> removePod(PodRef pod) = 0;

  virtual Task<Result<std::vector<RuntimeContainer>>> list() = 0;
};

}  // namespace koord::cluster
