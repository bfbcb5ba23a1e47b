#pragma once

// Extended resources that devices back: a container requests "example.com/gpu: 2", a DeviceClass
// names that resource, and the node has no device plugin for it. The scheduler then creates one
// claim for all such requests of the pod. This file computes its requests; the pod's status says
// which container has which devices.

#include <map>
#include <string>

#include "api/resource_claims.h"

namespace koord::scheduler {

// Returns true if a class may back the resource: it has a domain that is not Kubernetes', or is the
// implicit resource of a class.
bool mayBeBackedByDevices(std::string_view resource);

// The class of each resource: by spec.extendedResourceName (of classes with the same one, the
// newest, then the first by name), and "deviceclass.resource.kubernetes.io/NAME" of every class.
class ExtendedResourceClasses {
 public:
  using ClassPtr = std::shared_ptr<const api::DeviceClass>;
  void add(const ClassPtr& class_);
  void clear() { byResource_.clear(); }
  bool empty() const { return byResource_.empty(); }
  // nullptr if there is none.
  const api::DeviceClass* of(std::string_view resource) const;

 private:
  std::map<std::string, ClassPtr, std::less<>> byResource_;
};

struct ExtendedRequests {
  api::List<api::DeviceRequest> requests;  // of the claim, by name
  api::List<api::ContainerExtendedResourceRequest> mappings;
};
// `classes` has the class of each resource that devices must provide. Containers that run one after
// the other (init containers) reuse devices of later containers.
ExtendedRequests extendedRequestsOf(const api::Pod& pod,
                                    const std::map<std::string, std::string>& classes);

}  // namespace koord::scheduler
