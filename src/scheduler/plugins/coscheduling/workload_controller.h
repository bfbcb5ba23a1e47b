#pragma once

// WorkloadController: keeps the condition PodGroupScheduled of Kubernetes' own PodGroups. On the
// leader only.
//
// True once as many members as the group needs are bound, and from then on for good, as
// kube-scheduler has it; False with reason Unschedulable and the refusal's text after a try that
// found no place. A group is looked at when its members change, and those that wait each period,
// since a refusal is not a change of any object. What is written is the list of conditions as it was
// read with this one set, under the version that was read: another writer's condition is not lost.

#include <memory>
#include <optional>
#include <string>

#include "kube/work_queue.h"
#include "scheduler/plugins/coscheduling/gang_cycles.h"

namespace koord::scheduler {

class WorkloadController {
 public:
  // The handle has an API.
  WorkloadController(Handle& handle, GangCycles& cycles);
  WorkloadController(const WorkloadController&) = delete;
  WorkloadController& operator=(const WorkloadController&) = delete;

  void start();
  // Each period.
  void look();

 private:
  // As it should be; nullopt: there is nothing to say, or what is there stays.
  std::optional<api::Condition> conditionOf(const Gang& gang) const;
  void changed(const std::string& id);
  Task<Result<>> sync(std::string id);

  Handle& handle_;
  GangCycles& cycles_;
  kube::WorkQueue queue_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace koord::scheduler
