#include "scheduler/framework/nominated_nodes.h"

#include <algorithm>

namespace koord::scheduler {

Status NominatedNodes::sync(Cluster& cluster, const Nominator& nominator, const Profile& profile,
                            PodClass& podClass, const PodInfo& pod, PluginMask skipFilter) {
  std::vector<std::uint64_t> epochs;
  epochs.reserve(profile.changing.size());
  for (const Changing* part : profile.changing) epochs.push_back(part->epoch(podClass.state, pod));
  const auto changes = cluster.changesSince(position_);
  NodeSet changed;
  if (!valid_ || !changes || changes->size() >= cluster.liveCount() || epochs != epochs_) {
    nodes_.clear();
    verdicts_.clear(cluster.capacity());
    for (const auto& [name, pods] : nominator.byNode())
      if (const auto node = cluster.findNode(name)) changed.insert(*node);
  } else {
    verdicts_.reserve(cluster.capacity());
    for (const NodeId node : *changes) changed.insert(node);
  }
  position_ = cluster.changeEnd();
  epochs_ = std::move(epochs);
  valid_ = false;  // until all is complete

  // In the pod's current view of the nodes. A nominated pod has no credits yet.
  NodeView view;
  if (podClass.hasView) updateView(profile, pod, changed, view);
  NodeSet left;
  Cluster::Transaction whatIf(cluster);
  changed.forEach([&](NodeId node) {
    nodes_.erase(node);
    const auto* nominated =
        cluster.live().contains(node) ? nominator.on(cluster.node(node).name) : nullptr;
    if (!nominated) return;
    bool any = false;
    for (const PodPtr& other : *nominated)
      if (other->priority >= pod.priority) any |= cluster.assume(other, node).has_value();
    if (!any) return;
    nodes_.emplace(node, kPasses);
    left.insert(node);
  });
  std::vector<NodeId> judged;
  left.copyTo(judged);
  const ViewScope seen(podClass.state, view);
  for (std::size_t i = 0; i < profile.filter.size() && !left.empty(); ++i) {
    const auto& plugin = profile.filter[i];
    if (!plugin.signedPlugin || contains(skipFilter, i)) continue;
    NodeFilter batch(left, &verdicts_, static_cast<std::uint16_t>(i));
    Status status = guarded(nullptr, plugin.name, "Filter",
                            [&] { return plugin.point->filter(podClass.state, pod, batch); });
    if (!status.ok()) return filterError(plugin.name, status);
  }
  for (const NodeId node : judged) {
    nodes_[node] = verdicts_.at(node);
    verdicts_.set(node, kPasses);
  }
  valid_ = true;
  return {};
}

}  // namespace koord::scheduler
