#include "defragmentation.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

#include "koordctl/trace/trace_objects.h"
#include "scheduler/services/what_if.h"

namespace koord::bench {

namespace {

constexpr std::size_t kMovesOfRound = 50;
constexpr std::size_t kMovesOfTask = 4;
constexpr std::size_t kRefusalsOfRound = 8;  // then the model is too old
constexpr const char* kProfile = "default-scheduler";

using descheduler::NodeGaps;
using descheduler::PodDemand;
using descheduler::Relocation;
using koordctl::TraceNode;
using koordctl::TraceTask;

PodDemand demandOf(const TraceTask& task) {
  const std::int64_t percent = task.gpus > 1 ? 100 : (task.share + 9) / 10;
  return {task.cpu, task.memory * koordctl::kBytesOfMib, {task.gpus, percent, 0}};
}

bool admits(const TraceTask& task, const TraceNode& node) {
  return task.models.empty() || std::ranges::find(task.models, node.model) != task.models.end();
}

}  // namespace

Defragmentation::Defragmentation(koordctl::ScheduledCluster& cluster,
                                 const std::vector<TraceNode>& nodes,
                                 std::map<std::string, const Task*> tasks,
                                 const std::vector<const Task*>& dropped)
    : cluster_(cluster), nodes_(nodes), tasks_(std::move(tasks)) {
  for (const Task* task : dropped) {
    if (task->gpus == 0) continue;
    const auto same = [&](const Kind& kind) {
      const auto key = [](const Task& one) {
        return std::tie(one.cpu, one.memory, one.gpus, one.share, one.models);
      };
      return key(*kind.task) == key(*task);
    };
    const auto known = std::ranges::find_if(kinds_, same);
    if (known == kinds_.end()) {
      kinds_.push_back({task, 1});
    } else {
      ++known->count;
    }
  }
}

std::int64_t Defragmentation::allocated() const {
  std::int64_t sum = 0;
  for (const auto& [name, task] : tasks_) sum += task->gpuMilli();
  return sum;
}

std::vector<NodeGaps> Defragmentation::gaps(std::vector<std::string>& pods) const {
  std::vector<NodeGaps> all;
  std::unordered_map<std::string, std::size_t> positions;
  for (const TraceNode& node : nodes_) {
    positions.emplace(node.name, all.size());
    NodeGaps& gaps = all.emplace_back();
    gaps.milliCpu = node.cpu;
    gaps.memory = node.memory * koordctl::kBytesOfMib;
    gaps.slots = 1000;
    gaps.free.assign(static_cast<std::size_t>(node.gpus), 100);
  }
  for (const auto& [name, task] : tasks_) {
    NodeGaps& gaps = all[positions.at(cluster_.nodeOf(name))];
    NodeGaps::Tenant tenant{pods.size(), 0, demandOf(*task), {}};
    tenant.gpus =
        descheduler::allocatedGpus(cluster_.pod(name)->metadata.annotations, tenant.demand.gpu);
    gaps.release(tenant, -1);
    gaps.tenants.push_back(std::move(tenant));
    pods.push_back(name);
  }
  return all;
}

bool Defragmentation::foretold(const Relocation& relocation, const std::vector<std::string>& pods,
                               const Task& waiting) const {
  std::vector<scheduler::WhatIfMove> moves;
  const std::string& from = nodes_[relocation.node].name;
  for (const std::size_t pod : relocation.pods)
    moves.push_back({.pod = cluster_.pod(pods[pod]), .from = from, .avoid = {from}, .group = "g"});
  moves.push_back({.pod = koordctl::podOf(waiting, "waiting", kProfile),
                   .from = "",
                   .avoid = {},
                   .group = "g"});
  const auto answer = scheduler::whatIf(cluster_.scheduler(), moves);
  return std::ranges::all_of(answer.places, [](const scheduler::WhatIfPlace& place) {
    return place.state == scheduler::WhatIfPlace::State::Placed;
  });
}

bool Defragmentation::place(const Task& task) {
  const std::string name = fmt::format("moved-{}", ++names_);
  koordctl::addTask(cluster_, task, name);
  cluster_.advance({});
  if (!cluster_.nodeOf(name).empty()) {
    tasks_.emplace(name, &task);
    return true;
  }
  cluster_.remove(name);
  return false;
}

// The waiting task comes first, so that the pods that move do not return to its node.
bool Defragmentation::make(const Relocation& relocation, const std::vector<std::string>& pods,
                           const Task& waiting) {
  std::vector<const Task*> moved;
  for (const std::size_t pod : relocation.pods) {
    moved.push_back(tasks_.at(pods[pod]));
    tasks_.erase(pods[pod]);
    cluster_.remove(pods[pod]);
  }
  cluster_.advance({});
  bool all = place(waiting);
  for (const Task* task : moved) all = place(*task) && all;
  moves_ += moved.size();
  return all;
}

void Defragmentation::round(std::size_t maxMoves, Outcome& outcome) {
  std::vector<std::string> pods;
  std::vector<descheduler::WaitingPods> waiting;
  // The model knows all that decides here, so tasks that fit need no moves.
  for (const Kind& kind : kinds_) waiting.push_back({demandOf(*kind.task), 0, kind.count, true});
  descheduler::Relocations relocations(gaps(pods), std::move(waiting));
  const auto found = relocations.find(kMovesOfTask, [&](std::size_t kind, std::size_t node) {
    return kinds_[kind].count > 0 && admits(*kinds_[kind].task, nodes_[node]);
  });
  std::set<std::size_t> changed;  // nodes
  const std::size_t begin = moves_, end = std::min(maxMoves, moves_ + kMovesOfRound);
  std::size_t refused = 0;
  for (const Relocation& relocation : found) {
    Kind& kind = kinds_[relocation.waiting];
    if (kind.count == 0 || changed.contains(relocation.node) ||
        moves_ + relocation.pods.size() > end)
      continue;
    const auto places = relocations.placesOf(relocation, [&](std::size_t pod, std::size_t node) {
      return admits(*tasks_.at(pods[pod]), nodes_[node]);
    });
    if (!places) continue;
    if (!foretold(relocation, pods, *kind.task)) {
      ++outcome.refused;
      if (++refused >= kRefusalsOfRound && moves_ > begin) return;
      continue;
    }
    if (!make(relocation, pods, *kind.task)) ++outcome.differed;
    relocations.apply(relocation, *places);
    changed.insert(relocation.node);
    changed.insert(places->begin(), places->end());
    --kind.count;
    outcome.steps.push_back({moves_, allocated()});
  }
}

Defragmentation::Outcome Defragmentation::run(std::size_t maxMoves) {
  Outcome outcome;
  outcome.steps.push_back({0, allocated()});
  for (std::size_t before = SIZE_MAX; before != moves_ && moves_ < maxMoves;) {
    before = moves_;
    round(maxMoves, outcome);
  }
  return outcome;
}

}  // namespace koord::bench
