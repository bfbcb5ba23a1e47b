#pragma once

// NumaDemand: a pod's request of CPUs and NUMA nodes.

#include <boost/container/small_vector.hpp>
#include <memory>

#include "scheduler/engine/pod_info.h"
#include "scheduler/framework/signature.h"
#include "scheduler/framework/status.h"
#include "scheduler/plugins/nodenumaresource/numa_grant.h"
#include "scheduler/plugins/nodenumaresource/numa_node.h"

namespace koord::scheduler {

inline constexpr std::string_view kAnnotationNumaSpec =
    "scheduling.koordinator.sh/numa-topology-spec";
inline constexpr const char* kCpusMustBeIntegers = "the requested CPUs must be integer";

struct NumaDemand {
  struct Wanted {
    ResourceId id = 0;
    std::int64_t amount = 0;
  };
  Status status;                                    // the first error, which holds for all nodes
  boost::container::small_vector<Wanted, 4> wants;  // positive amounts; ascending by id
  std::int64_t milliCpu = 0;
  int cpus = 0;                                  // whole CPUs of the request
  bool binds = false;                            // by the pod's own policy
  CpuBindPolicy required = CpuBindPolicy::None;  // of the annotation, with the default filled in
  CpuBindPolicy bind = CpuBindPolicy::None;      // of a pod that binds
  CpuExclusivePolicy exclusive = CpuExclusivePolicy::None;
  NumaPolicy policy = NumaPolicy::None;
  bool apart = false;  // not on one NUMA node with pods that span several, and the other way round
  std::shared_ptr<const NumaGrant> designated;  // the allocation that it must get again
  bool ignoresReservations = false;
  bool needsReservation = false;
  std::vector<std::string> ignored;  // values without effect, by field

  bool nothing() const { return wants.empty(); }
  std::int64_t amountOf(ResourceId id) const {
    for (const Wanted& wanted : wants)
      if (wanted.id == id) return wanted.amount;
    return 0;
  }
  // True if it has nothing but amounts: the settings of most nodes do not matter to it
  // (NumaNode::affectsPlainPods).
  bool plain() const { return !binds && policy == NumaPolicy::None && !designated; }
  void sign(Signature& signature) const;
};

// defaultBind: the policy of pods that have none, or Default.
NumaDemand readNumaDemand(ResourceNames& names, const PodInfo& pod, CpuBindPolicy defaultBind);

// How a pod is bound on a node: by its own policy or the node's.
struct NodeBind {
  CpuBindPolicy policy = CpuBindPolicy::None;  // None: it is not bound there
  bool required = false;
  bool binds() const { return policy != CpuBindPolicy::None; }
};
NodeBind bindOn(const NumaDemand& demand, const NumaNode& node);

// The annotation resource-spec with the policy in force filled in if it is missing; nullopt if it
// is there already. The annotation must be valid.
std::optional<std::string> completedSpec(const api::StringMap& annotations, const NodeBind& bind);

}  // namespace koord::scheduler
