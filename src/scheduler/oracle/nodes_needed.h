#pragma once

// NodesNeeded: the smallest number of nodes of one shape that some pods need, as the scheduler
// packs them, beside a lower bound that no scheduler can beat.
//
// Each try is a new scheduler with nothing but so many empty nodes and the objects of the question;
// the pods are created, and the try succeeds if all get nodes and no pod is preempted. The search
// begins at the lower bound, adds 1, 2, 4 ... nodes until a try succeeds, and then halves the gap.
// So the answer n is proven by two tries: n nodes are enough, and n - 1 are not. A smaller number
// could be enough, too: a scheduler that spreads pods is not monotonous. Cost: about 2 log2 of the
// distance from the lower bound to the answer tries, each of which schedules all pods.
//
// The bound: let s_r be the sum of the requests of resource r, and c_r what a node has of it. The
// linear relaxation lets pods be cut: x[p,j] of pod p is on node j of n, between 0 and 1, with
// sum_j x[p,j] = 1 for each pod and sum_p x[p,j] * request[p,r] <= c_r for each node and resource.
// Summed over the nodes, the last says s_r <= n * c_r. So every solution has n >= s_r / c_r for all
// r. And if n >= s_r / c_r for all r, then x[p,j] = 1 / n is a solution. So the optimum of the
// linear program is max_r s_r / c_r; no solver is needed. The number of pods is a resource, too.
// A resource that the shape lacks has no bound; its pods are rejected, or a plugin provides it.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/oracle/course.h"

namespace koord::scheduler::oracle {

class NodesNeeded {
 public:
  struct Surroundings {
    SeamExecutor& executor;  // cut
    // A scheduler without nodes and pods, that has not started.
    std::function<Result<std::unique_ptr<Scheduler>>()> makeScheduler;
    // Called when another server answers the schedulers' calls; nullptr: none.
    std::function<void(ScratchServer* server)> serve;
  };
  // pattern: the shape. The expansion is that of the question.
  NodesNeeded(Surroundings surroundings, const Question& question, Expansion expansion,
              std::shared_ptr<const api::Node> pattern);

  // Called before every attempt; it need not return. May be empty.
  std::function<void()> checkpoint;

  // Invalid: an object cannot be created, there are no pods or too many, or there are Nodes.
  Result<> run();
  // {pods, count, tooFew, lowerBound, tries, placed, pending, message, resources}; see answer.h.
  // Also before run() has ended.
  json::object describe() const;

 private:
  struct Trial {
    bool enough = false;
    std::uint64_t placed = 0, pending = 0;
    std::string message;  // of the first pod without a node
  };
  // What the pods request, and what a node has.
  struct Amount {
    std::string resource;
    ResourceId id = kFirstScalar;
    std::int64_t requested = 0, perNode = 0;
    std::int64_t nodes() const;  // that these requests need at least
  };
  Result<> measure();
  // Notes the result.
  Result<bool> suffices(std::int64_t nodes);
  Result<Trial> tryOut(std::int64_t nodes);
  std::int64_t most() const;  // nodes of a try

  const Surroundings around_;
  const Question& question_;
  const Expansion expansion_;
  const std::shared_ptr<const api::Node> pattern_;
  std::vector<Amount> amounts_;
  std::int64_t bound_ = 0;
  std::int64_t tooFew_ = 0;             // the largest number that was not enough
  std::optional<std::int64_t> enough_;  // the smallest number that was
  Trial last_;                          // that failed
  int tries_ = 0;
};

}  // namespace koord::scheduler::oracle
