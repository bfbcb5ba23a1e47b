#include "scheduler/plugins/dynamicresources/manager.h"

#include <stdexcept>

#include <algorithm>

#include "scheduler/plugins/dynamicresources/pod_claims.h"

namespace koord::scheduler {

namespace {

bool concerns(const api::DeviceTaintRule& rule, const dra::PoolKey& pool,
              const api::SliceDevice& device) {
  const auto& selector = rule.spec.deviceSelector;
  return selector && (!selector->driver || *selector->driver == pool.driver) &&
         (!selector->pool || *selector->pool == pool.pool) &&
         (!selector->device || *selector->device == device.name);
}

}  // namespace

DeviceManager& DeviceManager::of(Handle& handle) {
  return handle.shared().of<DeviceManager>([]() -> std::unique_ptr<DeviceManager> {
    throw std::logic_error("DynamicResources is not enabled");
  });
}

DeviceManager::DeviceManager(Cluster& cluster, Stores& stores, SharedDevices& shared,
                             dra::SelectorCompiler& compiler, const Gates& gates)
    : features(gates.features),
      inventory(usage, gates.features.partitionableDevices),
      matchers(compiler),
      claims(stores.of<api::ResourceClaim>(), usage),
      links(cluster, usage, inventory, shared),
      cluster_(cluster),
      classes_(stores.of<api::DeviceClass>()) {
  links.chooser = this;
  usage.changed = [this](const dra::PoolKey& pool) { poolChanged(pool); };
  inventory.nodeChanged = [this](const std::string& node) { touch(node); };
  inventory.sharedChanged = [this] { ++sharedRevision_; };
  auto& slices = stores.of<api::ResourceSlice>();
  for (const auto& [key, slice] : slices.all()) setSlice(nullptr, slice);
  slices.listen([this](const auto& before, const auto& after) { setSlice(before, after); });
  usage.forEach([this](const dra::PoolKey& pool, const auto&) { links.usageChanged(pool); });
  const bool extended = gates.extendedResources;
  if (extended) readExtended();
  stores.of<api::DeviceClass>().listen([this, extended](const auto&, const auto&) {
    ++classRevision_;
    if (extended) readExtended();
  });
  if (gates.taintRules) readRules(stores.of<api::DeviceTaintRule>());
  cluster.addLedger(ledger);
}

void DeviceManager::readExtended() {
  extended_.clear();
  classMatchers_.clear();
  for (const auto& [name, class_] : classes_.all()) extended_.add(class_);
}

const dra::Matcher& DeviceManager::matcherOf(const api::DeviceClass& class_) {
  dra::MatcherPtr& matcher = classMatchers_[class_.metadata.name];
  if (!matcher) matcher = matchers.of(class_.spec.selectors);
  return *matcher;
}

std::vector<BackedResource> DeviceManager::backedOf(const PodInfo& pod) const {
  std::vector<BackedResource> backed;
  if (extended_.empty()) return backed;
  for (const auto& [id, amount] : pod.request.scalars)
    if (const auto* class_ = amount > 0 ? backing(id) : nullptr)
      backed.push_back({id, class_->metadata.name});
  return backed;
}

void DeviceManager::readRules(Store<api::DeviceTaintRule>& rules) {
  const auto changed = [this, &rules](const auto&, const auto&) {
    ++classRevision_;
    moreTaints = {};
    if (rules.all().empty()) return;
    moreTaints = [&rules](const dra::PoolKey& pool, const api::SliceDevice& device,
                          const std::function<void(const api::DeviceTaint&)>& fn) {
      for (const auto& [key, rule] : rules.all())
        if (concerns(*rule, pool, device)) fn(rule->spec.taint);
    };
  };
  changed(nullptr, nullptr);
  rules.listen(changed);
}

void DeviceManager::touch(const std::string& node) {
  if (const auto id = cluster_.findNode(node)) cluster_.touch(*id);
}

void DeviceManager::poolChanged(const dra::PoolKey& pool) {
  const bool own = inventory.forEachNodeOf(pool, [this](const std::string& node) { touch(node); });
  if (!own) ++sharedRevision_;
  links.usageChanged(pool);
}

void DeviceManager::setSlice(const dra::SlicePtr& before, const dra::SlicePtr& after) {
  links.sliceChanging(before, after);
  inventory.setSlice(before, after);
  links.sliceChanged(before, after);
}

bool DeviceManager::hasClaims(const PodInfo& pod) const {
  return !pod.pod->spec.resourceClaims.empty() || !backedOf(pod).empty();
}

DeviceLinks::Chosen DeviceManager::chooseFor(const PodInfo& pod, NodeId node) {
  const std::shared_ptr<const api::Node>& object = cluster_.node(node).object;
  const auto lacking = withoutPluginOn(cluster_, node, backedOf(pod));
  if (!object || (pod.pod->spec.resourceClaims.empty() && lacking.empty())) return {};
  std::vector<ResourceClaimPtr> wanted = claimsOfPod(*pod.pod, claims).claims;
  std::erase_if(wanted, [&](const ResourceClaimPtr& claim) {
    return claim->status.allocation || claims.inFlight(claim->metadata.uid);
  });
  if (!lacking.empty()) wanted.push_back(makeExtendedClaim(cluster_, *pod.pod, lacking, "").claim);
  if (wanted.empty()) return {};
  const PlanPtr plan = planFor(wanted);
  if (!*plan) return {};
  const dra::NodeInventory& devices = inventory.of(object);
  // A search that takes long fails in DynamicResources, too.
  constexpr int kChecks = 1000;
  int checks = 0;
  const std::function<bool()> expired = [&checks] { return ++checks > kChecks; };
  dra::Search search(**plan, devices, moreTaints, expired);
  search.exclude(links.allocatedOn(node, devices));
  DeviceLinks::Chosen chosen;
  if (!search.run().found()) return chosen;
  for (const dra::Pick& pick : search.picks()) {
    if ((*plan)->requests[pick.request].adminAccess) continue;
    const dra::DeviceOnNode& device = devices.devices[pick.device];
    chosen.emplace_back(device.pool->use, device.device->name());
  }
  return chosen;
}

DeviceManager::PlanPtr DeviceManager::planFor(const std::vector<ResourceClaimPtr>& unallocated) {
  std::vector<std::uint64_t> key;
  for (const ResourceClaimPtr& claim : unallocated) key.push_back(claims.specOf(*claim));
  if (std::exchange(plansOf_, classRevision_) != classRevision_ ||
      plannedRequests_ > kMaxPlannedRequests) {
    plans_.clear();
    plannedRequests_ = 0;
  }
  if (const auto known = plans_.find(key); known != plans_.end()) return known->second;
  PlanPtr plan = ownPlanFor(unallocated);
  if (!*plan) return plan;
  plannedRequests_ += 1 + (*plan)->requests.size();
  return plans_[std::move(key)] = std::move(plan);
}

DeviceManager::PlanPtr DeviceManager::ownPlanFor(const std::vector<ResourceClaimPtr>& unallocated) {
  return std::make_shared<const Result<dra::Plan>>(dra::makePlan(
      unallocated, features, [this](const std::string& name) { return class_(name); }, matchers));
}

}  // namespace koord::scheduler
