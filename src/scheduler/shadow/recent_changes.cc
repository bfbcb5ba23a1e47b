#include "scheduler/shadow/recent_changes.h"

#include <tuple>

namespace koord::scheduler {

void RecentChanges::add(Change change, SteadyTime now) {
  // Twice the window: a difference is checked again a window after it was found.
  while (!changes_.empty() && (changes_.size() >= kMost || changes_.front().at + 2 * window_ < now))
    changes_.pop_front();
  changes_.push_back(std::move(change));
}

void RecentChanges::bound(const std::string& uid, Place place, SteadyTime now) {
  add({now, uid, place, {}}, now);
}

void RecentChanges::ended(const Cluster::PodRecord& record, SteadyTime now) {
  add({now, record.info->uid(), {}, record}, now);
}

bool RecentChanges::withoutLater(Cluster& cluster, const std::string& uid, Place place,
                                 SteadyTime since) const {
  bool any = false;
  for (const Change& change : changes_) {
    const bool later = change.place.priority < place.priority ||
                       (change.place.priority == place.priority && change.place.seen > place.seen);
    if (change.at < since || change.record.info || !later || change.uid == uid) continue;
    any |= cluster.removePod(change.uid).has_value();
  }
  return any;
}

bool RecentChanges::withEnded(Cluster& cluster, const std::string& uid, SteadyTime since) const {
  bool any = false;
  for (const Change& change : changes_) {
    const auto& [info, node, assumed, grants] = change.record;
    if (change.at < since || !info || change.uid == uid) continue;
    if (!cluster.live().contains(node) || cluster.findPod(change.uid)) continue;
    any |= cluster.assume(info, node, grants).has_value();
  }
  return any;
}

bool RecentChanges::anyState(Cluster& cluster, const std::string& uid, Place place,
                             SteadyTime since, const std::function<bool()>& agrees) const {
  for (const auto& [later, ended] :
       {std::pair(true, false), std::pair(false, true), std::pair(true, true)}) {
    Cluster::Transaction state(cluster);
    bool changed = later && withoutLater(cluster, uid, place, since);
    if (ended) changed = withEnded(cluster, uid, since) || changed;
    if (changed && agrees()) return true;
  }
  return false;
}

}  // namespace koord::scheduler
