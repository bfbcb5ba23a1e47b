#pragma once

// The claim that the scheduler creates for the extended resources of a pod that devices back. Until
// PreBind creates it, the claim exists in memory only, with a name that is invalid in the API. Its
// requests depend on the node: a node with a device plugin for a resource needs no devices for it.

#include "scheduler/engine/cluster.h"
#include "scheduler/plugins/dynamicresources/allocator/plan.h"
#include "scheduler/plugins/dynamicresources/extended_resources.h"

namespace koord::scheduler {

// A resource that the pod requests and a class backs.
struct BackedResource {
  ResourceId id = 0;
  std::string class_;
};
// The resources of the list for which the node has no device plugin. `node` must exist.
std::vector<BackedResource> withoutPluginOn(const Cluster& cluster, NodeId node,
                                            const std::vector<BackedResource>& backed);

struct ExtendedClaim {
  std::shared_ptr<const api::ResourceClaim> claim;
  api::List<api::ContainerExtendedResourceRequest> mappings;
};
// The claim for these resources of the pod, in memory.
ExtendedClaim makeExtendedClaim(const Cluster& cluster, const api::Pod& pod,
                                const std::vector<BackedResource>& backed, std::string uid);
bool isInMemory(const api::ResourceClaim& claim);
// The object to send to the API server, which chooses the name.
api::ResourceClaim createdFrom(const api::ResourceClaim& inMemory);

// The UID of the pod for whose extended resources a claim of the API was created; "" if the claim
// is another one.
std::string extendedOwnerOf(const api::ResourceClaim& claim);

}  // namespace koord::scheduler
