#pragma once

// Runs koordlet's hooks (hooks/hook.h) when the container runtime is about to create or update a
// pod or a container. They yield the same values that the reconciler enforces later, but before the
// first instruction of the container. A container's values go to the runtime, its pod's into the
// cgroup that kubelet has created.
//
// Runs on koordlet's thread. Both ways to the runtime use it: hook_service.h and nri/.

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "koordlet/hooks/reconciler.h"
#include "koordlet/system/host.h"

namespace koord::koordlet {

struct HookedPod {
  std::string name;
  std::string namespace_;
  std::string uid;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::string cgroupParent;  // as kubelet gives it to the runtime
};

struct HookedContainer {
  std::string name;
  std::string id = {};  // "" before the runtime has given it one
  // The CFS period of the runtime's request; 0 = none. For createContainer() only: the cgroup has
  // its period by the time of an update.
  std::int64_t cfsPeriodUs = 0;
};

// The values that hooks set for a container; a value that no hook sets is absent.
struct ContainerValues {
  std::optional<std::int64_t> shares;
  std::optional<std::int64_t> quota;   // per period of the container; -1 = none
  std::optional<std::int64_t> memory;  // bytes; -1 = none
  std::optional<std::string> cpuset;   // "" = all
  ContainerStart start;                // only when the container is created
};

class HookRunner {
 public:
  struct Options {
    std::string runtimeType = "containerd";
    bool failOnError = false;  // true if errors of hooks are returned to the runtime
    // Called after each hook with its name, the stage, whether it succeeded, and the duration.
    std::function<void(const std::string&, std::string_view, bool, Duration)> observe;
  };

  HookRunner(Executor& executor, const Host& host, const States& states, Reconciler& reconciler,
             ResourceExecutor& resources, Options options);

  // Called when the pod's cgroup exists and its containers do not yet.
  Result<> runPod(const HookedPod& pod);
  void podRemoved(const HookedPod& pod);
  Result<ContainerValues> createContainer(const HookedPod& pod, const HookedContainer& container);
  Result<ContainerValues> updateContainer(const HookedPod& pod, const HookedContainer& container);

 private:
  PodView viewOf(const HookedPod& pod) const;
  void addContainer(PodView& view, const HookedPod& pod, const HookedContainer& container) const;
  // Calls `act` for each hook and returns the updates of all hooks for the pod.
  Result<HookUpdates> atStage(std::string_view stage, const PodView& view,
                              const std::function<Result<>(Hook&)>& act);
  static ContainerValues valuesOf(const PodView& view, const HookUpdates& updates);
  Result<> outcome(Result<> result, const PodView& view) const;

  Executor& executor_;
  const Host& host_;
  const States& states_;
  Reconciler& reconciler_;
  ResourceExecutor& resources_;
  Options options_;
};

// "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1.slice" as a directory
// relative to a hierarchy. A bare slice name is completed with its parent slices, which the name
// contains.
std::string cgroupDirOf(const std::string& cgroupParent);

}  // namespace koord::koordlet
