#pragma once

// The objects that a node's pods refer to and its kubelet needs: secrets, ConfigMaps, claims and
// service accounts, ResourceClaims, and through claims also volumes and their secrets.
//
// Upstream keeps a graph of all references of all pods. This graph keeps only the pods of each
// node, by key. It reads the references of a pod from the store when a kubelet first requests an
// object in the pod's namespace, and caches them until the pod is deleted (a pod's references never
// change, except that generated ResourceClaims are added). So a write of a pod costs one look-up,
// and none while the pod has no node; a decision costs a walk over the pods of one node.
//
// On the store's executor.

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "apiserver/registry/registry.h"
#include "apiserver/store/store.h"

namespace koord::apiserver {

class NodeGraph {
 public:
  NodeGraph(Store& store, const Registry& registry);  // which must outlive it
  NodeGraph(const NodeGraph&) = delete;
  NodeGraph& operator=(const NodeGraph&) = delete;

  bool hasPod(std::string_view node, std::string_view namespace_, std::string_view pod) const;
  bool needsSecret(std::string_view node, std::string_view namespace_, std::string_view name);
  bool needsConfigMap(std::string_view node, std::string_view namespace_, std::string_view name);
  bool needsClaim(std::string_view node, std::string_view namespace_, std::string_view name);
  bool needsResourceClaim(std::string_view node, std::string_view namespace_,
                          std::string_view name);
  bool hasSlice(std::string_view node, std::string_view name) const;
  bool needsVolume(std::string_view node, std::string_view name);
  bool usesAccount(std::string_view node, std::string_view namespace_, std::string_view name);
  bool hasAttachment(std::string_view node, std::string_view name) const;

 private:
  using Names = std::set<std::string, std::less<>>;
  struct References {
    Names secrets, configMaps, claims, resourceClaims;  // of the pod's namespace
    std::string account;
    bool generatesClaims = false;  // ResourceClaims, of which the status may not tell yet
  };
  using Keys = std::set<std::string, std::less<>>;

  void podChanged(const Event& event);
  const References& referencesOf(const std::string& podKey);
  static References readReferences(const json::value& pod);
  // The keys of a node's pods in a namespace; in all namespaces for "".
  std::pair<Keys::const_iterator, Keys::const_iterator> podsOf(std::string_view node,
                                                               std::string_view namespace_) const;
  template <class Predicate>
  bool anyPod(std::string_view node, std::string_view namespace_, const Predicate& predicate);
  json::value objectAt(const char* table, std::string_view key) const;  // null if there is none

  Store& store_;
  Table& pods_;
  std::size_t nodeField_ = 0;  // of a pod's entry
  std::map<std::string, Keys, std::less<>> byNode_;
  std::unordered_map<std::string, References> known_;  // by pod key
};

}  // namespace koord::apiserver
