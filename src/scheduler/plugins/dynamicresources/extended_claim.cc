#include "scheduler/plugins/dynamicresources/extended_claim.h"

#include <algorithm>

namespace koord::scheduler {

namespace {

constexpr std::string_view kNameInMemory = "<extended-resources>";

}  // namespace

std::vector<BackedResource> withoutPluginOn(const Cluster& cluster, NodeId node,
                                            const std::vector<BackedResource>& backed) {
  std::vector<BackedResource> lacking;
  for (const BackedResource& resource : backed)
    if (Cluster::columnAt(cluster.allocatable(resource.id), node) == 0) lacking.push_back(resource);
  return lacking;
}

ExtendedClaim makeExtendedClaim(const Cluster& cluster, const api::Pod& pod,
                                const std::vector<BackedResource>& backed, std::string uid) {
  std::map<std::string, std::string> classes;
  for (const BackedResource& resource : backed)
    classes[cluster.resources().name(resource.id)] = resource.class_;
  ExtendedRequests wanted = extendedRequestsOf(pod, classes);
  api::ResourceClaim claim;
  claim.metadata.name = kNameInMemory;
  claim.metadata.generateName = pod.metadata.name + "-extended-resources-";
  claim.metadata.namespace_ = pod.metadata.namespace_;
  claim.metadata.uid = std::move(uid);
  claim.metadata.annotations[std::string(api::kExtendedResourceClaimAnnotation)] = "true";
  claim.metadata.ownerReferences.push_back(
      {"v1", "Pod", pod.metadata.name, pod.metadata.uid, true, false});
  claim.spec.devices.requests = std::move(wanted.requests);
  return {std::make_shared<const api::ResourceClaim>(std::move(claim)), std::move(wanted.mappings)};
}

bool isInMemory(const api::ResourceClaim& claim) {
  return claim.metadata.name == kNameInMemory;
}

api::ResourceClaim createdFrom(const api::ResourceClaim& inMemory) {
  api::ResourceClaim claim = inMemory;
  claim.metadata.name.clear();
  claim.metadata.uid.clear();
  // Allocated soon: one write less than adding it then.
  claim.metadata.finalizers.push_back(std::string(api::kClaimFinalizer));
  return claim;
}

std::string extendedOwnerOf(const api::ResourceClaim& claim) {
  const std::string* annotation =
      api::findIn(claim.metadata.annotations, api::kExtendedResourceClaimAnnotation);
  if (!annotation || *annotation != "true") return {};
  const api::OwnerReference* owner = api::controllerOf(claim.metadata);
  return owner && owner->kind == "Pod" ? owner->uid : std::string();
}

}  // namespace koord::scheduler
