#pragma once

// A runtime hook: the values it wants in the cgroup files of pods and containers. It is asked again
// and again, so it keeps no account of what it set: by the reconciler (reconciler.h) for pods that
// run, and by the container runtime's hooks (runtimehooks/) for a pod or container that is about to
// be made. Such a pod has no more than metadata, labels, annotations and its cgroup, and the one
// container in question, whose directory the runtime is going to make: what is wanted in it reaches
// the runtime as CPU shares, quota, memory limit and cpuset; other files wait for the reconciler.

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
  // Files that are no cgroup's, of processes that run; looked at in every pass.
  std::vector<FileUpdate> files;

  void clear() {
    for (auto* list : {&qos, &pods, &containers}) list->clear();
    files.clear();
  }
};

// What a container gets as it is made, and at no other time. Mounts, devices and the resctrl group
// reach it through NRI only.
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
  // Called once before the pods of each round.
  virtual void prepare(const States& states, HookUpdates& updates) = 0;
  // Called for each active pod.
  virtual void wanted(const PodView& pod, HookUpdates& updates) = 0;
  // A container is about to be made. An error reaches the runtime if the policy for hooks is Fail.
  virtual Result<> starting(const PodView&, const ContainerView&, ContainerStart&) { return {}; }
  // A pod is about to be made (its cgroup is there, its containers are not), or has been removed.
  virtual Result<> podStarting(const PodView&) { return {}; }
  virtual void podRemoved(const PodView&) {}
};

}  // namespace koord::koordlet
