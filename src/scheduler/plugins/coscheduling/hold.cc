#include "scheduler/plugins/coscheduling/hold.h"

#include <algorithm>

namespace koord::scheduler {

Duration GangHold::timeLeft(const std::string& groupId, Duration waitTime) const {
  if (groupId != groupId_) return waitTime;
  return std::max<Duration>(until_ - handle_.executor().steadyNow(), std::chrono::seconds(1));
}

bool GangHold::keep(const std::string& groupId, std::int32_t priority, Duration waitTime,
                    std::span<const PodPtr> members) {
  const SteadyTime now = handle_.executor().steadyNow();
  std::erase_if(notBefore_, [&](const auto& entry) { return entry.second <= now; });
  if (!groupId_.empty() && now >= until_) expire();
  if (groupId != groupId_) {
    if (notBefore_.contains(groupId)) return false;
    if (!groupId_.empty()) {
      if (priority <= priority_) return false;
      releaseHold("GangGroup \"" + groupId + "\" of higher priority needs its places");
    }
    groupId_ = groupId;
    since_ = now;
    until_ = now + std::min(waitTime, kMaxPermitWait);
  }
  priority_ = std::max(priority, members_.empty() ? priority : priority_);
  for (const PodPtr& pod : members) members_.insert(pod->uid());
  if (members_.empty()) clear();
  return true;
}

void GangHold::allow() {
  for (const std::string& uid : members_)
    if (const auto waiting = handle_.waitingPods().find(uid)) waiting->allow(plugin_);
  clear();
}

void GangHold::releaseHold(const std::string& why) {
  const std::set<std::string> members = members_;
  clear();
  for (const std::string& uid : members)
    if (const auto waiting = handle_.waitingPods().find(uid)) waiting->reject(plugin_, why);
}

void GangHold::lost(const std::string& uid) {
  if (members_.erase(uid) == 0) return;
  if (handle_.executor().steadyNow() >= until_) {
    expire();
  } else if (members_.empty()) {
    clear();
  }
}

// The waiting time of all members ends with that of the first.
void GangHold::expire() {
  notBefore_[groupId_] = handle_.executor().steadyNow() + (until_ - since_);
  releaseHold("the waiting time of GangGroup \"" + groupId_ + "\" is over");
}

void GangHold::clear() {
  groupId_.clear();
  members_.clear();
}

}  // namespace koord::scheduler
