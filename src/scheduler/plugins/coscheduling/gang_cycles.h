#pragma once

// GangCycles: the tries of gang groups, from the moment the queue hands out their members. One for
// all profiles.
//
//   begin     is the group complete, and is there room at all (room.h)?
//   shouldContinue    a member found no node: can those left still make up the minimum?
//   judge     does every gang of the group have its minimum (judge.h)? Then all that have a place,
//             those that waited for it included, are let go together.
//
// What the last refusal was is kept until the group is placed: for what wakes it, for people
// (explain, HTTP) and for metrics.

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "scheduler/framework/group.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/coscheduling/gangs.h"
#include "scheduler/plugins/coscheduling/hold.h"
#include "scheduler/plugins/coscheduling/judge.h"
#include "scheduler/plugins/coscheduling/network_placement.h"
#include "scheduler/plugins/coscheduling/room.h"

namespace koord::scheduler {

// Why a gang group has no place.
struct GangRefusal {
  std::string message;
  struct Failed {
    std::string pod;
    std::string reason;
  };
  std::vector<Failed> failed;      // the first few
  std::vector<std::string> gangs;  // ids
  std::string lead;                // uid of the member that room wakes
  std::optional<RoomNeed> need;    // when there was no room at all
  RoomView view;
  bool limited = false;    // it needs more than its members may ever have
  bool unplanned = false;  // there was no place for it in the network
  WallTime since{};        // of the first refusal in a row
};

class GangCycles {
 public:
  explicit GangCycles(Gangs& gangs);

  Status begin(const Profile& profile, const std::string& gang, std::span<const PodPtr> members);
  // As many members of each gang as it lacks come before those beyond.
  std::vector<std::size_t> orderOf(const std::string& gang, std::span<const PodPtr> members) const;
  bool shouldContinue(const std::string& gang, const GroupOutcome& soFar) const;
  Status judge(const std::string& gang, const GroupOutcome& outcome);
  PermitResult permit(const PodInfo& pod) const;
  // The pod has lost its place.
  void unreserved(const PodInfo& pod);
  // Where in the network the group goes.
  GroupPlan planByNetwork(const Gang& gang, std::span<const PodPtr> members,
                          NetworkPlacement& placement);
  // Where the first of its members by name is that has a place.
  std::optional<NodeId> nodeOfMember(const Gang& gang) const;
  // Whether this member waits for another network than there was.
  Hint planHint(const PodInfo& pod) const;
  // Whether this member waits for room that is there now.
  Hint roomHint(const PodInfo& pod) const;
  // Whether it waits for a limit that is not too low any more.
  Hint limitHint(const Profile& profile, const PodInfo& pod) const;

  // Nodes that this cycle's preemption promises to members, by uid.
  std::map<std::string, std::string>& promises() { return promises_; }
  Nomination nominationOf(const PodInfo& pod) const;
  // On the leader, now and then: members that are held by PreEnqueue since the last time keep nobody off a
  // node that they were promised.
  void endUselessPromises();

  GangStanding standingOf(const Gang& gang) const;
  // How many more places each gang of the group lacks.
  std::vector<std::pair<const Gang*, std::int64_t>> lacking(const Gang& gang) const;
  // nullptr: its last try was not refused.
  const GangRefusal* refusalOf(const std::string& groupId) const;
  std::size_t waitingGroups();
  Gangs& gangs() { return gangs_; }
  const GangHold& hold() const { return hold_; }

 private:
  Status refuse(const Gang& gang, std::string message, const GroupOutcome& outcome);
  std::string refusalText(const Gang& gang, const GroupOutcome& outcome) const;
  Status refuseAtOnce(const Gang& gang, std::span<const PodPtr> members, const std::string& why,
                      GangRefusal looked, const std::string& searched = "");
  std::vector<RoomDemand> demandsOf(const Gang& gang, std::span<const PodPtr> members) const;
  std::optional<RoomShortage> shortage(const Profile& profile, const Gang& gang,
                                       std::span<const PodPtr> members, GangRefusal& refusal) const;
  bool mayHold(const Gang& gang) const;
  void letGo(const Gang& gang, std::span<const PodPtr> placed);
  // A gang has changed: what its group holds may do by now, or be nobody's.
  void lookAtHold();

  Gangs& gangs_;
  GangHold hold_;
  mutable RoomSums sums_;
  // Of the group that is being tried: places that its gangs had before, by gang.
  struct GroupAttempt {
    std::string groupId;
    std::unordered_map<std::string, std::int64_t> lacked;
    bool unplanned = false;
  };
  GroupAttempt attempt_;
  std::map<std::string, GangRefusal> refusals_;         // by group
  std::unordered_map<std::string, std::string> leads_;  // group by uid
  std::map<std::string, std::string> promises_;
  std::set<std::string> held_;  // uids of members with a promise that were held the last time
};

GangCycles& gangCyclesOf(Handle& handle, const CoschedulingArgs& args);

}  // namespace koord::scheduler
