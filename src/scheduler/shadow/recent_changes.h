#pragma once

// RecentChanges: pods that were bound, ended or nominated within the last moment, and the states
// that follow from reverting some of these changes.
//
// A scheduler decides first and writes later, for several pods at a time. So the API server may
// show bindings and nominations in another order than the decisions, and a decision may have been
// taken before the end of a pod was known. If the shadow differs on the state that the API shows,
// it decides again on earlier states: from the latest change back it reverts
//   - the ends of pods, and nominations;
//   - the bindings of pods that may have been decided after it.
// A queue sorts by priority and then by time. So a pod that was seen earlier and has no lower
// priority was decided before it, and its binding stays. A pod that was seen later and has no
// higher priority was decided after it. Of others the order is unknown: one of the two pods may
// have left the queue before the other came. So it also begins with the states without all pods
// that were decided after it, with and without those of unknown order, and reverts ends and
// nominations from there.
//
// If it agrees on one of these states, the difference is one of timing and not of judgement. A
// change that happened within the moment by chance may hide a difference, so the moment is short.
//
// Cost: one decision for each state, at most 3 * kMostSteps + 2.

#include <deque>
#include <functional>
#include <string>

#include "scheduler/engine/cluster.h"
#include "scheduler/framework/nominator.h"

namespace koord::scheduler {

class RecentChanges {
 public:
  static constexpr std::size_t kMost = 2000;     // older changes are dropped
  static constexpr std::size_t kMostSteps = 32;  // states that are tried

  struct Place {
    std::int32_t priority = 0;
    std::uint64_t seen = 0;  // rises with every pod
  };
  // The pod that is decided, which is on no node, and the time of the oldest change that matters.
  struct Question {
    std::string uid;
    Place place;
    SteadyTime since{};
  };

  RecentChanges(Cluster& cluster, Nominator& nominator, Duration window)
      : cluster_(cluster), nominator_(nominator), window_(window) {}

  // Call before the change is counted.
  void bound(const PodPtr& pod, Place place, SteadyTime now);
  void ended(const Cluster::PodRecord& record, SteadyTime now);
  // A waiting pod whose nomination changes or ends.
  void nominated(const PodPtr& pod, SteadyTime now);

  // Calls `agrees` on each state until it returns true; then returns true. Everything is reverted.
  bool anyState(const Question& question, const std::function<bool()>& agrees);

 private:
  enum class Kind { Bound, Ended, Nominated };
  struct Change {
    Kind kind = Kind::Bound;
    SteadyTime at{};
    PodPtr pod;
    Place place;                // Bound
    std::string nominatedNode;  // Bound, Nominated: before the change
    Cluster::PodRecord record;  // Ended
  };
  class Nominations;

  // When a bound pod was decided, compared with the pod of the question.
  enum class Order { Before, Unknown, After };

  void add(Change change);
  static Order orderOf(const Change& change, const Question& question);
  // Removes the pods of this order whose bindings matter. Returns false if there are none.
  bool without(Order order, const Question& question);
  // Returns false if there was nothing to revert.
  bool revert(const Change& change, Nominations& nominations);
  // Reverts one change after the other, from the latest back. Of bindings, those of this order and
  // of later ones.
  bool stepBack(const Question& question, Order from, const std::function<bool()>& agrees);

  Cluster& cluster_;
  Nominator& nominator_;
  const Duration window_;
  std::deque<Change> changes_;  // oldest first
};

}  // namespace koord::scheduler
