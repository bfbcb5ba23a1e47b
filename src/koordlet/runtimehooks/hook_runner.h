#pragma once

// What koordlet's hooks (hooks/hook.h) say when the container runtime is about to make a pod or a
// container, or to change one: the same values that the reconciler repairs later, a moment before
// the first instruction of the container. Those of a container go to the runtime, those of its pod
// into the cgroup that kubelet has made.
//
// On koordlet's thread. Both ways to the runtime use it: hook_service.h and nri/.

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
  std::string id;  // "" before the runtime has given it one
};

// What hooks want for a container; what no hook spoke about is absent.
struct ContainerValues {
  std::optional<std::int64_t> shares;
  std::optional<std::int64_t> quota;   // -1 = none
  std::optional<std::int64_t> memory;  // bytes; -1 = none
  std::optional<std::string> cpuset;   // "" = all
  ContainerStart start;                // only when it is made
};

class HookRunner {
 public:
  struct Options {
    std::string runtimeType = "containerd";
    bool failOnError = false;  // errors of hooks reach the runtime
    // Told of each hook that was called: its name, the stage, whether it went well, how long it took.
    std::function<void(const std::string&, std::string_view, bool, Duration)> observe;
  };

  HookRunner(Executor& executor, const Host& host, const States& states, Reconciler& reconciler,
             ResourceExecutor& resources, Options options);

  // The pod's cgroup is there, its containers are not.
  Result<> runPod(const HookedPod& pod);
  void podRemoved(const HookedPod& pod);
  Result<ContainerValues> createContainer(const HookedPod& pod, const HookedContainer& container);
  Result<ContainerValues> updateContainer(const HookedPod& pod, const HookedContainer& container);

 private:
  PodView viewOf(const HookedPod& pod) const;
  void addContainer(PodView& view, const HookedPod& pod, const HookedContainer& container) const;
  // What all hooks want for the pod, once `act` has been done with each.
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

// "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1.slice" as a directory below a
// hierarchy; a slice's name alone is completed by the slices that it says it is in.
std::string cgroupDirOf(const std::string& cgroupParent);

}  // namespace koord::koordlet
