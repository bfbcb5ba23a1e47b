#pragma once

// A runtime hook gives the values that it wants in the cgroup files of pods and containers. It is
// called repeatedly, so it does not record what it set: by the reconciler (reconciler.h) for
// running pods, and by the container runtime's hooks (runtimehooks/) for a pod or container that is
// about to be created. Such a pod has only metadata, labels, annotations, its cgroup and the one
// container in question, whose directory the runtime is about to create. Of the values for this
// container, CPU shares, quota, memory limit and cpuset go to the runtime; the reconciler writes
// the others later.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "koordlet/resourceexecutor/resource_executor.h"
#include "koordlet/states/states.h"

namespace koord::koordlet {

struct HookUpdates {
  UpdateList qos;  // QoS class directories
  UpdateList pods;
  UpdateList containers;
  // Files of running processes, outside of cgroups; checked in every pass.
  std::vector<FileUpdate> files;

  void clear() {
    for (auto* list : {&qos, &pods, &containers}) list->clear();
    files.clear();
  }
};

// Settings that a container can get only when it is created. Mounts, devices and the resctrl group
// need NRI.
struct ContainerStart {
  struct Mount {
    std::string source;
    std::string target;
    std::vector<std::string> options;  // "rbind", "ro"
  };
  struct Device {
    std::string path;
    std::string type = "c";
    std::int64_t major = 0;
    std::int64_t minor = 0;
    std::uint32_t mode = 0666;
  };
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<Mount> mounts;
  std::vector<Device> devices;
  std::optional<std::string> resctrlGroup;
};

class Hook {
 public:
  virtual ~Hook() = default;
  // Called once per round, before wanted(). Adds values that do not belong to a pod.
  virtual void prepare(const States& states, HookUpdates& updates) = 0;
  // Called for each active pod. Adds the pod's values.
  virtual void wanted(const PodView& pod, HookUpdates& updates) = 0;
  // Called when a container is about to be created. An error reaches the runtime if the policy for
  // hooks is Fail.
  virtual Result<> starting(const PodView&, const ContainerView&, ContainerStart&) { return {}; }
  // Called when a pod is about to be created (its cgroup exists, its containers do not), and when
  // it has been removed.
  virtual Result<> podStarting(const PodView&) { return {}; }
  virtual void podRemoved(const PodView&) {}
};

}  // namespace koord::koordlet
