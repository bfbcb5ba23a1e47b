#include "scheduler/shadow/recent_changes.h"

#include <ranges>
#include <utility>
#include <vector>

namespace koord::scheduler {

// Changes nominations and restores them on destruction.
class RecentChanges::Nominations {
 public:
  explicit Nominations(Nominator& nominator) : nominator_(nominator) {}
  ~Nominations() {
    for (const auto& [pod, node] : std::views::reverse(before_)) nominate(pod, node);
  }
  Nominations(const Nominations&) = delete;
  Nominations& operator=(const Nominations&) = delete;

  // Returns false if the pod is nominated for this node already; "" is none.
  bool set(const PodPtr& pod, const std::string& node) {
    std::string now = nominator_.nodeOf(pod->uid());
    if (now == node) return false;
    before_.emplace_back(pod, std::move(now));
    nominate(pod, node);
    return true;
  }

 private:
  void nominate(const PodPtr& pod, const std::string& node) {
    if (node.empty()) return nominator_.remove(pod->uid());
    nominator_.add(pod, {true, node});
  }

  Nominator& nominator_;
  std::vector<std::pair<PodPtr, std::string>> before_;
};

void RecentChanges::add(Change change) {
  // Twice the window: a difference is checked again a window after it was found.
  while (!changes_.empty() &&
         (changes_.size() >= kMost || changes_.front().at + 2 * window_ < change.at))
    changes_.pop_front();
  changes_.push_back(std::move(change));
}

void RecentChanges::bound(const PodPtr& pod, Place place, SteadyTime now) {
  add({Kind::Bound, now, pod, place, nominator_.nodeOf(pod->uid()), {}});
}

void RecentChanges::ended(const Cluster::PodRecord& record, SteadyTime now) {
  add({Kind::Ended, now, record.info, {}, {}, record});
}

void RecentChanges::nominated(const PodPtr& pod, SteadyTime now) {
  add({Kind::Nominated, now, pod, {}, nominator_.nodeOf(pod->uid()), {}});
}

RecentChanges::Order RecentChanges::orderOf(const Change& change, const Question& question) {
  const Place &its = change.place, &own = question.place;
  if (its.seen < own.seen) return its.priority >= own.priority ? Order::Before : Order::Unknown;
  return its.priority <= own.priority ? Order::After : Order::Unknown;
}

bool RecentChanges::without(Order order, const Question& question) {
  bool any = false;
  for (const Change& change : changes_)
    if (change.kind == Kind::Bound && change.at >= question.since &&
        change.pod->uid() != question.uid && orderOf(change, question) == order)
      any |= cluster_.removePod(change.pod->uid()).has_value();
  return any;
}

bool RecentChanges::revert(const Change& change, Nominations& nominations) {
  switch (change.kind) {
    case Kind::Bound: {
      const bool removed = cluster_.removePod(change.pod->uid()).has_value();
      return nominations.set(change.pod, change.nominatedNode) || removed;
    }
    case Kind::Nominated:
      // Not for a pod that has a node in this state.
      return !cluster_.findPod(change.pod->uid()) &&
             nominations.set(change.pod, change.nominatedNode);
    case Kind::Ended:
      break;
  }
  const auto& [info, node, assumed, grants] = change.record;
  return cluster_.live().contains(node) && cluster_.assume(info, node, grants).has_value();
}

bool RecentChanges::stepBack(const Question& question, Order from,
                             const std::function<bool()>& agrees) {
  Nominations nominations(nominator_);
  std::size_t steps = 0;
  for (const Change& change : std::views::reverse(changes_)) {
    if (change.at < question.since || steps == kMostSteps) break;
    if (change.pod->uid() == question.uid) continue;
    if (change.kind == Kind::Bound && orderOf(change, question) < from) continue;
    if (!revert(change, nominations)) continue;
    ++steps;
    if (agrees()) return true;
  }
  return false;
}

bool RecentChanges::anyState(const Question& question, const std::function<bool()>& agrees) {
  {
    Cluster::Transaction state(cluster_);
    if (stepBack(question, Order::Unknown, agrees)) return true;
  }
  Cluster::Transaction state(cluster_);
  for (const Order order : {Order::After, Order::Unknown}) {
    if (!without(order, question)) continue;
    Cluster::Transaction earlier(cluster_);
    if (agrees() || stepBack(question, Order::After, agrees)) return true;
  }
  return false;
}

}  // namespace koord::scheduler
