#pragma once

// The annotation node.koordinator.sh/extended-resource-spec: the batch resources of a pod's
// containers, repeated where the node's container runtime can see them. In full it has mid
// resources, init containers and overhead, too; who does not know these keys reads the others.

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

// What the containers ask for; those without such resources are left out.
ExtendedResourceSpec extendedResourcesOf(
    const api::PodSpec& spec, ExtendedResources extent = ExtendedResources::BatchOfContainers);

// Of the annotation; nothing when the pod has none. A text that cannot be read is an error.
Result<std::optional<ExtendedResourceSpec>> readExtendedResourceSpec(
    const api::StringMap& annotations);
std::string toAnnotation(const ExtendedResourceSpec& spec);

}  // namespace koord::model
