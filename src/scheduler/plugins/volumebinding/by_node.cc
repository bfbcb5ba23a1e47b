#include "scheduler/plugins/volumebinding/by_node.h"

#include "scheduler/engine/node_selection.h"

namespace koord::scheduler {

OptionsByNode::OptionsByNode(Cluster& cluster, std::vector<VolumeOption> options, std::size_t most)
    : options_(std::move(options)) {
  if (options_.empty()) return;
  byNode_.resize(cluster.capacity());
  NodeSet wanting = cluster.live();  // nodes that do not have as many yet
  for (std::uint32_t option = 0; option < options_.size() && !wanting.empty(); ++option) {
    NodeSet usable = wanting;
    if (const auto& where = options_[option].where) narrow(cluster, *where, usable);
    usable.forEach([&](NodeId node) {
      byNode_[node].push_back(option);
      if (byNode_[node].size() >= most) wanting.erase(node);
    });
  }
}

std::optional<NodeSet> nodesBelowVolumeLimit(Cluster& cluster, const Store<api::CSIDriver>& drivers,
                                             const Store<api::CSIStorageCapacity>& capacities,
                                             const api::StorageClass& class_,
                                             const api::PersistentVolumeClaim& claim) {
  if (!claim.spec.resources.requests.contains("storage")) return std::nullopt;
  const auto driver = drivers.get({"", class_.provisioner});
  if (!driver || !driver->spec.storageCapacity) return std::nullopt;
  const std::int64_t wanted = requestedStorage(claim).value();
  NodeSet roomy;
  for (const auto& [key, capacity] : capacities.all()) {
    if (capacity->storageClassName != class_.metadata.name || !capacity->nodeTopology) continue;
    const auto& limit =
        capacity->maximumVolumeSize ? capacity->maximumVolumeSize : capacity->capacity;
    if (!limit || limit->value() < wanted) continue;
    const auto where = api::Selector::compile(*capacity->nodeTopology);
    if (!where) continue;
    NodeSet nodes = cluster.live();
    narrow(cluster, *where, nodes);
    roomy.unite(nodes);
  }
  return roomy;
}

}  // namespace koord::scheduler
