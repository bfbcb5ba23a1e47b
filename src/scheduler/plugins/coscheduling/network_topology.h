#pragma once

// NetworkTopology: the cluster's network as its ClusterNetworkTopology "default" and the labels of nodes
// say it, and the pods that others want to be near to. One for all profiles.
//
// The tree is made anew when somebody asks and nodes, their labels or the object have changed. Pods
// with the annotation network-topology-selector are counted by node as they come and go, what-if
// changes included.

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

  // nullptr: there is no such object, or it makes no sense.
  std::shared_ptr<const NetworkTree> tree();
  std::shared_ptr<const api::ClusterNetworkTopology> object() const;
  // What is wrong with it; "" when nothing is.
  std::string problem();

  // Sets how many pods with that selector each node has.
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
  std::shared_ptr<const api::ClusterNetworkTopology> read_;  // what tree_ was made of
  std::optional<std::uint64_t> places_;                      // likewise, the version of the nodes
  std::shared_ptr<const NetworkTree> tree_;
  std::string problem_;
  std::map<std::string, boost::unordered_flat_map<NodeId, std::int64_t>, std::less<>> existing_;
};

NetworkTopology& networkTopologyOf(Handle& handle);

// The pod's selector, "" when it has none.
std::string_view networkSelectorOf(const PodInfo& pod);

}  // namespace koord::scheduler
