#include "apiserver/quota/extended_usage.h"

#include "api/resource_claims.h"
#include "apiserver/objects/edit.h"
#include "apiserver/quota/usage.h"

namespace koord::apiserver {
namespace {

constexpr const char* kClaimTable = "resourceclaims.resource.k8s.io";
constexpr const char* kClassTable = "deviceclasses.resource.k8s.io";
constexpr const char* kPodTable = "pods";

std::optional<json::value> stored(Store& store, const char* table, const std::string& key) {
  const auto entry = store.table(table).find(key);
  auto object = entry ? parseJson(entry->text) : fail(ErrorCode::NotFound, "");
  return object ? std::optional(*std::move(object)) : std::nullopt;
}

// The pod that owns a claim for extended resources; nullptr if the claim is another one.
const json::value* podOwnerOf(const json::value& claim) {
  const auto* annotations = at(claim, "metadata", "annotations");
  if (!annotations || textAt(*annotations, api::kExtendedResourceClaimAnnotation) != "true")
    return nullptr;
  const auto* metadata = find(claim, "metadata");
  const auto* owners = metadata ? arrayAt(*metadata, "ownerReferences") : nullptr;
  if (!owners) return nullptr;
  for (const auto& owner : *owners)
    if (const auto* controls = find(owner, "controller");
        controls && controls->is_bool() && controls->get_bool())
      return textAt(owner, "kind") == "Pod" && textAt(owner, "apiVersion") == "v1" ? &owner
                                                                                   : nullptr;
  return nullptr;
}

// A pod that does not name its claim yet covers the first that was created for it.
bool isFirstOf(const json::value& claim, std::string_view uid, const std::string& namespace_,
               const json::value& pod, Store& store) {
  const auto order = [](const json::value& each) {
    return std::pair(textAt(each, "metadata", "creationTimestamp"),
                     textAt(each, "metadata", "name"));
  };
  bool first = true;
  forEachExtendedClaim(store, namespace_, textAt(pod, "metadata", "name"),
                       [&](const std::string&, const json::value& other) {
                         first &= textAt(*podOwnerOf(other), "uid") != uid ||
                                  order(other) >= order(claim);
                       });
  return first;
}

// What the pod of a claim for extended resources is charged for.
api::ResourceList podUsageOf(const json::value& claim, Store& store, const Registry& registry,
                             WallTime now) {
  const auto* owner = podOwnerOf(claim);
  if (!owner) return {};
  const std::string namespace_(textAt(claim, "metadata", "namespace"));
  const auto pod = stored(store, kPodTable, makeKey(namespace_, textAt(*owner, "name")));
  const auto uid = textAt(*owner, "uid");
  if (!pod || textAt(*pod, "metadata", "uid") != uid) return {};
  const auto* status = at(*pod, "status", "extendedResourceClaimStatus");
  const bool covered =
      status ? textAt(*status, "resourceClaimName") == textAt(claim, "metadata", "name")
             : isFirstOf(claim, uid, namespace_, *pod, store);
  const auto pods = registry.findByTable(kPodTable);
  return covered && pods ? quotaUsage(*pod, *pods, now) : api::ResourceList{};
}

}  // namespace

void forEachExtendedClaim(Store& store, std::string_view namespace_, std::string_view pod,
                          const std::function<void(const std::string&, const json::value&)>& fn) {
  const auto [begin, end] = store.table(kClaimTable).range(namespace_);
  for (auto it = begin; it != end; ++it) {
    if (it->second->text.find(api::kExtendedResourceClaimAnnotation) == std::string::npos) continue;
    const auto claim = parseJson(it->second->text);
    const auto* owner = claim ? podOwnerOf(*claim) : nullptr;
    if (owner && textAt(*owner, "name") == pod) fn(it->first, *claim);
  }
}

api::ResourceList extendedUsage(const json::value& claim, const api::ResourceList& devices,
                                Store& store, const Registry& registry, WallTime now) {
  api::ResourceList usage;
  for (const auto& [name, amount] : devices) {
    if (!name.ends_with(kDevicesOfClass) || name.size() == kDevicesOfClass.size()) continue;
    const std::string class_ = name.substr(0, name.size() - kDevicesOfClass.size());
    usage["requests." + std::string(api::kDeviceClassResourcePrefix) + class_] = amount;
    const auto object = stored(store, kClassTable, makeKey("", class_));
    if (!object) continue;
    if (const auto resource = textAt(*object, "spec", "extendedResourceName"); !resource.empty())
      usage["requests." + std::string(resource)] = amount;
  }
  if (usage.empty()) return usage;
  const api::ResourceList ofPod = podUsageOf(claim, store, registry, now);
  api::ResourceList rest;
  for (auto& [name, amount] : usage) {
    if (const auto charged = ofPod.find(name); charged != ofPod.end()) amount.sub(charged->second);
    if (amount.sign() > 0) rest.emplace(name, amount);
  }
  return rest;
}

}  // namespace koord::apiserver
