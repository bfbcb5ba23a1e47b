#pragma once

// GangCycles: the scheduling cycles of gang groups, from the moment the queue hands out their
// members. All profiles share one GangCycles.
//
//   begin     Is the group complete, and do all nodes together have enough free resources
//             (capacity.h)?
//   shouldContinue  A member found no node: can the untried members still reach the minimum?
//   judge     Does every gang of the group have its minimum (judge.h)? If so, all members with a
//             node, including those that waited, are released to be bound together.
//
// The last refusal is kept until the group is placed: for the queueing hints, for users (explain,
// HTTP) and for metrics.

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "scheduler/framework/group.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/coscheduling/capacity.h"
#include "scheduler/plugins/coscheduling/gangs.h"
#include "scheduler/plugins/coscheduling/hold.h"
#include "scheduler/plugins/coscheduling/judge.h"
#include "scheduler/plugins/coscheduling/network_placement.h"

namespace koord::scheduler {

// Why a gang group was not placed.
struct GangRefusal {
  std::string message;
  struct Failed {
    std::string pod;
    std::string reason;
  };
  std::vector<Failed> failed;        // the first few
  std::vector<std::string> gangs;    // ids
  std::string lead;                  // uid of the member whose hints wake the group
  std::optional<CapacityNeed> need;  // if all nodes together had not enough
  CapacityView view;
  bool limited = false;    // the group needs more than its members may ever have (limits.h)
  bool unplanned = false;  // the network topology has no place for it
  WallTime since{};        // time of the first refusal in a row
};

class GangCycles {
 public:
  explicit GangCycles(Gangs& gangs);

  Status begin(const Profile& profile, const std::string& gang, std::span<const PodPtr> members);
  // First as many members of each gang as it lacks, then the surplus members.
  std::vector<std::size_t> orderOf(const std::string& gang, std::span<const PodPtr> members) const;
  bool shouldContinue(const std::string& gang, const GroupOutcome& soFar) const;
  bool reachesMinimum(std::initializer_list<std::span<const PodPtr>> members) const;
  Status judge(const std::string& gang, const GroupOutcome& outcome);
  PermitResult permit(const PodInfo& pod) const;
  // Called when the pod has lost its node.
  void unreserved(const PodInfo& pod);
  // Plans where in the network the group goes.
  GroupPlan planByNetwork(const Gang& gang, std::span<const PodPtr> members,
                          NetworkPlacement& placement);
  // The node of the first member, by name, that has a node; nullopt if none has.
  std::optional<NodeId> nodeOfMember(const Gang& gang) const;
  // Queueing hints: Queue if the pod leads a refused group and the cause may be gone, else Skip.
  // planHint: the network topology had no place. capacityHint: all nodes together had not enough,
  // and have enough now. limitHint: a limit was too low, and is high enough now.
  Hint planHint(const PodInfo& pod) const;
  Hint capacityHint(const PodInfo& pod) const;
  Hint limitHint(const Profile& profile, const PodInfo& pod) const;

  // The nodes that preemption in this cycle nominates for members, by uid.
  std::map<std::string, std::string>& nominations() { return nominations_; }
  Nomination nominationOf(const PodInfo& pod) const;
  // Runs periodically, on the leader only. Ends the nominations of members whose gang
  // is incomplete and already was at the previous run: they keep other pods off the node without
  // effect.
  void dropUselessNominations();

  GangProgress progressOf(const Gang& gang) const;
  // For each gang of the group, how many more members must get a node.
  std::vector<std::pair<const Gang*, std::int64_t>> gangShortages(const Gang& gang) const;
  // nullptr if the group's last attempt was not refused.
  const GangRefusal* refusalOf(const std::string& groupId) const;
  std::size_t waitingGroups();
  Gangs& gangs() { return gangs_; }
  const GangHold& hold() const { return hold_; }

 private:
  Status refuse(const Gang& gang, std::string message, const GroupOutcome& outcome);
  std::string refusalText(const Gang& gang, const GroupOutcome& outcome) const;
  Status refuseImmediately(const Gang& gang, std::span<const PodPtr> members,
                           const std::string& why, GangRefusal looked,
                           const std::string& searched = "");
  std::vector<CapacityDemand> demandsOf(const Gang& gang, std::span<const PodPtr> members) const;
  std::optional<CapacityShortage> shortage(const Profile& profile, const Gang& gang,
                                           std::span<const PodPtr> members,
                                           GangRefusal& refusal) const;
  bool mayHold(const Gang& gang) const;
  void releaseMembers(const Gang& gang, std::span<const PodPtr> placed);
  // Called when a gang has changed: its group may now have enough with what it holds, or may be
  // removed.
  void recheckHold();

  Gangs& gangs_;
  GangHold hold_;
  mutable CapacitySums sums_;
  // The group of the current cycle, and what each of its gangs lacked at the start, by gang.
  struct GroupAttempt {
    std::string groupId;
    std::unordered_map<std::string, std::int64_t> missingBefore;
    bool unplanned = false;
  };
  GroupAttempt attempt_;
  std::map<std::string, GangRefusal> refusals_;         // by group
  std::unordered_map<std::string, std::string> leads_;  // group by the lead's uid
  std::map<std::string, std::string> nominations_;
  std::set<std::string> held_;  // uids of nominated members that were held at the last run
};

GangCycles& gangCyclesOf(Handle& handle, const CoschedulingArgs& args);

}  // namespace koord::scheduler
