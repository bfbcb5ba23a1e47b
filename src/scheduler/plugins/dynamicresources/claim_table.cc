#include "scheduler/plugins/dynamicresources/claim_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>

#include "api/codec.h"
#include "scheduler/plugins/dynamicresources/extended_claim.h"

namespace koord::scheduler {

namespace {

// Versions of one object ascend. 0 for a version that is not a number.
std::uint64_t versionOf(const api::ObjectMeta& metadata) {
  const std::string text(metadata.resourceVersion);
  std::uint64_t version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

// Points into the claim, which it keeps alive.
AllocationPtr allocationOf(const ResourceClaimPtr& claim) {
  if (!claim || !claim->status.allocation) return nullptr;
  return {claim, &*claim->status.allocation};
}

}  // namespace

bool sameDevices(const api::AllocationResult& a, const api::AllocationResult& b) {
  const auto key = [](const api::DeviceRequestAllocationResult& result) {
    return std::tie(result.driver, result.pool, result.device, result.adminAccess, result.shareID);
  };
  return std::ranges::equal(a.devices.results, b.devices.results, {}, key, key);
}

ClaimTable::ClaimTable(Store<api::ResourceClaim>& claims, dra::Usage& usage)
    : claims_(claims), usage_(usage) {
  for (const auto& [key, claim] : claims_.all()) seen(nullptr, claim);
  claims_.listen([this](const auto& before, const auto& after) { seen(before, after); });
}

ResourceClaimPtr ClaimTable::get(const api::ObjectKey& key) const {
  if (const auto it = written_.find(key); it != written_.end()) return it->second;
  return claims_.get(key);
}

void ClaimTable::index(const ResourceClaimPtr& claim, bool add) {
  const std::string owner = claim ? extendedOwnerOf(*claim) : std::string();
  if (owner.empty()) return;
  auto& claims = extended_[owner];
  if (add) {
    claims.insert(api::keyOf(claim->metadata));
  } else {
    claims.erase(api::keyOf(claim->metadata));
  }
  if (claims.empty()) extended_.erase(owner);
}

ResourceClaimPtr ClaimTable::extendedClaimOf(const api::Pod& pod) const {
  const auto it = extended_.find(pod.metadata.uid);
  if (it == extended_.end()) return nullptr;
  for (const api::ObjectKey& key : it->second)
    if (key.namespace_ == pod.metadata.namespace_)
      if (ResourceClaimPtr claim = get(key)) return claim;
  return nullptr;
}

void ClaimTable::seen(const ResourceClaimPtr& before, const ResourceClaimPtr& after) {
  index(before, false);
  index(after, true);
  const api::ObjectKey key = api::keyOf((after ? after : before)->metadata);
  if (const auto it = written_.find(key); it != written_.end()) {
    const api::ObjectMeta& written = it->second->metadata;
    // An older version of what we have written.
    if (after && after->metadata.uid == written.uid &&
        versionOf(after->metadata) < versionOf(written))
      return;
    const std::string uid = written.uid;
    written_.erase(it);
    if (!after || after->metadata.uid != uid) setStored(nullptr, uid);
  }
  if (before && (!after || after->metadata.uid != before->metadata.uid))
    setStored(nullptr, before->metadata.uid);
  if (after) setStored(after, after->metadata.uid);
}

void ClaimTable::written(ResourceClaimPtr claim) {
  const ResourceClaimPtr known = get(api::keyOf(claim->metadata));
  if (!known || known->metadata.uid != claim->metadata.uid ||
      versionOf(known->metadata) > versionOf(claim->metadata))
    return;
  setStored(claim, claim->metadata.uid);
  written_[api::keyOf(claim->metadata)] = std::move(claim);
}

void ClaimTable::setStored(const ResourceClaimPtr& claim, const std::string& uid) {
  Tracked& tracked = byUid_[uid];
  tracked.stored = allocationOf(claim);
  tracked.exists = claim != nullptr;
  recount(uid);
}

AllocationPtr ClaimTable::inFlight(const std::string& uid) const {
  const auto it = byUid_.find(uid);
  return it == byUid_.end() ? nullptr : it->second.inFlight;
}

std::uint64_t ClaimTable::inFlightId(const std::string& uid) const {
  const auto it = byUid_.find(uid);
  return it == byUid_.end() || !it->second.inFlight ? 0 : it->second.inFlightId;
}

bool ClaimTable::sharedBy(const std::string& uid, const std::string& group) const {
  const auto it = byUid_.find(uid);
  return it != byUid_.end() && it->second.inFlight && !group.empty() && it->second.group == group &&
         it->second.holders < api::kMaxReservedFor;
}

void ClaimTable::addInFlight(const std::string& uid, const AllocationPtr& allocation,
                             const std::string& group) {
  Tracked& tracked = byUid_[uid];
  if (tracked.holders++ == 0) {
    tracked.inFlight = allocation;
    tracked.inFlightId = ++lastInFlight_;
    tracked.group = group;
  }
  recount(uid);
}

void ClaimTable::removeInFlight(const std::string& uid) {
  Tracked& tracked = byUid_[uid];
  if (--tracked.holders == 0) tracked.inFlight = nullptr;
  recount(uid);
}

void ClaimTable::recount(const std::string& uid) {
  const auto it = byUid_.find(uid);
  Tracked& tracked = it->second;
  const AllocationPtr& now = tracked.stored ? tracked.stored : tracked.inFlight;
  if (now != tracked.counted) {
    const AllocationPtr before = std::exchange(tracked.counted, now);
    if (!before || !now || !sameDevices(*before, *now)) {
      if (before) usage_.remove(*before);
      if (now) usage_.add(*now);
    }
  }
  if (!tracked.exists && tracked.holders == 0) byUid_.erase(it);
}

std::uint64_t ClaimTable::specOf(const api::ResourceClaim& claim) {
  // The spec of a claim of the API never changes.
  const auto tracked = byUid_.find(claim.metadata.uid);
  if (tracked != byUid_.end() && tracked->second.spec != 0) return tracked->second.spec;
  if (specs_.size() > 10'000) specs_.clear();
  std::uint64_t& spec = specs_[toJson(api::encode(claim.spec))];
  if (spec == 0) spec = ++lastSpec_;
  if (tracked != byUid_.end()) tracked->second.spec = spec;
  return spec;
}

const AllocationPtr* ClaimsInFlight::of(const std::string& claim) const {
  const auto it = std::ranges::find(promises, claim, &Promise::claim);
  return it == promises.end() ? nullptr : &it->allocation;
}

void ClaimLedger::addValue(NodeId, const PodInfo&, const ClaimsInFlight& promises) {
  for (const auto& promise : promises.promises)
    table_.addInFlight(promise.claim, promise.allocation, promise.group);
}

void ClaimLedger::removeValue(NodeId, const PodInfo&, const ClaimsInFlight& promises) {
  for (const auto& promise : promises.promises) table_.removeInFlight(promise.claim);
}

std::string ClaimLedger::verifyValues(NodeId, Held held) const {
  std::string difference;
  for (const auto& [pod, promises] : held)
    for (const auto& promise : promises->promises)
      if (!table_.inFlight(promise.claim))
        difference +=
            fmt::format("claim {}: stored as free, counted as allocated; ", promise.claim);
  return difference;
}

}  // namespace koord::scheduler
