#pragma once

// PodGroupController: keeps the status of PodGroups (pod_group_status.h), and says in events what is
// wrong with gangs. On the leader only.
//
// A PodGroup is looked at when it, its members or their phases change; what is written is a patch of
// the fields of the status that differ, so that nobody's spec is touched. Members that have ended are
// not among the scheduler's pods: those with the label of a PodGroup are watched here.
//
// Events: a PodGroup or pod whose values cannot be read, once per version; a gang that has waited
// for members for a while, once per number that it lacks: of the PodGroup, and of each member that is
// held for it, since nothing else says why that one is pending.

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

  // The handle has an API.
  PodGroupController(Handle& handle, Gangs& gangs);
  ~PodGroupController();
  PodGroupController(const PodGroupController&) = delete;
  PodGroupController& operator=(const PodGroupController&) = delete;

  void start();
  // Every kPeriod: events about gangs that wait for members.
  void tellOfWaiting();

 private:
  void ended(const api::Pod& pod, bool there);
  void changed(const std::string& gang);
  Task<Result<>> sync(std::string gang);
  GangPods podsOf(const Gang* gang, const std::string& id) const;
  void tellOfProblems(const Gang& gang);
  void tell(const Gang& gang, std::string_view type, std::string_view reason,
            const std::string& text);
  std::string ownLackOf(const Gang& gang) const;
  std::string lackOf(const Gang& gang) const;
  struct Wait;
  void tellMembers(const Gang& gang, Wait& wait);

  Handle& handle_;
  Gangs& gangs_;
  std::map<std::string, std::map<std::string, bool>> ended_;  // by gang, then uid: succeeded
  std::vector<std::unique_ptr<kube::WorkQueue>> queues_;      // by hash of the gang
  kube::Informer<api::Pod> endedPods_;
  std::map<std::string, std::string> toldProblems_;  // by gang
  struct Wait {
    std::string lack;
    SteadyTime since{};
    bool told = false;
    std::set<std::string> members;  // uids of those that were told
  };
  std::map<std::string, Wait> waits_;  // by gang
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace koord::scheduler
