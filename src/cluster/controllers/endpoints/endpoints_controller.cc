#include "cluster/controllers/endpoints/endpoints_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/selector.h"
#include "cluster/controllers/ownership.h"
#include "cluster/controllers/pod_control.h"
#include "kube/client.h"

namespace koord::cluster {

namespace {

constexpr const char* kSliceManager = "endpointslice-controller.k8s.io";
constexpr const char* kMirrorManager = "endpointslicemirroring-controller.k8s.io";
constexpr const char* kEndpointsManagedBy = "endpoints.kubernetes.io/managed-by";
constexpr const char* kOverCapacity = "endpoints.kubernetes.io/over-capacity";
constexpr const char* kLeader = "control-plane.alpha.kubernetes.io/leader";

// Slices of pods have the names before.
const SliceKind kMirroredIpv4{"IPv4", false, 1'000'000};
const SliceKind kMirroredIpv6{"IPv6", false, 2'000'000};

bool hasSelector(const services::Service& service) {
  return service.spec.selector && !service.spec.selector->empty() &&
         service.spec.type != "ExternalName";
}

std::string labelOf(const api::ObjectMeta& meta, std::string_view name) {
  const auto* value = api::findIn(meta.labels, name);
  return value ? *value : std::string();
}

// Returns true if services see the pod as before.
bool looksTheSame(const api::Pod& a, const api::Pod& b) {
  return a.metadata.labels == b.metadata.labels && a.status.phase == b.status.phase &&
         a.status.podIP == b.status.podIP && isReady(a) == isReady(b) &&
         bool(a.metadata.deletionTimestamp) == bool(b.metadata.deletionTimestamp) &&
         a.spec.nodeName == b.spec.nodeName;
}

// The labels of the service, and those that say what an object of its endpoints is.
json::object labelsFor(const services::Service& service) {
  json::object labels;
  for (const auto& [key, value] : service.metadata.labels) labels[key] = value;
  labels.erase(services::kHeadlessLabel);
  if (services::isHeadless(service)) labels[services::kHeadlessLabel] = "";
  return labels;
}

// Endpoints that elect a leader change every two seconds.
bool isMirrored(const services::Endpoints& endpoints) {
  return labelOf(endpoints.metadata, services::kSkipMirrorLabel) != "true" &&
         !api::findIn(endpoints.metadata.annotations, kLeader);
}

void addPlan(SlicePlan& plan, SlicePlan more) {
  for (auto list : {&SlicePlan::create, &SlicePlan::update, &SlicePlan::remove})
    std::ranges::move(more.*list, std::back_inserter(plan.*list));
}

bool labelsDiffer(const api::StringMap& have, const json::object& want) {
  if (have.size() != want.size()) return true;
  return std::ranges::any_of(want, [&](const auto& member) {
    const auto* value = api::findIn(have, std::string_view(member.key()));
    return !value || *value != std::string_view(member.value().get_string());
  });
}

// A merge patch that removes the labels which are not wanted.
json::object labelPatch(const api::StringMap& have, json::object want) {
  for (const auto& [key, value] : have)
    if (!want.contains(key)) want[key] = nullptr;
  return want;
}

json::value memberOr(json::value document, const char* name) {
  auto* found = find(document, name);
  return found ? std::move(*found) : json::value(json::array());
}

}  // namespace

EndpointsController::EndpointsController(kube::Api& api, Executor& executor,
                                         kube::Informer<api::Pod>& pods, Random random)
    : api_(api),
      pods_(pods),
      services_(api, executor, {}, random.fork()),
      slices_(api, executor, {}, random.fork()),
      endpoints_(api, executor, {}, random.fork()),
      queue_(executor, "endpoints", [this](std::string key) { return sync(std::move(key)); }) {
  const auto seen = [this](const ServicePtr& service) {
    const auto& meta = service->metadata;
    if (hasSelector(*service))
      byNamespace_[meta.namespace_].insert(meta.name);
    else
      byNamespace_[meta.namespace_].erase(meta.name);
    queue_.add(api::keyOf(meta).toString());
  };
  services_.addHandler({seen, [seen](const auto&, const ServicePtr& now) { seen(now); },
                        [this](const ServicePtr& last) {
                          byNamespace_[last->metadata.namespace_].erase(last->metadata.name);
                          queue_.add(api::keyOf(last->metadata).toString());
                        }});
  pods_.addHandler({[this](const PodPtr& pod) { podChanged(pod); },
                    [this](const PodPtr& before, const PodPtr& pod) {
                      if (looksTheSame(*before, *pod)) return;
                      if (before->metadata.labels != pod->metadata.labels) podChanged(before);
                      podChanged(pod);
                    },
                    [this](const PodPtr& pod) { podChanged(pod); }});
  const auto serviceOf = [](const services::EndpointSlice& slice) {
    return slice.metadata.namespace_ + "/" + labelOf(slice.metadata, services::kServiceNameLabel);
  };
  slices_.addHandler({[this, serviceOf](const SlicePtr& slice) {
                        sliceNames_[serviceOf(*slice)].insert(slice->metadata.name);
                      },
                      [this, serviceOf](const SlicePtr& before, const SlicePtr& slice) {
                        sliceNames_[serviceOf(*before)].erase(before->metadata.name);
                        sliceNames_[serviceOf(*slice)].insert(slice->metadata.name);
                        queue_.add(serviceOf(*slice));
                      },
                      [this, serviceOf](const SlicePtr& slice) {
                        const auto names = sliceNames_.find(serviceOf(*slice));
                        names->second.erase(slice->metadata.name);
                        if (names->second.empty()) sliceNames_.erase(names);
                        queue_.add(serviceOf(*slice));
                      }});
  const auto written = [this](const auto& endpoints) {
    queue_.add(api::keyOf(endpoints->metadata).toString());
  };
  endpoints_.addHandler(
      {written, [written](const auto&, const auto& now) { written(now); }, written});
}

void EndpointsController::startInformers() {
  services_.start();
  slices_.start();
  endpoints_.start();
}

void EndpointsController::onSynced(std::function<void()> fn) {
  services_.onSynced(
      [this, fn = std::move(fn)] { slices_.onSynced([this, fn] { endpoints_.onSynced(fn); }); });
}

void EndpointsController::podChanged(const PodPtr& pod) {
  const auto names = byNamespace_.find(pod->metadata.namespace_);
  if (names == byNamespace_.end()) return;
  for (const auto& name : names->second) {
    const auto service = services_.get({pod->metadata.namespace_, name});
    if (service && hasSelector(*service) &&
        api::Selector::ofLabels(*service->spec.selector).matches(pod->metadata.labels))
      queue_.add(pod->metadata.namespace_ + "/" + name);
  }
}

Task<Result<>> EndpointsController::sync(std::string key) {
  const ServicePtr service = services_.get(keyOfText(key));
  if (!service) {
    // Slices have the service as their owner, so they are collected.
    auto removing = removeEndpoints(keyOfText(key));
    co_return co_await removing;
  }
  auto syncing = hasSelector(*service) ? syncSelected(service) : mirror(service);
  co_return co_await syncing;
}

Task<Result<>> EndpointsController::syncSelected(ServicePtr service) {
  auto asking = hostnamesOf(service);
  auto hostnames = co_await asking;
  if (!hostnames) co_return fail(std::move(hostnames.error()));
  const auto selector = api::Selector::ofLabels(*service->spec.selector);
  std::vector<PodPtr> selected;
  for (const auto& pod : pods_.objects())
    if (pod->metadata.namespace_ == service->metadata.namespace_ &&
        selector.matches(pod->metadata.labels))
      selected.push_back(pod);
  std::ranges::sort(selected, {}, [](const PodPtr& pod) { return pod->metadata.name; });
  auto groups = endpointGroups(*service, selected, *hostnames);
  auto plan = planSlices(*service, groups, slicesOf(*service, kSliceManager));
  auto slicing = writeSlices(service, kSliceManager, std::move(plan), labelsFor(*service));
  auto sliced = co_await slicing;
  if (!sliced) co_return sliced;
  // Of the time when it had no selector.
  auto removing = removeSlices(slicesOf(*service, kMirrorManager));
  auto removed = co_await removing;
  if (!removed) co_return removed;
  auto writing = writeEndpoints(service, std::move(groups));
  co_return co_await writing;
}

// Of a user's Endpoints; Endpoints that this controller wrote before the selector was removed
// become the user's, as upstream.
Task<Result<>> EndpointsController::mirror(ServicePtr service) {
  const auto endpoints = endpoints_.get(api::keyOf(service->metadata));
  const bool mirrored = endpoints && service->spec.type != "ExternalName" && isMirrored(*endpoints);
  if (mirrored) {
    const auto existing = slicesOf(*service, kMirrorManager);
    SlicePlan plan;
    for (const auto& kind : {kMirroredIpv4, kMirroredIpv6})
      addPlan(plan,
              planSlices(*service, endpointGroups(*endpoints, kind.addressType), existing, kind));
    json::object labels;
    for (const auto& [key, value] : endpoints->metadata.labels) labels[key] = value;
    auto slicing = writeSlices(service, kMirrorManager, std::move(plan), std::move(labels));
    auto sliced = co_await slicing;
    if (!sliced) co_return sliced;
  }
  std::vector<SlicePtr> stale = slicesOf(*service, kSliceManager);
  if (!mirrored)
    for (auto& slice : slicesOf(*service, kMirrorManager)) stale.push_back(std::move(slice));
  auto removing = removeSlices(std::move(stale));
  co_return co_await removing;
}

Task<Result<>> EndpointsController::removeSlices(std::vector<SlicePtr> slices) {
  for (const auto& slice : slices) {
    auto deleting =
        kube::deleteObject(api_, services::EndpointSlice::kType, api::keyOf(slice->metadata));
    auto deleted = co_await deleting;
    if (!deleted && deleted.error().code != ErrorCode::NotFound) co_return deleted;
  }
  co_return Result<>{};
}

Task<Result<>> EndpointsController::removeEndpoints(api::ObjectKey key) {
  const auto endpoints = endpoints_.get(key);
  if (!endpoints || labelOf(endpoints->metadata, kEndpointsManagedBy).empty()) co_return Result<>{};
  kube::DeleteOptions options;
  options.uid = endpoints->metadata.uid;
  auto deleting =
      kube::deleteObject(api_, services::Endpoints::kType, std::move(key), std::move(options));
  auto deleted = co_await deleting;
  if (!deleted && deleted.error().code != ErrorCode::NotFound &&
      deleted.error().code != ErrorCode::Conflict)
    co_return deleted;
  co_return Result<>{};
}

std::vector<EndpointsController::SlicePtr> EndpointsController::slicesOf(
    const services::Service& service, std::string_view manager) const {
  std::vector<SlicePtr> found;
  const auto names = sliceNames_.find(api::keyOf(service.metadata).toString());
  if (names == sliceNames_.end()) return found;
  for (const auto& name : names->second) {
    auto slice = slices_.get({service.metadata.namespace_, name});
    if (slice && labelOf(slice->metadata, services::kManagedByLabel) == manager)
      found.push_back(std::move(slice));
  }
  return found;
}

// Pods of a headless service have names in DNS by spec.hostname and spec.subdomain.
Task<Result<std::map<std::string, std::string>>> EndpointsController::hostnamesOf(
    ServicePtr service) {
  std::map<std::string, std::string> hostnames;
  if (!services::isHeadless(*service)) co_return hostnames;
  auto listing =
      kube::list<services::PodName>(api_, service->metadata.namespace_,
                                    api::Selector::ofLabels(*service->spec.selector).toString());
  auto listed = co_await listing;
  if (!listed) co_return fail(std::move(listed.error()));
  for (const auto& pod : listed->items)
    if (!pod.spec.hostname.empty() && pod.spec.subdomain == service->metadata.name)
      hostnames[pod.metadata.name] = pod.spec.hostname;
  co_return hostnames;
}

// `labels`: those of the service or its Endpoints, to which the labels of slices are added.
Task<Result<>> EndpointsController::writeSlices(ServicePtr service, const char* manager,
                                                SlicePlan plan, json::object labels) {
  const auto existing = slicesOf(*service, manager);
  labels[services::kServiceNameLabel] = service->metadata.name;
  labels[services::kManagedByLabel] = manager;
  const std::string& namespace_ = service->metadata.namespace_;
  // Slices that keep their endpoints, but not their labels.
  for (const auto& slice : existing) {
    const auto touched = [&](const auto& list) {
      return std::ranges::any_of(
          list, [&](const auto& other) { return other.metadata.name == slice->metadata.name; });
    };
    if (labelsDiffer(slice->metadata.labels, labels) && !touched(plan.update) &&
        !touched(plan.remove))
      plan.update.push_back(*slice);
  }
  for (auto& slice : plan.create) {
    json::value object = api::encodeObject(slice);
    auto& members = object.get_object();
    if (!members.contains("endpoints")) members["endpoints"] = json::array();
    members["metadata"] = json::object{
        {"name", slice.metadata.name},
        {"namespace", namespace_},
        {"labels", labels},
        {"ownerReferences", controlledBy({services::Service::kType, service->metadata})}};
    auto creating = kube::createObject(api_, services::EndpointSlice::kType, {namespace_, ""},
                                       std::move(object));
    auto created = co_await creating;
    if (!created) co_return fail(std::move(created.error()));
  }
  for (const auto& slice : plan.update) {
    json::value patch = json::object{
        {"metadata",
         {{"uid", slice.metadata.uid}, {"labels", labelPatch(slice.metadata.labels, labels)}}},
        {"endpoints", memberOr(api::encode(slice), "endpoints")}};
    auto patching = kube::mergePatch(api_, services::EndpointSlice::kType,
                                     {namespace_, slice.metadata.name}, std::move(patch));
    auto patched = co_await patching;
    if (!patched) co_return fail(std::move(patched.error()));
  }
  for (const auto& slice : plan.remove) {
    auto deleting =
        kube::deleteObject(api_, services::EndpointSlice::kType, api::keyOf(slice.metadata));
    auto deleted = co_await deleting;
    if (!deleted && deleted.error().code != ErrorCode::NotFound) co_return deleted;
  }
  co_return Result<>{};
}

Task<Result<>> EndpointsController::writeEndpoints(ServicePtr service, EndpointGroups groups) {
  auto plan = planSubsets(*service, groups);
  const api::ObjectKey key = api::keyOf(service->metadata);
  const auto existing = endpoints_.get(key);
  json::object labels = labelsFor(*service);
  labels[kEndpointsManagedBy] = "endpoint-controller";
  const bool saysTruncated = existing && api::findIn(existing->metadata.annotations, kOverCapacity);
  if (existing && existing->subsets == plan.subsets &&
      !labelsDiffer(existing->metadata.labels, labels) && saysTruncated == plan.truncated)
    co_return Result<>{};
  services::Endpoints wanted;
  wanted.subsets = std::move(plan.subsets);
  json::value subsets = memberOr(api::encode(wanted), "subsets");
  json::object annotations;
  if (plan.truncated || saysTruncated)
    annotations[kOverCapacity] = plan.truncated ? json::value("truncated") : json::value();
  if (!existing) {
    json::object metadata{{"name", key.name}, {"namespace", key.namespace_}, {"labels", labels}};
    if (!annotations.empty()) metadata["annotations"] = annotations;
    json::value object = json::object{{"apiVersion", "v1"},
                                      {"kind", "Endpoints"},
                                      {"metadata", std::move(metadata)},
                                      {"subsets", std::move(subsets)}};
    auto creating = kube::createObject(api_, services::Endpoints::kType, {key.namespace_, ""},
                                       std::move(object));
    auto created = co_await creating;
    if (!created) co_return fail(std::move(created.error()));
    co_return Result<>{};
  }
  json::object metadata{{"uid", existing->metadata.uid},
                        {"labels", labelPatch(existing->metadata.labels, labels)}};
  if (!annotations.empty()) metadata["annotations"] = annotations;
  json::value patch =
      json::object{{"metadata", std::move(metadata)}, {"subsets", std::move(subsets)}};
  auto patching = kube::mergePatch(api_, services::Endpoints::kType, key, std::move(patch));
  auto patched = co_await patching;
  if (!patched) co_return fail(std::move(patched.error()));
  co_return Result<>{};
}

}  // namespace koord::cluster
