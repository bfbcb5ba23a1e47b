#pragma once

// Hold: the places that members of a NonStrict gang group keep while they wait for the rest of it.
//
// A group that is short of places may hold on to what it got, so that room which comes free bit by
// bit adds up. Two groups that do so can starve each other for good, each with what the other needs.
// So only one does at a time, in the whole scheduler: the one whose members have the highest priority,
// and of equals the one that holds already. Who outranks it takes over, and the other gives back its
// places. A hold ends when the group has what it needs, when its waiting time (counted from its first
// member) is over, or when its last member goes; a group whose time ran out may not hold again for as
// long as it held, so that others have their turn.

#include <map>
#include <optional>
#include <set>
#include <string>

#include "scheduler/framework/handle.h"

namespace koord::scheduler {

class GangHold {
 public:
  GangHold(Handle& handle, std::string plugin) : handle_(handle), plugin_(std::move(plugin)) {}

  // The group that holds places, or "".
  const std::string& groupId() const { return groupId_; }
  const std::set<std::string>& members() const { return members_; }  // uids
  // How long members that come now may wait.
  Duration timeLeft(const std::string& groupId, Duration waitTime) const;

  // Lets the group keep these places, too; false when another one goes first. Members of a group that
  // has to give way are rejected.
  bool keep(const std::string& groupId, std::int32_t priority, Duration waitTime,
            std::span<const PodPtr> members);
  // The group has what it needs: all that wait go on.
  void allow();
  // Nobody waits any more.
  void giveBack(const std::string& why);
  // One of them has lost its place.
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
