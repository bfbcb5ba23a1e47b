#pragma once

// Relieves overloaded nodes of a pool: which of their pods go, as far as the pool has room for them.
//
// For each node, the most loaded first, the pods that may go are put in order (order.h), and a plan is made before
// anything is evicted: the next pod is the one that fits best what is left of the excess among the least important
// ones; it must find a target that stays below its high thresholds with it, together with all that this cycle sends
// there. When the node is no longer over, pods are left out again without which it is not over either: a small one
// that was taken before a large one did the work alone. So the pods that just cure the node go. An eviction that
// fails makes a new plan from the pods that are left.
//
// Nodes first, over all their pods; then nodes with too much prod usage, prod pods only. A prod pod that moves adds
// to both usages of its target, so both must stay below.
//
// Cost: pods of overloaded nodes times targets that are looked at until one fits; what is larger than the most that
// any target has left is refused at once.

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
    std::size_t numberOfNodes = 0;  // nothing is done with this many nodes that have room, or fewer
    bool dryRun = false;
    LoadRules rules = LoadRules::Ours;
    // Pods that the arguments let go: selectors and namespaces.
    std::function<bool(const Pod&)> evictable;
    // A pod was evicted, and may still be there for a while.
    std::function<void(const Pod&)> moved = [](const Pod&) {};
    // A node is no longer over.
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

  // The room of a phase: targets by index, and what they can take together.
  struct Phase {
    Scope scope = Scope::All;
    std::vector<std::size_t> targets;
    Amounts available;
    Amounts mostLeft;  // the most that one target has left
  };

  Task<void> relieve(Phase& phase, std::vector<NodeLoad*> sources);
  Task<void> relieveNode(Phase& phase, NodeLoad& source);
  Task<bool> carryOut(Phase& phase, NodeLoad& source, const Move& move);
  // Why the pod would be no better off there, by what the nodes use; "" = it would, or nobody knows.
  std::string noBetter(const Phase& phase, const NodeLoad& source, const Move& move,
                       const std::string& node);
  void addTargets(Phase& phase, LoadClass loadClass);
  Amounts headroom(LoadClass loadClass, Scope scope);
  void measureLeft(Phase& phase);

  std::vector<Candidate> candidatesOf(const Phase& phase, const NodeLoad& source);
  std::vector<Move> plan(Phase& phase, const NodeLoad& source, std::vector<Candidate> candidates);
  std::vector<Move> planAsUpstream(Phase& phase, const NodeLoad& source,
                                   std::vector<Candidate> candidates);
  void leaveOut(NodeLoad& simulated, Scope scope, std::vector<Move>& moves);
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
