#pragma once

// WorkloadController: writes the condition PodGroupScheduled of Kubernetes' own PodGroups. Runs on
// the leader only.
//
// The condition is True once as many members as the group needs are bound, and then stays True, as
// in kube-scheduler. It is False with reason Unschedulable and the rejection's text after an
// attempt that found no nodes. A group is checked when its members change; waiting groups are also
// checked each period, because a rejection changes no object. The write replaces the list of
// conditions under the resource version that was read, with this one condition set, so that no
// condition of another writer is lost.

#include <memory>
#include <optional>
#include <string>

#include "kube/work_queue.h"
#include "scheduler/plugins/coscheduling/gang_cycles.h"

namespace koord::scheduler {

class WorkloadController {
 public:
  // The handle must have an API.
  WorkloadController(Handle& handle, GangCycles& cycles);
  WorkloadController(const WorkloadController&) = delete;
  WorkloadController& operator=(const WorkloadController&) = delete;

  void start();
  // Runs each period.
  void update();

 private:
  // The condition to write; nullopt if nothing is to be written.
  std::optional<api::Condition> conditionOf(const Gang& gang) const;
  void changed(const std::string& id);
  Task<Result<>> sync(std::string id);

  Handle& handle_;
  GangCycles& cycles_;
  kube::WorkQueue queue_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace koord::scheduler
