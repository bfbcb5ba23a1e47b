#pragma once

// NumaDemand: everything a pod says about the CPUs and NUMA nodes that it wants.

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
  Status status;                                    // what of it cannot be: for all nodes
  boost::container::small_vector<Wanted, 4> wants;  // more than nothing; ascending by id
  std::int64_t milliCpu = 0;
  int cpus = 0;                                  // whole ones of it
  bool binds = false;                            // by the pod's own wish
  CpuBindPolicy required = CpuBindPolicy::None;  // as the annotation has it, default filled in
  CpuBindPolicy bind = CpuBindPolicy::None;      // of a pod that binds
  CpuExclusivePolicy exclusive = CpuExclusivePolicy::None;
  NumaPolicy policy = NumaPolicy::None;
  bool apart = false;  // from pods on several NUMA nodes if it is on one, and the other way round
  std::shared_ptr<const NumaGrant> designated;  // what it is to have again
  bool ignoresReservations = false;
  bool needsReservation = false;
  std::vector<std::string> ignored;  // what it says that means nothing, by field

  bool nothing() const { return wants.empty(); }
  std::int64_t amountOf(ResourceId id) const {
    for (const Wanted& wanted : wants)
      if (wanted.id == id) return wanted.amount;
    return 0;
  }
  // Nothing but amounts: what most nodes have to say does not matter to it (NumaNode::particular).
  bool plain() const { return !binds && policy == NumaPolicy::None && !designated; }
  void sign(Signature& signature) const;
};

// defaultBind: of pods that say nothing, or Default.
NumaDemand readNumaDemand(ResourceNames& names, const PodInfo& pod, CpuBindPolicy defaultBind);

// How a pod is bound on a node: by its own wish or the node's.
struct NodeBind {
  CpuBindPolicy policy = CpuBindPolicy::None;  // None: it is not bound there
  bool required = false;
  bool binds() const { return policy != CpuBindPolicy::None; }
};
NodeBind bindOn(const NumaDemand& demand, const NumaNode& node);

// The annotation resource-spec with the policy that is in force filled in where it is not said;
// nothing when it says that already. Reading it must have gone well.
std::optional<std::string> completedSpec(const api::StringMap& annotations, const NodeBind& bind);

}  // namespace koord::scheduler
