#pragma once

// The volumes of the pods on this node: reads the sources of each volume, sets it up below the data
// folder, updates the files of configMap, secret, downwardAPI and projected volumes when their
// objects change, and removes everything again. Each object has one watch, shared by all pods that
// use it.
//
// An actor on `executor`; file systems are accessed on `worker`, which may block. Set-up is
// idempotent, so it also updates volumes and recovers from a crash.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/task.h"
#include "cluster/hostnode/mounts/mount_view.h"
#include "cluster/hostnode/podspec/environment.h"
#include "cluster/hostnode/volumes/volume_store.h"
#include "kube/api.h"

namespace koord::cluster {

class ObjectWatches;

struct VolumePlace {
  std::string path;
  bool readOnly = false;
};
using VolumePlaces = std::map<std::string, VolumePlace>;  // by the volume's name

class PodVolumes {
 public:
  struct Options {
    std::string dir;  // <data>/pods
    std::string hostIp;
    api::ResourceList allocatable;
    // True if the runtime resolves a subPath itself.
    bool runtimeResolvesSubPaths = false;
  };
  struct Listener {
    // Called when objects of a pod's volumes have changed: set them up again.
    std::function<void(const std::string& uid)> changed;
    // Called when something is left out and the pod still runs.
    std::function<void(const HostPod& pod, const std::string& message)> warn;
  };

  PodVolumes(kube::Api& api, Executor& executor, Executor& worker, Random random, Options options,
             Listener listener);
  ~PodVolumes();

  // Call before the first set-up: the address of the cluster's DNS server, "" without one. Pods
  // then have a resolv.conf of their own.
  void setDns(std::function<std::string()> address) { dnsAddress_ = std::move(address); }
  // Sets up all volumes that a container mounts. Errors are messages for a FailedMount event.
  Task<Result<VolumePlaces>> setUp(HostPodPtr pod);
  // When volumes must be set up again without a change, because a token expires; nullopt if never.
  std::optional<WallTime> refreshAt(const std::string& uid) const;
  // The objects of a container's environment; null if not found.
  Task<Result<ReferencedObjects>> objectsOf(HostPodPtr pod, ReferencedNames names);
  // The mounts of one container, from its pod's volumes. messageFile: its termination message, "" =
  // none.
  Task<Result<std::vector<MountSpec>>> mountsOf(HostPodPtr pod, std::string container,
                                                VolumePlaces places,
                                                std::vector<std::string> environment,
                                                std::string messageFile = "");
  // Removes everything of a pod, known or not.
  Task<Result<>> tearDown(std::string uid);
  // Unmounts everything, for a shutdown; files stay.
  Task<Result<>> unmountAll();
  // Pods with folders here.
  Task<std::vector<std::string>> pods();

  std::string podDir(const std::string& uid) const { return options_.dir + "/" + uid; }
  FieldContext fieldsOf(const HostPod& pod) const {
    return {pod, options_.hostIp, options_.allocatable};
  }

 private:
  struct Token {
    std::string text;
    WallTime refreshAt{};
  };
  using TokenKey = std::pair<std::string, std::string>;  // volume, path

  Task<Result<VolumeSetUp>> resolve(HostPodPtr pod, spec::Volume volume);
  Task<Result<VolumeSetUp>> resolveFiles(HostPodPtr pod, spec::Volume volume);
  Task<Result<VolumeSetUp>> resolveClaim(HostPodPtr pod, spec::Volume volume);
  Task<Result<>> ensureTokens(HostPodPtr pod, spec::Volume volume);
  Task<Result<Token>> requestToken(HostPodPtr pod, spec::TokenSource source);
  Task<Result<>> hostsFile(HostPodPtr pod);
  Task<Result<>> resolverFile(HostPodPtr pod);

  kube::Api& api_;
  Executor& executor_;
  Executor& worker_;
  Options options_;
  Listener listener_;
  std::function<std::string()> dnsAddress_;
  std::set<std::string> withResolver_;  // uids of pods with a resolv.conf of their own
  std::unique_ptr<ObjectWatches> watches_;
  std::map<std::string, std::map<TokenKey, Token>> tokens_;  // by pod uid
};

}  // namespace koord::cluster
