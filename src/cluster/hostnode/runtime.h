#pragma once

// The container runtime interface of the host node; a small CRI. ProcessRuntime (process_runtime.h)
// runs commands as plain host processes, ContainerdRuntime (cluster/containerd) uses containerd.
// The runtime keeps its containers over a restart of this program: the host node finds its pods
// again through list().
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
#include "cluster/streaming/remote_command.h"

namespace koord::cluster {

struct PodRef {
  std::string uid;
  std::string namespace_;
  std::string name;
  std::string cgroup;  // "kubepods/besteffort/pod<uid>"; created by the host node
  bool operator==(const PodRef&) const = default;
};

// Settings that the containers of a pod share with the host or with each other, in addition to its
// network, and the pod's data for runtime clients.
struct SandboxOptions {
  bool hostPid = false;
  bool hostIpc = false;
  bool sharedPid = false;
  bool privileged = false;  // true if a container is privileged
  std::map<std::string, std::string> labels = {};
  std::map<std::string, std::string> annotations = {};
  bool operator==(const SandboxOptions&) const = default;
};

// The user of a container's command.
struct ContainerUser {
  std::optional<std::uint32_t> user;  // default: root
  std::optional<std::uint32_t> group;
  std::vector<std::uint32_t> groups;  // supplementary groups
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
  bool openStdin = false;  // true: open for clients that attach; false: empty
  bool stdinOnce = false;  // it ends with the input of the first client
  bool terminal = false;
  std::string pidsOf = {};  // id of the container whose processes it sees; "": its own or the pod's
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

// An image of a runtime with images.
struct ImageInfo {
  bool local = false;      // loaded by the user: a registry is not asked for a newer one
  bool runsAsRoot = true;  // its user is root, by number or without one
  std::string userName;    // its user, if it is a name
};

struct ImageCredentials {
  std::string user;
  std::string password;
  bool operator==(const ImageCredentials&) const = default;
};

class Runtime {
 public:
  virtual ~Runtime() = default;

  // In the format of node.status.nodeInfo.containerRuntimeVersion.
  virtual std::string version() const = 0;
  virtual RuntimeAbilities abilities() const = 0;
  // Returns true if the runtime handles MountSpec::subPath; otherwise it must be empty.
  virtual bool resolvesSubPaths() const = 0;

  // Of a runtime with images. nullopt: it does not have the image.
  virtual Task<Result<std::optional<ImageInfo>>> image(std::string) { co_return ImageInfo{}; }
  // Pulls an image from its registry. Tries the credentials in turn; without any it is anonymous.
  // May take minutes.
  virtual Task<Result<>> pullImage(std::string, std::vector<ImageCredentials>) {
    co_return Result<>{};
  }

  // Creates what the first container of a pod needs. Idempotent.
  virtual Task<Result<>> preparePod(PodRef pod, SandboxOptions options) = 0;
  // Starts a container and returns its id. A command that cannot be executed is not an error here:
  // the container is listed as exited with StartError.
  virtual Task<Result<std::string>> startContainer(ContainerConfig config) = 0;
  // Sends SIGTERM now and SIGKILL to everything in the container's cgroup after the grace period;
  // returns when no process of it runs. Succeeds if it has exited or is unknown.
  virtual Task<Result<>> stopContainer(std::string id, Duration grace) = 0;
  // Runs a command in a container, with the container's own settings, and waits for its end.
  // Timeout: it took longer and was killed. NotFound: the container does not run.
  virtual Task<Result<ExecResult>> exec(std::string id, std::vector<std::string> command,
                                        Duration timeout) = 0;
  // Starts a command in a container with streams of a client. NotFound: the container does not run.
  virtual Task<Result<std::shared_ptr<StreamedCommand>>> openCommand(
      std::string id, std::vector<std::string> command, CommandStreams streams) = 0;
  // Joins a client with the streams of a running container, from now on. `ended` completes with 0
  // when the container has ended. NotFound: the container does not run.
  virtual Task<Result<std::shared_ptr<StreamedCommand>>> attach(std::string id,
                                                                CommandStreams streams) = 0;
  // Removes an exited container with its log.
  virtual Task<Result<>> removeContainer(std::string id) = 0;
  // Ends what preparePod created for a pod whose containers have all exited, but keeps their
  // records and logs. The host node removes the cgroup.
  virtual Task<Result<>> releasePod(PodRef pod) = 0;
  // Removes what preparePod created, after all containers. The host node removes the cgroup.
  virtual Task<Result<>> removePod(PodRef pod) = 0;

  virtual Task<Result<std::vector<RuntimeContainer>>> list() = 0;
};

}  // namespace koord::cluster
