#pragma once

// NominatedNodes: the Signed plugins' verdicts for a class of pods on nodes that are nominated for
// other pods, with those pods counted as if they ran there. One per class and priority. Nodes that
// changed since the last call are judged again, in one batch.

#include <unordered_map>
#include <vector>

#include "scheduler/engine/cluster.h"
#include "scheduler/framework/nominator.h"
#include "scheduler/framework/pod_class.h"

namespace koord::scheduler {

class NominatedNodes {
 public:
  // `pod` is any pod of the class. Its priority must be the same in all calls.
  Status sync(Cluster& cluster, const Nominator& nominator, const Profile& profile,
              PodClass& podClass, const PodInfo& pod, PluginMask skipFilter);

  // The nodes with nominated pods of no lower priority.
  const std::unordered_map<NodeId, VerdictId>& nodes() const { return nodes_; }
  const Rejection& rejection(VerdictId verdict) const { return verdicts_.rejection(verdict); }
  std::size_t rejections() const { return verdicts_.size(); }  // ids are below

 private:
  std::uint64_t position_ = 0;  // in the cluster's change log
  std::vector<std::uint64_t> epochs_;
  bool valid_ = false;
  std::unordered_map<NodeId, VerdictId> nodes_;
  Verdicts verdicts_;  // by node only during sync()
};

}  // namespace koord::scheduler
