#pragma once

// Applies the hooks' values to all pods: when the pods or the NodeSLO change, and every reconcile
// interval, which repairs what somebody else changed. New cgroups are looked at more often, so that what kubelet or a
// runtime writes there after us does not stay.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/task.h"
#include "koordlet/hooks/hook.h"

namespace koord::koordlet {

class Reconciler {
 public:
  Reconciler(Executor& executor, States& states, ResourceExecutor& resources, Duration interval);

  struct Named {
    std::string name;  // "BatchResource"
    std::unique_ptr<Hook> hook;
  };
  void add(std::string name, std::unique_ptr<Hook> hook) {
    hooks_.push_back({std::move(name), std::move(hook)});
  }
  // Told for each pass, level and file, how long it took to apply what one hook wanted there.
  using Observer =
      std::function<void(std::string_view level, std::string_view file, bool ok, Duration took)>;
  void setObserver(Observer observer) { observer_ = std::move(observer); }
  void start();
  // A change of the states, or of what is in the kernel: one pass soon, however many come together.
  void request();
  // One pass over all pods; false when the kernel refused a value.
  bool reconcile();

  // All hooks, which have seen the node, in the last round or now: for a pod that the runtime is about
  // to make.
  const std::vector<Named>& prepared();

 private:
  Task<void> loop();
  // As long as there are young cgroups.
  Task<void> look();
  // Whether the kernel took all of it.
  bool apply(const HookUpdates& updates);
  void observe(std::string_view level, std::span<const CgroupUpdate> updates, bool ok,
               SteadyTime since) const;

  Executor& executor_;
  States& states_;
  ResourceExecutor& resources_;
  Duration interval_;
  Observer observer_;
  std::vector<Named> hooks_;
  HookUpdates updates_;  // of one hook; keep their memory
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool requested_ = false;
  bool prepared_ = false;  // the hooks have seen the node
  bool settled_ = true;    // the last pass went through
  bool looking_ = false;
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
