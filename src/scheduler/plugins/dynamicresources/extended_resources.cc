// The requests are named "container-I-request-R": I counts init containers and containers, R the
// resources of the container by name.
//
// Containers that run to the end of the pod (regular ones and sidecars) each need devices of their
// own. An init container that ends before they start uses those of later containers, and needs more
// only if it requests more. Of all such additional devices only the largest number is needed,
// because these containers run one after the other: one request serves all of them.

#include "scheduler/plugins/dynamicresources/extended_resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "scheduler/engine/resources.h"

namespace koord::scheduler {

namespace {

using Mapping = api::ContainerExtendedResourceRequest;

struct Part {
  std::optional<api::DeviceRequest> request;
  std::vector<Mapping> mappings;
};

// What one container needs of a resource beyond the requests that it may use again.
Part partOf(std::size_t index, const api::Container& container, const std::string& resource,
            const std::string& class_,
            std::span<const std::optional<api::DeviceRequest>> reusable) {
  Part part;
  const api::ResourceList& wanted = container.resources.requests;
  const auto it = wanted.find(resource);
  const auto amount = it == wanted.end() ? std::nullopt : it->second.asInt64();
  if (!amount || *amount == 0) return part;
  const auto use = [&](const std::string& request) {
    Mapping mapping;
    mapping.containerName = container.name;
    mapping.resourceName = resource;
    mapping.requestName = request;
    part.mappings.push_back(std::move(mapping));
  };
  std::int64_t had = 0;
  for (const auto& request : reusable) {
    if (!request) continue;
    had += request->exactly->count;
    use(request->name);
    if (had >= *amount) return part;
  }
  api::DeviceRequest request;
  request.name = fmt::format("container-{}-request-{}", index, it - wanted.begin());
  api::ExactDeviceRequest exactly;
  exactly.deviceClassName = class_;
  exactly.allocationMode = "ExactCount";
  exactly.count = *amount - had;
  request.exactly = std::move(exactly);
  use(request.name);
  part.request = std::move(request);
  return part;
}

void addResource(std::span<const api::Container* const> containers, std::size_t initContainers,
                 const std::string& resource, const std::string& class_, ExtendedRequests& out) {
  const auto ends = [&](std::size_t i) {
    return i < initContainers && std::string_view(containers[i]->restartPolicy) != "Always";
  };
  std::vector<std::optional<api::DeviceRequest>> lasting(containers.size());
  std::vector<Mapping> shortMappings;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    if (ends(i)) continue;
    Part part = partOf(i, *containers[i], resource, class_, {});
    lasting[i] = std::move(part.request);
    for (Mapping& mapping : part.mappings) out.mappings.push_back(std::move(mapping));
  }
  std::optional<api::DeviceRequest> largest;
  std::set<std::string> additional;
  for (std::size_t i = 0; i < initContainers; ++i) {
    if (!ends(i)) continue;
    Part part = partOf(i, *containers[i], resource, class_, std::span(lasting).subspan(i));
    if (part.request) {
      additional.insert(part.request->name);
      if (!largest || largest->exactly->count < part.request->exactly->count)
        largest = part.request;
    }
    for (Mapping& mapping : part.mappings) shortMappings.push_back(std::move(mapping));
  }
  for (Mapping& mapping : shortMappings) {
    if (additional.contains(mapping.requestName)) mapping.requestName = largest->name;
    out.mappings.push_back(std::move(mapping));
  }
  if (largest) out.requests.push_back(*largest);
  for (auto& request : lasting)
    if (request) out.requests.push_back(*std::move(request));
}

}  // namespace

bool mayBeBackedByDevices(std::string_view resource) {
  return resource.starts_with(api::kDeviceClassResourcePrefix) || isExtendedResource(resource);
}

void ExtendedResourceClasses::add(const ClassPtr& class_) {
  byResource_[std::string(api::kDeviceClassResourcePrefix) + class_->metadata.name] = class_;
  // The server refuses other names, which are resources of the kubelet or of another class.
  const std::string& resource = class_->spec.extendedResourceName;
  if (!isExtendedResource(resource)) return;
  ClassPtr& slot = byResource_[resource];
  const auto isPreferred = [](const api::ObjectMeta& a, const api::ObjectMeta& b) {
    return a.creationTimestamp != b.creationTimestamp ? a.creationTimestamp > b.creationTimestamp
                                                      : a.name < b.name;
  };
  if (!slot || isPreferred(class_->metadata, slot->metadata)) slot = class_;
}

const api::DeviceClass* ExtendedResourceClasses::of(std::string_view resource) const {
  const auto it = byResource_.find(resource);
  return it == byResource_.end() ? nullptr : it->second.get();
}

ExtendedRequests extendedRequestsOf(const api::Pod& pod,
                                    const std::map<std::string, std::string>& classes) {
  std::vector<const api::Container*> containers;
  for (const auto* list : {&pod.spec.initContainers, &pod.spec.containers})
    for (const api::Container& container : *list) containers.push_back(&container);
  ExtendedRequests out;
  for (const auto& [resource, class_] : classes)
    addResource(containers, pod.spec.initContainers.size(), resource, class_, out);
  std::sort(out.requests.begin(), out.requests.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

}  // namespace koord::scheduler
