#pragma once

// PodGroupController: writes the status of PodGroups (pod_group_status.h) and records events about
// problems of gangs. Runs on the leader only.
//
// A PodGroup is checked when it, its members or their phases change. The controller writes a patch
// of the status fields that differ, so the spec stays as it is. Finished members are not among the
// scheduler's pods; this class watches those that have the label of a PodGroup.
//
// Events:
//   - values of a PodGroup or pod that cannot be read, once per text;
//   - a gang that has waited for members for kPeriod, once per text: on the PodGroup, and on each
//     member that is held for it, because nothing else says why that member is pending.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kube/informer.h"
#include "kube/work_queue.h"
#include "scheduler/plugins/coscheduling/gangs.h"
#include "scheduler/plugins/coscheduling/pod_group_status.h"

namespace koord::scheduler {

class PodGroupController {
 public:
  static constexpr Duration kPeriod = std::chrono::seconds(10);

  // The handle must have an API.
  PodGroupController(Handle& handle, Gangs& gangs);
  ~PodGroupController();
  PodGroupController(const PodGroupController&) = delete;
  PodGroupController& operator=(const PodGroupController&) = delete;

  void start();
  // Called every kPeriod. Records events about gangs that wait for members.
  void reportWaiting();

 private:
  void ended(const api::Pod& pod, bool there);
  void changed(const std::string& gang);
  Task<Result<>> sync(std::string gang);
  GangPods podsOf(const Gang* gang, const std::string& id) const;
  void reportProblems(const Gang& gang);
  void tell(const Gang& gang, std::string_view type, std::string_view reason,
            const std::string& text);
  std::string ownShortageOf(const Gang& gang) const;
  std::string shortageOf(const Gang& gang) const;
  struct Wait;
  void reportToMembers(const Gang& gang, Wait& wait);

  Handle& handle_;
  Gangs& gangs_;
  std::map<std::string, std::map<std::string, bool>> ended_;  // by gang, then uid: succeeded
  kube::WorkQueue queue_;
  kube::Informer<api::Pod> endedPods_;
  std::map<std::string, std::string> reportedProblems_;  // by gang
  struct Wait {
    std::string shortage;
    SteadyTime since{};
    bool told = false;
    std::set<std::string> members;  // uids of members that got the event
  };
  std::map<std::string, Wait> waits_;  // by gang
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace koord::scheduler
