#include "simulation/features/dynamic_resources.h"

#include <algorithm>
#include <map>

#include "scheduler/plugins/dynamicresources/manager.h"

namespace koord::simulation {

using scheduler::DeviceManager;

DynamicResourcesFeature::DynamicResourcesFeature(const Surroundings& world, Random random)
    : Feature(world, random),
      claims_(world.api, world.loop),
      templates_(world.api, world.loop),
      slices_(world.api, world.loop),
      events_(world.api, world.loop, "resource_claim", random.fork()),
      controller_(world.api, world.loop, claims_, templates_, invariants_.pods, events_) {
  claims_.addHandler({[this](const auto& claim) { seen(nullptr, claim); },
                      [this](const auto& before, const auto& after) { seen(before, after); },
                      [this](const auto& claim) { seen(claim, nullptr); }});
  slices_.addHandler({[this](const auto&) { invariants_.touched(); },
                      [this](const auto&, const auto&) { invariants_.touched(); },
                      [this](const auto&) { invariants_.touched(); }});
}

// It is among the default plugins. Its scores are not used, because plain evaluation does not know
// them. The checker looks before PostFilter releases claims.
void DynamicResourcesFeature::configure(scheduler::ProfileConfig& profile) const {
  for (const char* point : {"preScore", "score"})
    profile.plugins[point].disabled.emplace_back("DynamicResources");
  addToPostFilter(profile, "DynamicResources");
}

void DynamicResourcesFeature::start() {
  claims_.start();
  templates_.start();
  slices_.start();
  controller_.start();
}

void DynamicResourcesFeature::seen(const ClaimObject& before, const ClaimObject& after) {
  invariants_.touched();
  const bool had = before && before->status.allocation;
  const bool has = after && after->status.allocation;
  if (had && !has) {
    journal_.note("claim {} is free", before->metadata.name);
    deallocated(*before);
  }
  if (has && !had) allocated(*after);
}

std::vector<ClaimObject> DynamicResourcesFeature::sortedClaims() const {
  std::vector<ClaimObject> all;
  for (const auto& claim : claims_.objects()) all.push_back(claim);
  std::ranges::sort(all, {}, [](const auto& claim) {
    return std::tie(claim->metadata.namespace_, claim->metadata.name);
  });
  return all;
}

std::vector<ClaimObject> DynamicResourcesFeature::knownClaims(scheduler::Handle& handle) {
  std::vector<ClaimObject> all;
  const DeviceManager& manager = DeviceManager::of(handle);
  for (const auto& [key, claim] : handle.stores().of<api::ResourceClaim>().all())
    all.push_back(manager.claims.get(key));
  return all;
}

std::vector<DynamicResourcesFeature::InFlight> DynamicResourcesFeature::inFlight(
    scheduler::Handle& handle, const std::string& without) {
  const DeviceManager& manager = DeviceManager::of(handle);
  std::vector<InFlight> found;
  std::set<std::string> ofPods;
  for (const auto& record : handle.cluster().pods()) {
    const auto* granted = manager.ledger.in(record.grants);
    if (!granted) continue;
    for (const auto& promise : granted->promises) {
      ofPods.insert(promise.claim);
      if (record.info->uid() != without)
        found.push_back({promise.claim, record.info->uid(), promise.allocation});
    }
  }
  std::map<std::string, scheduler::AllocationPtr> written;  // sorted
  manager.claims.forEachInFlight([&](const std::string& uid, const auto& allocation) {
    if (!ofPods.contains(uid)) written.emplace(uid, allocation);
  });
  for (auto& [uid, allocation] : written) found.push_back({uid, "", std::move(allocation)});
  return found;
}

std::string DynamicResourcesFeature::differences(scheduler::Handle& handle, const Model&) {
  const auto& slices = handle.stores().of<api::ResourceSlice>();
  if (slices.all().size() != slices_.size() ||
      handle.stores().of<api::ResourceClaim>().all().size() != claims_.size())
    return "other slices or claims";
  for (const auto& slice : slices_.objects()) {
    const auto known = slices.get(api::keyOf(slice->metadata));
    if (!known || known->metadata.resourceVersion != slice->metadata.resourceVersion)
      return "slice " + slice->metadata.name;
  }
  for (const ClaimObject& claim : sortedClaims()) {
    const auto known = DeviceManager::of(handle).claims.get(api::keyOf(claim->metadata));
    if (!known || known->metadata.resourceVersion != claim->metadata.resourceVersion)
      return "claim " + claim->metadata.name;
  }
  return "";
}

}  // namespace koord::simulation
