#pragma once

// Evictions: evicts victims in the background, the last one after all others, so that the preemptor
// is not tried again while some of them are still there.
//
// No pod is evicted against the rules, or for a unit that does not wait for a node. Both
// are checked again for every victim, because API calls take time.
//
// The API server may refuse without limit (a webhook, a missing permission). After each refusal the
// unit backs off, twice as long as the last time up to a minute, and an event says so. It may use
// other free resources meanwhile.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "scheduler/framework/group.h"
#include "scheduler/framework/handle.h"
#include "scheduler/preemption/rules.h"

namespace koord::scheduler {

class Evictions {
 public:
  explicit Evictions(Handle& handle);

  // The preempting plugin: pods that wait at Permit are rejected in its name, and events on victims
  // are recorded through `events`, which may be nullptr.
  struct By {
    std::string plugin;
    kube::EventRecorder* events = nullptr;
    const PreemptionRules* rules = nullptr;  // nullptr: the default PreemptionRules
    const Profile* profile = nullptr;        // of the preemptors; nullptr: they have no groups
  };
  // The victims on a node for one preemptor.
  struct Order {
    PodPtr preemptor;
    std::string node;
    std::vector<PodPtr> victims;
  };
  // Starts all orders. Returns false and starts none if one of the victims must not be evicted for
  // its preemptor.
  bool start(std::vector<Order> orders, const By& by);
  bool start(const PodPtr& preemptor, const std::string& node, std::vector<PodPtr> victims,
             const By& by) {
    return start({{preemptor, node, std::move(victims)}}, by);
  }
  // Clears the pod's nomination.
  void withdraw(const PodPtr& pod) {
    if (!rehearsal_) tasks_.spawn(clearNomination(pod));
  }
  // Called when the pod's nomination for the node ends. A write of it may still be in progress,
  // even if its object has shown it, because requests are repeated: the nomination is cleared when
  // it appears. Does nothing for node "".
  void noteNominationEnds(const PodInfo& pod, std::string node);
  // Returns true if the pod must wait for victims whose eviction has not been requested yet.
  bool mustWait(const std::string& preemptorUid) const;
  // Returns a preemptor that must wait like this and for which `wanted` is true; nullptr if there
  // is none.
  PodPtr findWaiting(const std::function<bool(const PodInfo&)>& wanted) const;
  // Requeues the preemptor when the last of these pods is gone, whatever rejected it: it gets its
  // nominated node then, or loses the nomination, which keeps other pods off the node. The victims
  // of start() are awaited from then on. A plugin calls this for victims that it finds terminating,
  // because another process may have evicted them.
  void awaitVictims(const PodInfo& preemptor, std::span<const PodPtr> victims);
  // Returns true during the backoff after the API server refused to evict the pod's victims.
  static constexpr const char* kRefused =
      "not eligible for some time: the API server refuses the eviction of its victims.";
  bool isPaused(const std::string& preemptorUid) const;
  // The pods of lower priority that leave the node for which the unit is nominated.
  std::vector<PodPtr> leavingFor(const PodInfo& preemptor) const;
  bool victimsLeaveFor(const PodInfo& preemptor) const { return !leavingFor(preemptor).empty(); }
  // Returns true if the pod terminates by preemption, or its eviction was requested and its object
  // does not show that yet.
  bool isLeaving(const PodInfo& victim) const;
  // Called with each victim whose eviction was accepted; for simulations (oracle/). May be empty.
  std::function<void(const PodInfo& preemptor, const PodInfo& victim, const std::string& plugin)>
      onEvicted;
  // Returns true if a pod on the node terminates because of a preemption, by this process or an
  // earlier one.
  bool anyTerminates() const { return !terminatingByNode_.empty(); }
  bool anyTerminates(NodeId node) const;

  // While a rehearsal exists, PostFilter plugins decide about preemption and nothing follows:
  // start() checks the orders and keeps them here, awaitVictims() and withdraw() do nothing.
  class Rehearsal {
   public:
    // favored: of candidates with equal cost, that on this node is chosen; kNoNode: any.
    explicit Rehearsal(Evictions& evictions, NodeId favored = kNoNode)
        : evictions_(evictions), favored_(favored) {
      evictions_.rehearsal_ = this;
    }
    ~Rehearsal() { evictions_.rehearsal_ = nullptr; }
    Rehearsal(const Rehearsal&) = delete;
    Rehearsal& operator=(const Rehearsal&) = delete;
    const std::vector<Order>& orders() const { return orders_; }

   private:
    friend class Evictions;
    Evictions& evictions_;
    const NodeId favored_;
    std::vector<Order> orders_;
  };
  bool rehearsing() const { return rehearsal_ != nullptr; }
  NodeId favored() const { return rehearsal_ ? rehearsal_->favored_ : kNoNode; }

 private:
  struct Running {
    PodPtr preemptor;
    std::string node;
    std::string lastVictim;
    bool known = false;     // the preemptor is known to wait for a node
    bool onlyLast = false;  // all others have been deleted
    std::string refused;    // a victim that the API server refused to evict
    By by;
  };
  using RunningPtr = std::shared_ptr<Running>;
  struct Join;

  void note(const PodPtr& before, const PodPtr& after);
  // Called when a pod was deleted or has finished.
  void noteVictimGone(const std::string& uid);
  void noteUnit(const PodPtr& before, const PodPtr& after);
  // Why one of the victims must not be evicted, or "". Removes victims that are being evicted.
  std::string check(const PodInfo& preemptor, const PreemptionRules& rules,
                    std::vector<PodPtr>& victims) const;
  bool stillNeeded(const Running& running) const;
  void begin(Order order, const By& by);
  void wakeGroup(const Running& running);
  Task<void> wakeGroups();
  // Records the refusal and returns the preemptor's backoff.
  Duration noteRefusal(const Running& running);

  // Parameters are values: they live as long as the coroutine.
  Task<void> run(RunningPtr running, std::vector<PodPtr> victims);
  Task<bool> evictAll(RunningPtr running, std::vector<PodPtr> victims);
  Task<bool> evict(RunningPtr running, PodPtr victim);
  Task<void> evictAndJoin(RunningPtr running, PodPtr victim, std::shared_ptr<Join> join);
  void clearNominations(const PodInfo& preemptor, const std::string& node, const By& by);
  Task<void> clearNomination(PodPtr pod);
  void report(const Running& running, const PodInfo& victim, bool inMemory);

  Handle& handle_;
  Rehearsal* rehearsal_ = nullptr;
  std::unordered_map<std::string, RunningPtr> running_;  // by preemptor's uid
  std::unordered_set<std::string> requested_;            // uids, until their objects say so
  std::unordered_map<std::string, std::string> nodeOfTerminating_;  // node, by uid
  std::unordered_map<std::string, std::size_t> terminatingByNode_;  // how many of them, by node
  struct Refusals {
    Duration rest{};
    SteadyTime until{};
  };
  // Groups whose members are activated at the end of this turn of the loop.
  std::map<const GroupPlugin*, std::set<std::string>> wakes_;
  std::unordered_map<std::string, Refusals> refusals_;  // in a row; by preemptor's uid
  // Nominations that have ended, by the pod's uid: their write may still be in progress. A write of
  // that node after `until` is another client's.
  struct Withdrawn {
    std::string node;
    SteadyTime until{};
  };
  std::unordered_map<std::string, Withdrawn> withdrawn_;
  // The victims whose end each preemptor waits for, and the preemptors that wait for each victim,
  // by uid. The second map may name preemptors that do not wait now.
  std::unordered_map<std::string, std::unordered_set<std::string>> awaitedVictims_;
  std::unordered_map<std::string, std::vector<std::string>> awaitedBy_;
  TaskGroup tasks_;
};

// The evictions of the scheduler, which all profiles and preempting plugins share.
Evictions& evictionsOf(Handle& handle);

}  // namespace koord::scheduler
