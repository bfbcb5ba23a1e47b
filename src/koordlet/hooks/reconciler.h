#pragma once

// Applies the hooks' values to all pods: when the pods or the NodeSLO change, and every reconcile
// interval, which repairs what somebody else changed.

#include <memory>
#include <vector>

#include "base/task.h"
#include "koordlet/hooks/hook.h"

namespace koord::koordlet {

class Reconciler {
 public:
  Reconciler(Executor& executor, States& states, ResourceExecutor& resources, Duration interval);

  void add(std::unique_ptr<Hook> hook) { hooks_.push_back(std::move(hook)); }
  void start();
  // A change of the states, or of what is in the kernel: one pass soon, however many come together.
  void request();
  // One pass over all pods; false when the kernel refused a value.
  bool reconcile();

  // What the hooks want for a pod that the runtime is about to make, by what they saw of the node in
  // the last round.
  HookUpdates wantedOf(const PodView& pod);
  const std::vector<std::unique_ptr<Hook>>& hooks() const { return hooks_; }

 private:
  Task<void> loop();

  Executor& executor_;
  States& states_;
  ResourceExecutor& resources_;
  Duration interval_;
  std::vector<std::unique_ptr<Hook>> hooks_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool requested_ = false;
  bool prepared_ = false;  // the hooks have seen the node
  bool settled_ = true;    // the last pass went through
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
