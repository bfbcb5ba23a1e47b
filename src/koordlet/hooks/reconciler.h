#pragma once

// Applies the hooks' values to all pods: when the pods or the NodeSLO change, and every reconcile
// interval, which repairs changes of other programs. New cgroups are checked more often, so that
// values that kubelet or a runtime writes after koordlet do not stay.

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
  // Called for each pass, hook, level and file with the result and the time of the writes.
  using Observer =
      std::function<void(std::string_view level, std::string_view file, bool ok, Duration took)>;
  void setObserver(Observer observer) { observer_ = std::move(observer); }
  void start();
  // Requests a pass soon, after a change of the states or of values in the kernel. Several requests
  // cause one pass.
  void request();
  // One pass over all pods. Returns false if the kernel refused a value.
  bool reconcile();

  // All hooks, for a pod that the runtime is about to create. Calls prepare() before the first
  // round.
  const std::vector<Named>& prepared();

 private:
  Task<void> loop();
  // Checks new cgroups as long as there are any.
  Task<void> repairNewCgroups();
  // Returns true if the kernel accepted all values.
  bool apply(const HookUpdates& updates);
  void observe(std::string_view level, std::span<const CgroupUpdate> updates, bool ok,
               SteadyTime since) const;

  Executor& executor_;
  States& states_;
  ResourceExecutor& resources_;
  Duration interval_;
  Observer observer_;
  std::vector<Named> hooks_;
  HookUpdates updates_;  // buffer for one hook
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool requested_ = false;
  bool prepared_ = false;  // prepare() of the hooks has been called
  bool settled_ = true;    // the last pass of loop() succeeded
  bool looking_ = false;
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
