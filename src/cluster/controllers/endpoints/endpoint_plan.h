#pragma once

// The endpoints of a service as pure functions: from the pods to EndpointSlices and to the older
// Endpoints object. Rules: endpoint slice and endpoints controllers of kube-controller-manager.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/pod.h"
#include "cluster/services/objects/objects.h"

namespace koord::cluster {

// Endpoints by their ports: pods may resolve a named target port to different numbers.
using EndpointGroups =
    std::map<std::vector<services::EndpointPort>, std::vector<services::Endpoint>>;

// `hostnames`: the names of pods of a headless service, by pod name; others have none.
EndpointGroups endpointGroups(const services::Service& service,
                              const std::vector<std::shared_ptr<const api::Pod>>& pods,
                              const std::map<std::string, std::string>& hostnames);
// The groups of an Endpoints object that a user wrote for a service without a selector: of its
// addresses of one type, IPv4 or IPv6.
EndpointGroups endpointGroups(const services::Endpoints& endpoints, const std::string& addressType);

struct SlicePlan {
  std::vector<services::EndpointSlice> create;  // without metadata but the name
  std::vector<services::EndpointSlice> update;  // with the endpoints that they shall have
  std::vector<services::EndpointSlice> remove;
};
// At most 100 endpoints are in a slice. Endpoints stay in their slice, so that a change of one pod
// changes one slice. A service without endpoints has one empty slice, if it selects pods.
struct SliceKind {
  std::string addressType = "IPv4";  // existing slices of another one are ignored
  bool emptyOne = true;
  // Names are made from numbers that begin here. Slices of a service that are planned apart need
  // different numbers: otherwise a new slice has the name of an existing one.
  std::uint64_t firstName = 0;
};
SlicePlan planSlices(const services::Service& service, const EndpointGroups& groups,
                     const std::vector<std::shared_ptr<const services::EndpointSlice>>& existing,
                     const SliceKind& kind = {});

// At most 1,000 addresses, ready ones first; `truncated` says that there were more.
struct SubsetPlan {
  api::List<services::EndpointSubset> subsets;
  bool truncated = false;
};
SubsetPlan planSubsets(const services::Service& service, const EndpointGroups& groups);

}  // namespace koord::cluster
