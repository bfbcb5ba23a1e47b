#pragma once

// Relieves overloaded nodes of a pool: selects the pods to evict, within the pool's free resources.
//
// For each node, the most loaded first, the evictable pods are sorted (order.h), and a plan is made
// before any eviction. The next pod of the plan is, among the least important pods, the best match
// for the remaining excess. It needs a target that stays below its high thresholds with it and all
// other pods that this cycle sends there. When the node is not over, the plan drops pods that are
// not needed: a small pod that was chosen before a sufficient large pod. So only the pods needed to
// relieve the node are evicted. After a failed eviction a new plan is made from the remaining pods.
//
// First come nodes that are over by all their pods; then nodes with too much prod usage, of which
// only prod pods are evicted. A moved prod pod adds to both usages of its target, so both must stay
// below their thresholds.
//
// Cost: pods of overloaded nodes times targets checked until one fits. Pods that are larger than
// the largest free amount of any target are refused at once.

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "descheduler/framework/handle.h"
#include "descheduler/plugins/lownodeload/load.h"
#include "descheduler/plugins/lownodeload/order.h"
#include "descheduler/rules/node_fit.h"

namespace koord::descheduler {

class Relief {
 public:
  struct Options {
    bool nodeFit = true;
    std::size_t numberOfNodes = 0;  // does nothing with this many underloaded nodes or fewer
    bool dryRun = false;
    LoadRules rules = LoadRules::Ours;
    // Returns true for pods that the arguments allow to evict: selectors and namespaces.
    std::function<bool(const Pod&)> evictable;
    // Called when a pod was evicted. It may still exist for a while.
    std::function<void(const Pod&)> moved = [](const Pod&) {};
    // Called when a node is not over.
    std::function<void(const NodeLoad&, Scope)> cured = [](const NodeLoad&, Scope) {};
  };
  Relief(PoolLoad& pool, Evictor& evictor, Options options);

  // The overloaded nodes, in any order.
  Task<void> run(std::vector<NodeLoad*> sources, std::vector<NodeLoad*> prodSources);

 private:
  struct Target {
    NodeLoad* load = nullptr;
    Arrivals arrivals;
  };
  struct Move {
    Candidate candidate;
    std::size_t target = kNowhere;  // in targets_
  };
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  // The free resources of a phase: targets by index, and the sum that they can take.
  struct Phase {
    Scope scope = Scope::All;
    std::vector<std::size_t> targets;
    Amounts available;
    Amounts maxFree;  // the largest free amount of any target
  };

  Task<void> relieve(Phase& phase, std::vector<NodeLoad*> sources);
  Task<void> relieveNode(Phase& phase, NodeLoad& source);
  Task<bool> executeMove(Phase& phase, NodeLoad& source, const Move& move);
  // Why the node is not better for the pod, by the nodes' usage; "" if it is better or unknown.
  std::string rejectTarget(const Phase& phase, const NodeLoad& source, const Move& move,
                           const std::string& node);
  void addTargets(Phase& phase, LoadClass loadClass);
  Amounts headroom(LoadClass loadClass, Scope scope);
  void measureFree(Phase& phase);

  std::vector<Candidate> candidatesOf(const Phase& phase, const NodeLoad& source);
  std::vector<Move> plan(Phase& phase, const NodeLoad& source, std::vector<Candidate> candidates);
  std::vector<Move> planAsUpstream(Phase& phase, const NodeLoad& source,
                                   std::vector<Candidate> candidates);
  void removeUnplaceable(NodeLoad& simulated, Scope scope, std::vector<Move>& moves);
  std::size_t targetFor(const Phase& phase, const Candidate& candidate);
  bool fits(const Phase& phase, const Candidate& candidate, const NodeDemand& demand,
            const Target& target) const;
  void send(std::size_t target, const Candidate& candidate, std::int64_t sign);
  void takeFrom(NodeLoad& load, const Candidate& candidate, std::int64_t sign) const;

  PoolLoad& pool_;
  Evictor& evictor_;
  Options options_;
  std::vector<Target> targets_;
  std::unordered_map<const NodeLoad*, std::size_t> targetOf_;  // their positions
};

}  // namespace koord::descheduler
