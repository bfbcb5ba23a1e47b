#pragma once

// The annotation node.koordinator.sh/extended-resource-spec: the batch resources of a pod's
// containers, repeated where the node's container runtime can see them.

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
  bool operator==(const ExtendedResourceSpec&) const = default;
};

// What the containers ask for; those without batch resources are left out.
ExtendedResourceSpec extendedResourcesOf(const api::PodSpec& spec);

// Of the annotation; nothing when the pod has none. A text that cannot be read is an error.
Result<std::optional<ExtendedResourceSpec>> readExtendedResourceSpec(
    const api::StringMap& annotations);
std::string toAnnotation(const ExtendedResourceSpec& spec);

}  // namespace koord::model
