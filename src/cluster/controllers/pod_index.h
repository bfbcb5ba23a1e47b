#pragma once

// An index of pods by a value computed from the pod, such as its node, so that users need not scan
// all pods of the cluster. O(log pods of one value) per event, some hundred bytes per pod.

#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/pod.h"
#include "kube/informer.h"

namespace koord::cluster {

class PodIndex {
 public:
  using Pod = std::shared_ptr<const api::Pod>;
  using ValueOf = const std::string& (*)(const api::Pod& pod);

  // Pods with an empty value are left out. Handlers that are added to the informer after this find
  // the index up to date.
  PodIndex(kube::Informer<api::Pod>& pods, ValueOf valueOf);
  PodIndex(const PodIndex&) = delete;

  std::vector<Pod> of(const std::string& value) const;

 private:
  void file(const api::Pod& pod);
  void removeFromIndex(const api::Pod& pod);

  kube::Informer<api::Pod>& pods_;
  ValueOf valueOf_;
  std::unordered_map<std::string, std::set<api::ObjectKey>> keys_;
};

const std::string& nodeOfPod(const api::Pod& pod);
const std::string& namespaceOfPod(const api::Pod& pod);

}  // namespace koord::cluster
