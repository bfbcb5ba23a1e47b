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
// A round waits until the moves of the previous one have ended. Pods of gangs neither move nor are
// helped: a gang moves as a whole, which is not few.

#include "api/selector.h"
#include "descheduler/framework/registry.h"
#include "descheduler/plugins/gpudefragmentation/relocation.h"
#include "descheduler/rules/namespaces.h"
#include "descheduler/rules/node_fit.h"
#include "descheduler/rules/pod_selectors.h"

namespace koord::descheduler {

class GPUDefragmentation final : public Plugin, public BalancePlugin {
 public:
  static constexpr std::string_view kName = "GPUDefragmentation";
  static PluginKind kind();

  struct Args {
    bool paused = false;
    bool dryRun = false;
    Namespaces namespaces;
    std::optional<api::Selector> nodes;
    PodSelectors pods;
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
  // Pods with equal requests, and one of them.
  struct Kind {
    std::vector<PodPtr> pods;
    WaitingPods waiting;
    NodeDemand where;
  };
  struct Round {
    std::vector<const NodeView*> nodes;
    std::vector<NodeGaps> gaps;   // of the nodes
    std::vector<PodPtr> tenants;  // by number
    std::vector<Kind> kinds;
  };

  bool mayMove(const NodePods::Entry& entry) const;
  bool hasWaited(const Pod& pod) const;
  NodeGaps gapsOf(const NodeView& node, std::vector<PodPtr>& tenants) const;
  void addTo(std::vector<Kind>& kinds, const PodPtr& pod) const;
  std::vector<Kind> waitingKinds() const;
  std::vector<Kind> typicalKinds(const Round& round) const;
  Task<void> relocate(Round* round);
  Task<bool> move(const Round* round, const Relocation* relocation, PodPtr waiting);

  Handle& handle_;
  Args args_;
};

}  // namespace koord::descheduler
