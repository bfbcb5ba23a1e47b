#include "scheduler/plugins/coscheduling/network_topology.h"

#include "scheduler/framework/store_feed.h"

namespace koord::scheduler {

template std::unique_ptr<StoreFeed> makeStoreFeed(Store<api::ClusterNetworkTopology>&, kube::Api&,
                                                  Executor&, Random);

std::string_view networkSelectorOf(const PodInfo& pod) {
  const std::string* selector =
      api::findIn(pod.pod->metadata.annotations, kAnnotationNetworkTopologySelector);
  return selector ? std::string_view(*selector) : std::string_view();
}

NetworkTopology::NetworkTopology(Handle& handle)
    : handle_(handle), objects_(handle.stores().of<api::ClusterNetworkTopology>()) {
  Cluster& cluster = handle.cluster();
  cluster.watchPodAnnotation(std::string(kAnnotationNetworkTopologySelector));
  for (const Cluster::PodRecord& record : cluster.pods()) count(record.node, *record.info, 1);
  cluster.addListener(*this);
}

NetworkTopology& networkTopologyOf(Handle& handle) {
  return handle.shared().of<NetworkTopology>(
      [&] { return std::make_unique<NetworkTopology>(handle); });
}

std::shared_ptr<const api::ClusterNetworkTopology> NetworkTopology::object() const {
  return objects_.get({"", "default"});
}

void NetworkTopology::refresh() {
  const Cluster& cluster = handle_.cluster();
  const auto now = object();
  if (now == read_ && places_ == cluster.placesVersion()) return;
  read_ = now;
  places_ = cluster.placesVersion();
  tree_ = nullptr;
  problem_.clear();
  if (!now) return;
  auto layers = layersOf(now->spec);
  if (!layers) {
    problem_ = layers.error().message;
    return;
  }
  auto tree = std::make_shared<NetworkTree>(*std::move(layers));
  cluster.live().forEach([&](NodeId node) {
    const NodeRow& row = cluster.node(node);
    tree->add(node, row.name, row.object->metadata.labels);
  });
  tree_ = std::move(tree);
}

std::shared_ptr<const NetworkTree> NetworkTopology::tree() {
  refresh();
  return tree_;
}

std::string NetworkTopology::problem() {
  refresh();
  return problem_;
}

void NetworkTopology::count(NodeId node, const PodInfo& pod, std::int64_t change) {
  if (pod.pod->metadata.annotations.empty()) return;  // true for nearly every pod
  const std::string_view selector = networkSelectorOf(pod);
  if (selector.empty()) return;
  auto entry = existing_.find(selector);
  if (entry == existing_.end()) entry = existing_.emplace(std::string(selector), 0).first;
  if ((entry->second[node] += change) == 0) entry->second.erase(node);
  if (entry->second.empty()) existing_.erase(entry);
}

void NetworkTopology::countExisting(const std::string& selector,
                                    std::vector<NetworkOffer>& offers) const {
  const auto entry = existing_.find(selector);
  if (entry == existing_.end()) return;
  for (const auto& [node, pods] : entry->second) {
    if (node >= offers.size()) offers.resize(node + 1);
    offers[node].existing = pods;
  }
}

}  // namespace koord::scheduler
