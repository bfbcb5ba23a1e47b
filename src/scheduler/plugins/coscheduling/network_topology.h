#pragma once

// NetworkTopology: the cluster's network from the ClusterNetworkTopology "default" and the labels
// of nodes, and the pods that others want to be close to. All profiles share one NetworkTopology.
//
// The tree is rebuilt on demand if nodes, their labels or the object have changed. Pods with the
// annotation network-topology-selector are counted by node when they are added and removed, in
// simulations too.

#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "scheduler/framework/handle.h"
#include "scheduler/plugins/coscheduling/network/planner.h"

namespace koord::scheduler {

template <>
struct KindOf<api::ClusterNetworkTopology> {
  static constexpr ObjectKind value{
      .event = EventResource::Custom,
      .customResource = "clusternetworktopologies.v1alpha1.scheduling.koordinator.sh",
      .optional = true};
};

inline constexpr std::string_view kAnnotationNetworkTopologySelector =
    "scheduling.koordinator.sh/network-topology-selector";

class NetworkTopology final : private ClusterListener {
 public:
  explicit NetworkTopology(Handle& handle);
  NetworkTopology(const NetworkTopology&) = delete;
  NetworkTopology& operator=(const NetworkTopology&) = delete;

  // nullptr if the object does not exist or is invalid.
  std::shared_ptr<const NetworkTree> tree();
  std::shared_ptr<const api::ClusterNetworkTopology> object() const;
  // Why the object is invalid; "" if it is valid.
  std::string problem();

  // Sets the number of pods with that selector on each node.
  void countExisting(const std::string& selector, std::vector<NetworkOffer>& offers) const;

 private:
  void podAdded(NodeId node, const PodPtr& pod) override { count(node, *pod, 1); }
  void podRemoved(NodeId node, const PodPtr& pod) override { count(node, *pod, -1); }
  void nodeChanging(NodeId) override {}
  void nodeChanged(NodeId) override {}
  void count(NodeId node, const PodInfo& pod, std::int64_t change);
  void refresh();

  Handle& handle_;
  Store<api::ClusterNetworkTopology>& objects_;
  std::shared_ptr<const api::ClusterNetworkTopology> read_;  // what tree_ was built from
  std::optional<std::uint64_t> places_;                      // likewise, the version of the nodes
  std::shared_ptr<const NetworkTree> tree_;
  std::string problem_;
  std::map<std::string, boost::unordered_flat_map<NodeId, std::int64_t>, std::less<>> existing_;
};

NetworkTopology& networkTopologyOf(Handle& handle);

// The pod's selector; "" if it has none.
std::string_view networkSelectorOf(const PodInfo& pod);

}  // namespace koord::scheduler
