#pragma once

// The volumes of the pods on this node: finds out what each of them is, sets it up below the data
// folder, keeps the files of configMap, secret, downwardAPI and projected volumes as their objects
// are, and takes everything away again. One object is watched once, for all pods that use it, and
// for as long as one does.
//
// An actor on `executor`; file systems are touched on `worker`, which may block. Setting up is
// idempotent, so it is also how volumes are brought up to date and how a crash is got over.

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
    // The runtime shows a subPath to a container without help.
    bool runtimeResolvesSubPaths = false;
  };
  struct Listener {
    // Objects behind a pod's volumes have changed: set them up again.
    std::function<void(const std::string& uid)> changed;
    // Something is left out and the pod runs all the same.
    std::function<void(const HostPod& pod, const std::string& message)> warn;
  };

  PodVolumes(kube::Api& api, Executor& executor, Executor& worker, Random random, Options options,
             Listener listener);
  ~PodVolumes();

  // Makes all volumes that a container mounts. Errors are messages for a FailedMount event.
  Task<Result<VolumePlaces>> setUp(HostPodPtr pod);
  // When they have to be set up again though nothing changed: a token ends.
  std::optional<WallTime> refreshAt(const std::string& uid) const;
  // What a container's environment refers to; NotFound ones are null.
  Task<Result<ReferencedObjects>> objectsOf(HostPodPtr pod, ReferencedNames names);
  // The mounts of one container, from its pod's volumes. messageFile: where its last words go, "" =
  // nowhere.
  Task<Result<std::vector<MountSpec>>> mountsOf(HostPodPtr pod, std::string container,
                                                VolumePlaces places,
                                                std::vector<std::string> environment,
                                                std::string messageFile = "");
  // Everything of a pod, which needs not be known.
  Task<Result<>> tearDown(std::string uid);
  // Takes off all mounts, when everything ends; files stay.
  Task<Result<>> unmountAll();
  // Pods that have folders here.
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

  kube::Api& api_;
  Executor& executor_;
  Executor& worker_;
  Options options_;
  Listener listener_;
  std::unique_ptr<ObjectWatches> watches_;
  std::map<std::string, std::map<TokenKey, Token>> tokens_;  // by pod uid
};

}  // namespace koord::cluster
