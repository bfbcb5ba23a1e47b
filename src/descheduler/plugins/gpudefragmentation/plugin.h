#pragma once

// GPUDefragmentation (balance): moves few pods so that pods that wait for GPUs get them.
//
// A round: the pods that no node accepts for some time, the gaps of the nodes, and the cheapest
// relocations (relocation.h). Each relocation is one group of moves: MigrationController checks
// limits and PodDisruptionBudgets for all of its pods, lets koord-scheduler simulate the moves with
// the waiting pod at the end, and makes PodMigrationJobs only if all of them get a node. No pod
// moves without effect.
//
// If no pod waits, GPUs for typical pods can be kept free: a running pod stands for each of the
// `typicalPods` most frequent requests of GPUs, and pods move if no further pod like it would fit.
//
// A round waits until its own moves of the previous one have ended. The work of a round is bounded,
// and other tasks run in between; what was refused is tried again after everything else. Pods of
// gangs neither move nor are helped: a gang moves as a whole, which is not few.

#include <unordered_map>

#include "descheduler/framework/plugin_kind.h"
#include "descheduler/plugins/gpudefragmentation/pod_kinds.h"
#include "descheduler/plugins/gpudefragmentation/refusals.h"
#include "descheduler/plugins/gpudefragmentation/relocation.h"
#include "descheduler/rules/arguments.h"

namespace koord::descheduler {

class GPUDefragmentation final : public Plugin, public BalancePlugin {
 public:
  static constexpr std::string_view kName = "GPUDefragmentation";
  static PluginKind kind();

  struct Args {
    bool paused = false;
    bool dryRun = false;
    EvictionScope scope;
    std::int64_t maxMoves = 5;        // in a round
    std::int64_t maxMovesPerPod = 2;  // for one waiting pod
    Duration minPending = std::chrono::minutes(1);
    std::int64_t typicalPods = 0;
    json::object effective;
    static Args read(Fields& args);
  };
  GPUDefragmentation(Handle& handle, Args args) : handle_(handle), args_(std::move(args)) {}

  std::string_view name() const override { return kName; }
  Task<Result<>> balance(const Nodes& nodes) override;

 private:
  struct Round {
    std::vector<const NodeView*> nodes;
    std::vector<NodeGaps> gaps;   // of the nodes
    std::vector<PodPtr> tenants;  // by number
    std::vector<PodKind> kinds;
  };
  // What a round has done.
  struct Progress {
    std::int64_t moves = 0;
    std::set<std::size_t> changed;   // nodes
    std::vector<std::int64_t> left;  // waiting pods, by kind
    std::vector<int> refusals;       // of the evictor, by kind
  };

  bool mayMove(const NodePods::Entry& entry) const;
  bool hasWaited(const Pod& pod) const;
  NodeGaps gapsOf(const NodeView& node, std::vector<PodPtr>& tenants) const;
  std::vector<PodKind> kindsToHelp(const Round& round) const;
  std::string keyOf(const Round& round, const Relocation& relocation) const;
  // Those that were refused come last.
  void order(const Round& round, const Relocations& all, std::vector<Relocation>& found) const;
  bool keepProtected(const Round& round, const Relocation& relocation, Relocations& all);
  std::vector<Relocation> candidates(const Round& round, std::size_t kind, Relocations& all);
  Task<void> search(const Round* round, Relocations* all, std::vector<Relocation>* found);
  Task<void> relocate(Round* round);
  bool mayTry(const Relocation& relocation, const Progress& progress) const;
  Task<bool> tryOne(const Round* round, const Relocation* relocation, Relocations* all,
                    Progress* progress);
  Task<bool> move(const Round* round, const Relocation* relocation, PodPtr waiting);

  Handle& handle_;
  Args args_;
  Refusals refusals_;
};

}  // namespace koord::descheduler
