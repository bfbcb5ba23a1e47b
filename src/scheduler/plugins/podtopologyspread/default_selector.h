#pragma once

// Which pods a pod without spread constraints of its own is spread among: those that the Services
// selecting it and the object owning it select.

#include <map>

#include "api/selector.h"
#include "scheduler/framework/handle.h"

namespace koord::scheduler {

class PodSpreadDefaults {
 public:
  // Follows the stores, which must not outlive it.
  explicit PodSpreadDefaults(Stores& stores);
  // Empty when nothing selects or owns the pod.
  api::Selector selectorFor(const api::Pod& pod) const;

 private:
  using Services = std::map<std::string, api::StringMap>;  // selectors by name

  const Store<api::ReplicationControllerSelection>& replicationControllers_;
  const Store<api::ReplicaSetSelection>& replicaSets_;
  const Store<api::StatefulSetSelection>& statefulSets_;
  std::unordered_map<std::string, Services> services_;  // by namespace
};

// Those of the cluster, which all profiles share.
inline const PodSpreadDefaults& podSpreadDefaultsOf(Handle& handle) {
  return handle.shared().of<PodSpreadDefaults>(
      [&] { return std::make_unique<PodSpreadDefaults>(handle.stores()); });
}

}  // namespace koord::scheduler
