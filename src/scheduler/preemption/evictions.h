#pragma once

// Evictions: makes victims leave in the background, the last one after all others, so that the pod
// they make room for is not tried again while some of them are still there.
//
// Nobody leaves against the rules, or for a unit that does not wait for room any more: both are looked at
// again with every victim, since the API takes its time.
//
// The API may refuse for ever (a webhook, a missing permission). After each refusal the unit rests, twice as
// long as the last time up to a minute, and an event says so. It may take other room meanwhile.

#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "scheduler/framework/handle.h"
#include "scheduler/preemption/rules.h"

namespace koord::scheduler {

class Evictions {
 public:
  explicit Evictions(Handle& handle);

  // On whose behalf: pods that wait for permission are rejected in the plugin's name, and victims
  // hear of it from the profile's recorder, which may be nullptr.
  struct By {
    std::string plugin;
    kube::EventRecorder* events = nullptr;
    const PreemptionRules* rules = nullptr;  // nullptr: those of PreemptionRules itself
  };
  // Who makes whom leave which node.
  struct Order {
    PodPtr preemptor;
    std::string node;
    std::vector<PodPtr> victims;
  };
  // All of them begin. False: one of the victims must not leave for its preemptor, so nobody does.
  bool start(std::vector<Order> orders, const By& by);
  bool start(const PodPtr& preemptor, const std::string& node, std::vector<PodPtr> victims,
             const By& by) {
    return start({{preemptor, node, std::move(victims)}}, by);
  }
  // The pod is not promised its node any more.
  void withdraw(const PodPtr& pod) { tasks_.spawn(clearNomination(pod)); }
  // Whether the pod has to wait for victims that have not been told to leave yet.
  bool holdsBack(const std::string& preemptorUid) const;
  // One of the pods that have to wait so and for which `wanted` is true; nullptr: there is none.
  PodPtr heldBack(const std::function<bool(const PodInfo&)>& wanted) const;
  // Whether the API has refused to let its victims leave, and it is too early to ask again.
  static constexpr const char* kRefused =
      "not eligible for a while: the API server does not let its victims leave.";
  bool rests(const std::string& preemptorUid) const;
  // Whether the pod has been told to leave, which its object does not say yet.
  bool told(const PodInfo& victim) const;
  // Whether somebody on the node leaves for a preemption, of this process or an earlier one.
  bool anyLeaves() const { return !vacating_.empty(); }
  bool anyLeaves(NodeId node) const;

 private:
  struct Running {
    PodPtr preemptor;
    std::string node;
    std::string lastVictim;
    bool known = false;     // that the preemptor waits for a node
    bool onlyLast = false;  // all others have been deleted
    std::string refused;    // a victim that the API does not let go
    By by;
  };
  using RunningPtr = std::shared_ptr<Running>;
  struct Join;

  void note(const PodPtr& before, const PodPtr& after);
  void noteUnit(const PodInfo& pod, const PodPtr& after);
  // Why one of the victims must not leave, or ""; drops those that need not be told.
  std::string check(const PodInfo& preemptor, const PreemptionRules& rules,
                    std::vector<PodPtr>& victims) const;
  bool stillNeeded(const Running& running) const;
  void begin(Order order, const By& by);
  // How long the preemptor rests now.
  Duration noteRefusal(const Running& running);

  // Parameters are values: they live as long as the coroutine.
  Task<void> run(RunningPtr running, std::vector<PodPtr> victims);
  Task<bool> evictAll(RunningPtr running, std::vector<PodPtr> victims);
  Task<bool> evict(RunningPtr running, PodPtr victim);
  Task<void> evictAndJoin(RunningPtr running, PodPtr victim, std::shared_ptr<Join> join);
  void clearNominations(const PodInfo& preemptor, const std::string& node);
  Task<void> clearNomination(PodPtr pod);
  void tell(const Running& running, const PodInfo& victim, bool inMemory);

  Handle& handle_;
  std::unordered_map<std::string, RunningPtr> running_;    // by preemptor's uid
  std::unordered_set<std::string> told_;                   // uids, until their objects say so
  std::unordered_map<std::string, std::string> leaving_;   // node, by uid
  std::unordered_map<std::string, std::size_t> vacating_;  // how many of them, by node
  struct Refusals {
    Duration rest{};
    SteadyTime until{};
  };
  std::unordered_map<std::string, Refusals> refusals_;  // in a row; by preemptor's uid
  // Promises that were taken back before any object said them, by the pod's uid: the write may be under way. Whoever
  // writes that node after `until` is somebody else.
  struct Withdrawn {
    std::string node;
    SteadyTime until{};
  };
  std::unordered_map<std::string, Withdrawn> withdrawn_;
  TaskGroup tasks_;
};

// Those of the scheduler, which all profiles and all plugins that preempt share.
Evictions& evictionsOf(Handle& handle);

}  // namespace koord::scheduler
