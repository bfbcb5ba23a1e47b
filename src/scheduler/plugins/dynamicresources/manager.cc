#include "scheduler/plugins/dynamicresources/manager.h"

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

DeviceManager::DeviceManager(Cluster& cluster, Stores& stores, dra::SelectorCompiler& compiler,
                             const dra::Features& which, bool taintRules)
    : features(which),
      inventory(usage, which.partitionableDevices),
      matchers(compiler),
      claims(stores.of<api::ResourceClaim>(), usage),
      cluster_(cluster),
      classes_(stores.of<api::DeviceClass>()) {
  usage.changed = [this](const dra::PoolKey& pool) { poolChanged(pool); };
  inventory.nodeChanged = [this](const std::string& node) { touch(node); };
  inventory.sharedChanged = [this] { ++sharedRevision_; };
  auto& slices = stores.of<api::ResourceSlice>();
  for (const auto& [key, slice] : slices.all()) inventory.setSlice(nullptr, slice);
  slices.listen(
      [this](const auto& before, const auto& after) { inventory.setSlice(before, after); });
  stores.of<api::DeviceClass>().listen([this](const auto&, const auto&) { ++classRevision_; });
  if (taintRules) readRules(stores.of<api::DeviceTaintRule>());
  cluster.addLedger(ledger);
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
}

DeviceManager::PlanPtr DeviceManager::planFor(const std::vector<ResourceClaimPtr>& unallocated) {
  std::vector<std::uint64_t> key;
  for (const ResourceClaimPtr& claim : unallocated) key.push_back(claims.specOf(*claim));
  if (std::exchange(plansOf_, classRevision_) != classRevision_ ||
      plannedRequests_ > kMostPlanned) {
    plans_.clear();
    plannedRequests_ = 0;
  }
  PlanPtr& slot = plans_[key];
  if (slot) return slot;
  slot = std::make_shared<const Result<dra::Plan>>(dra::makePlan(
      unallocated, features, [this](const std::string& name) { return class_(name); }, matchers));
  plannedRequests_ += 1 + (slot->has_value() ? (*slot)->requests.size() : 0);
  return slot;
}

}  // namespace koord::scheduler
