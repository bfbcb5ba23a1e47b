#pragma once

// The annotation node.koordinator.sh/extended-resource-spec: the batch resources of a pod's
// containers, repeated in a form that the node's container runtime can read. The full form also has
// mid resources, init containers and overhead; readers that do not know these keys ignore them.

#include <optional>
#include <string>

#include "api/pod.h"
#include "base/result.h"

namespace koord::model {

struct ExtendedResourceContainer {
  api::ResourceList limits;
  api::ResourceList requests;
  bool operator==(const ExtendedResourceContainer&) const = default;
};
struct ExtendedResourceSpec {
  api::Map<ExtendedResourceContainer> containers;
  api::Map<ExtendedResourceContainer> initContainers;
  api::ResourceList overhead;
  bool operator==(const ExtendedResourceSpec&) const = default;
};

enum class ExtendedResources { BatchOfContainers, InFull };

// The requests of the containers; omits containers without such resources.
ExtendedResourceSpec extendedResourcesOf(
    const api::PodSpec& spec, ExtendedResources extent = ExtendedResources::BatchOfContainers);

// Reads the annotation; nullopt if the pod has none, an error for an unreadable text.
Result<std::optional<ExtendedResourceSpec>> readExtendedResourceSpec(
    const api::StringMap& annotations);
std::string toAnnotation(const ExtendedResourceSpec& spec);

}  // namespace koord::model
