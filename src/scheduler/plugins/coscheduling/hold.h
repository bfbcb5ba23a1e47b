#pragma once

// Hold: the nodes that members of a NonStrict gang group reserve while they wait for the rest of
// the group.
//
// A group that lacks nodes may keep those that it got, so that resources that are freed bit by bit
// add up. Two groups that do so can starve each other indefinitely, each with what the other needs.
// So only one group holds at a time, in the whole scheduler: the group whose members have the
// highest priority; among equals, the group that already holds. A group with higher priority takes
// over, and the previous group releases its nodes. A hold ends when the group has what it needs,
// when its waiting time (counted from its first member) is over, or when its last member is
// removed. A group whose time is over may not hold again for as long as it held, so that other
// groups have their turn.

#include <map>
#include <optional>
#include <set>
#include <string>

#include "scheduler/framework/handle.h"

namespace koord::scheduler {

class GangHold {
 public:
  GangHold(Handle& handle, std::string plugin) : handle_(handle), plugin_(std::move(plugin)) {}

  // The group that holds; "" if none.
  const std::string& groupId() const { return groupId_; }
  const std::set<std::string>& members() const { return members_; }  // uids
  // How long members that are added now may wait.
  Duration timeLeft(const std::string& groupId, Duration waitTime) const;

  // Lets the group hold these members' nodes, too. Returns false if another group has precedence.
  // Rejects the members of the previous group if it has to release its nodes.
  bool keep(const std::string& groupId, std::int32_t priority, Duration waitTime,
            std::span<const PodPtr> members);
  // Called when the group has what it needs: allows all waiting members.
  void allow();
  // Rejects all waiting members and ends the hold.
  void releaseHold(const std::string& why);
  // Called when a member has lost its node.
  void lost(const std::string& uid);

 private:
  void expire();
  void clear();

  Handle& handle_;
  const std::string plugin_;
  std::string groupId_;
  std::int32_t priority_ = 0;
  SteadyTime since_{};
  SteadyTime until_{};
  std::set<std::string> members_;
  std::map<std::string, SteadyTime> notBefore_;  // by group: when it may hold again
};

}  // namespace koord::scheduler
