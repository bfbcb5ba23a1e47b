#pragma once

// Defragmentation of a trace's cluster that is full: moves few pods so that tasks that fitted
// nowhere fit, cheapest first, with the relocations of koord-descheduler's plugin
// GPUDefragmentation. Each relocation is simulated by the scheduler's what-if before it is made.

#include <map>
#include <string>
#include <vector>

#include "descheduler/plugins/gpudefragmentation/relocation.h"
#include "koordctl/trace/trace_cluster.h"

namespace koord::bench {

class Defragmentation {
 public:
  struct Step {
    std::size_t moves = 0;       // so far
    std::int64_t allocated = 0;  // thousandths of GPUs
  };
  struct Outcome {
    std::vector<Step> steps;   // after each relocation
    std::size_t refused = 0;   // relocations that the simulation refused
    std::size_t differed = 0;  // relocations that did not come true
  };

  // tasks: those that have a node, by name of pod. dropped: those that wait.
  Defragmentation(koordctl::ScheduledCluster& cluster,
                  const std::vector<koordctl::TraceNode>& nodes,
                  std::map<std::string, const koordctl::TraceTask*> tasks,
                  const std::vector<const koordctl::TraceTask*>& dropped);

  // Ends after maxMoves moves, or when no relocation helps.
  Outcome run(std::size_t maxMoves);

 private:
  using Task = koordctl::TraceTask;
  struct Kind {
    const Task* task = nullptr;
    std::int64_t count = 0;
  };

  void round(std::size_t maxMoves, Outcome& outcome);
  std::vector<descheduler::NodeGaps> gaps(std::vector<std::string>& pods) const;
  bool foretold(const descheduler::Relocation& relocation, const std::vector<std::string>& pods,
                const Task& waiting) const;
  bool make(const descheduler::Relocation& relocation, const std::vector<std::string>& pods,
            const Task& waiting);
  bool place(const Task& task);
  std::int64_t allocated() const;

  koordctl::ScheduledCluster& cluster_;
  const std::vector<koordctl::TraceNode>& nodes_;
  std::map<std::string, const Task*> tasks_;
  std::vector<Kind> kinds_;
  std::size_t moves_ = 0;
  std::size_t names_ = 0;
};

}  // namespace koord::bench
