#include "scheduler/plugins/dynamicresources/device_links.h"

#include <algorithm>

#include "model/device_identity.h"

namespace koord::scheduler {

namespace {

using Identities = std::set<std::string>;
using Names = std::vector<std::string_view>;

Identities identitiesOf(const api::SliceDevice& device) {
  Identities identities;
  const auto add = [&](const std::string& text) {
    if (std::string identity = model::deviceIdentity(text); !identity.empty())
      identities.insert(std::move(identity));
  };
  for (const auto& [name, attribute] : device.attributes) {
    if (!model::namesHardware(name)) continue;
    if (attribute.string) add(*attribute.string);
    for (const std::string& text : attribute.strings) add(text);
  }
  return identities;
}

void addNumbers(const ListedDevices& listed, const Identities& identities,
                std::set<DeviceNumber>& numbers) {
  for (const std::string& identity : identities) {
    const auto found =
        std::ranges::equal_range(listed.identities, identity, {},
                                 [](const auto& entry) { return std::string_view(entry.first); });
    for (const auto& entry : found) numbers.insert(entry.second);
  }
}

Names counterSetsOf(const api::SliceDevice& device) {
  Names names;
  for (const auto& consumption : device.consumesCounters)
    names.emplace_back(consumption.counterSet);
  std::ranges::sort(names);
  return names;
}

// A device of a slice while the links of a node are computed.
struct Found {
  const dra::PoolUse* pool = nullptr;
  const api::SliceDevice* device = nullptr;
  Names counterSets;
  std::set<DeviceNumber> numbers;
};

bool shareHardware(const Names& a, const Names& b) {
  return !a.empty() && !b.empty() && (std::ranges::includes(a, b) || std::ranges::includes(b, a));
}

// The identities of the device's hardware that its slice tells: its own, and those of devices that
// share its counters.
Identities identitiesIn(const api::ResourceSlice& slice, const api::SliceDevice& device) {
  Identities identities = identitiesOf(device);
  if (device.consumesCounters.empty()) return identities;
  const Names counterSets = counterSetsOf(device);
  for (const api::SliceDevice& other : slice.spec.devices)
    if (shareHardware(counterSets, counterSetsOf(other))) identities.merge(identitiesOf(other));
  return identities;
}

dra::PoolKey poolOf(const api::ResourceSlice& slice) {
  return {slice.spec.driver, slice.spec.pool.name};
}

const api::SliceDevice* find(const dra::SlicePtr& slice, const dra::PoolKey& pool,
                             const std::string& device) {
  if (!slice || poolOf(*slice) != pool) return nullptr;
  const auto& devices = std::as_const(slice->spec.devices);
  const auto it = std::ranges::find(devices, device, &api::SliceDevice::name);
  return it == devices.end() ? nullptr : &*it;
}

}  // namespace

DeviceLinks::DeviceLinks(Cluster& cluster, dra::Usage& usage, const dra::Inventory& inventory,
                         SharedDevices& shared)
    : cluster_(cluster), usage_(usage), inventory_(inventory), shared_(shared) {
  shared_.claimed = this;
}

// --- Questions.

const DeviceLinks::NodeLinks* DeviceLinks::of(NodeId node) {
  if (!shared_.listed) return nullptr;
  if (inventory_.slices() == 0 && former_.empty()) return nullptr;
  const std::shared_ptr<const api::Node>& object = cluster_.node(node).object;
  const ListedDevices* listed = object ? shared_.listed->listedOn(node) : nullptr;
  if (!listed) return nullptr;
  if (node >= nodes_.size()) nodes_.resize(std::max<std::size_t>(cluster_.capacity(), node + 1));
  NodeLinks& links = nodes_[node];
  // Labels decide which shared slices the node can reach.
  const bool sameNode =
      links.node == object ||
      (links.node && links.node->metadata.name == object->metadata.name && !inventory_.hasShared());
  if (links.listed != listed->version || !sameNode) {
    links.links = compute(*object, *listed);
    for (const Link& link : links.links) linked_[link.pool].insert(node);
    links.listed = listed->version;
  }
  links.node = object;
  return &links;
}

std::vector<DeviceLinks::Link> DeviceLinks::compute(const api::Node& node,
                                                    const ListedDevices& listed) const {
  std::vector<Found> found;
  inventory_.forEachDeviceOn(node,
                             [&](const api::ResourceSlice& slice, const api::SliceDevice& device) {
                               Found& entry = found.emplace_back();
                               entry.pool = &usage_.pool(poolOf(slice));
                               entry.device = &device;
                               entry.counterSets = counterSetsOf(device);
                               addNumbers(listed, identitiesOf(device), entry.numbers);
                             });
  std::vector<Link> links;
  const auto add = [&](const dra::PoolUse* pool, const std::string& device,
                       const std::set<DeviceNumber>& numbers) {
    if (!numbers.empty()) links.push_back({pool, device, {numbers.begin(), numbers.end()}});
  };
  for (const Found& entry : found) {
    std::set<DeviceNumber> numbers = entry.numbers;
    if (numbers.empty())
      for (const Found& other : found)
        if (entry.pool == other.pool && shareHardware(entry.counterSets, other.counterSets))
          numbers.insert(other.numbers.begin(), other.numbers.end());
    add(entry.pool, entry.device->name, numbers);
  }
  for (const auto& [key, former] : former_) {
    if (former.node != node.metadata.name) continue;
    std::set<DeviceNumber> numbers;
    addNumbers(listed, former.identities, numbers);
    add(&usage_.pool(key.first), key.second, numbers);
  }
  return links;
}

std::vector<DeviceNumber> DeviceLinks::claimedOn(NodeId node) {
  std::vector<DeviceNumber> numbers;
  const std::shared_ptr<const api::Node>& object = cluster_.node(node).object;
  if (!orphans_.empty() && object && shared_.listed && orphans_.contains(object->metadata.name)) {
    if (const ListedDevices* listed = shared_.listed->listedOn(node))
      for (const auto& [identity, number] : listed->identities) numbers.push_back(number);
  } else if (const NodeLinks* links = of(node)) {
    for (const Link& link : links->links)
      if (link.pool->of(link.device))
        numbers.insert(numbers.end(), link.hardware.begin(), link.hardware.end());
  }
  std::ranges::sort(numbers);
  const auto repeated = std::ranges::unique(numbers);
  numbers.erase(repeated.begin(), repeated.end());
  return numbers;
}

std::vector<DeviceNumber> DeviceLinks::hardwareOf(NodeId node, const Chosen& devices) {
  std::set<DeviceNumber> numbers;
  const NodeLinks* links = devices.empty() ? nullptr : of(node);
  if (!links) return {};
  for (const Link& link : links->links)
    if (std::ranges::find(devices, std::pair(link.pool, std::string_view(link.device))) !=
        devices.end())
      numbers.insert(link.hardware.begin(), link.hardware.end());
  return {numbers.begin(), numbers.end()};
}

bool DeviceLinks::isAllocated(NodeId node, const Link& link) const {
  return std::ranges::any_of(link.hardware, [&](DeviceNumber number) {
    return shared_.listed->isAllocated(node, number);
  });
}

std::vector<bool> DeviceLinks::allocatedOn(NodeId node, const dra::NodeInventory& inventory) {
  const NodeLinks* links = of(node);
  if (!links) return {};
  std::set<std::pair<const dra::PoolUse*, std::string_view>> given;
  for (const Link& link : links->links)
    if (isAllocated(node, link)) given.emplace(link.pool, link.device);
  if (given.empty()) return {};
  std::vector<bool> result(inventory.devices.size());
  for (std::size_t d = 0; d < inventory.devices.size(); ++d) {
    const dra::DeviceOnNode& device = inventory.devices[d];
    result[d] = given.contains({device.pool->use, device.device->name()});
  }
  return result;
}

bool DeviceLinks::anyAllocated(NodeId node, const api::AllocationResult& allocation) {
  const NodeLinks* links = of(node);
  if (!links) return false;
  return std::ranges::any_of(allocation.devices.results, [&](const auto& result) {
    if (result.adminAccess.value_or(false)) return false;
    const dra::PoolUse* pool = usage_.find({result.driver, result.pool});
    return std::ranges::any_of(links->links, [&](const Link& link) {
      return link.pool == pool && link.device == result.device && isAllocated(node, link);
    });
  });
}

// --- Changes.

void DeviceLinks::touch(const std::string& node) {
  if (const auto id = cluster_.findNode(node)) cluster_.touch(*id);
}

void DeviceLinks::forget(const std::string& node) {
  const auto id = cluster_.findNode(node);
  if (id && *id < nodes_.size()) nodes_[*id].listed = 0;
}

// An allocated device that `after` does not describe as before keeps what it was linked to.
void DeviceLinks::sliceChanging(const dra::SlicePtr& before, const dra::SlicePtr& after) {
  if (!before || !shared_.listed) return;
  const dra::PoolKey pool = poolOf(*before);
  const dra::PoolUse* use = usage_.find(pool);
  if (!use || use->devices.empty()) return;
  for (const api::SliceDevice& device : std::as_const(before->spec.devices)) {
    if (!use->of(device.name)) continue;
    const std::string node(before->spec.perDeviceNodeSelection ? device.nodeName
                                                               : before->spec.nodeName);
    if (node.empty()) continue;
    const api::SliceDevice* now = find(after, pool, device.name);
    const Identities told = identitiesIn(*before, device);
    if (now && identitiesIn(*after, *now) == told && counterSetsOf(*now) == counterSetsOf(device))
      continue;
    // The links are exact. Without the hardware in a Device there are none.
    Identities linked;
    const auto id = cluster_.findNode(node);
    if (const NodeLinks* links = id ? of(*id) : nullptr) {
      const ListedDevices& listed = *shared_.listed->listedOn(*id);
      for (const Link& link : links->links)
        if (link.pool == use && link.device == device.name)
          for (const auto& [identity, number] : listed.identities)
            if (std::ranges::binary_search(link.hardware, number)) linked.insert(identity);
    }
    Identities identities = linked.empty() ? told : identitiesOf(device);
    identities.merge(linked);
    Former& former = former_[{pool, device.name}];
    former.node = node;
    former.identities.merge(identities);
    forget(node);
  }
}

void DeviceLinks::sliceChanged(const dra::SlicePtr& before, const dra::SlicePtr& after) {
  for (const dra::SlicePtr& slice : {before, after}) {
    if (!slice) continue;
    checkOrphan(poolOf(*slice));
    if (!slice->spec.nodeName.empty()) {
      forget(std::string(slice->spec.nodeName));
      continue;
    }
    linked_.clear();
    for (NodeLinks& links : nodes_) links.listed = 0;
    touchListed();
  }
}

// Whether links were computed before depends on who asked, also for a page. What changes does not.
void DeviceLinks::touchListed() {
  if (!shared_.listed) return;
  cluster_.live().forEach([this](NodeId node) {
    if (shared_.listed->listedOn(node)) cluster_.touch(node);
  });
}

void DeviceLinks::usageChanged(const dra::PoolKey& pool) {
  const dra::PoolUse* use = usage_.find(pool);
  // What a simulation frees comes back.
  const bool reality = !cluster_.inSimulation();
  for (auto it = former_.lower_bound({pool, ""}); it != former_.end() && it->first.first == pool;) {
    if (!reality || use->of(it->first.second)) {
      ++it;
      continue;
    }
    forget(it->second.node);
    touch(it->second.node);
    it = former_.erase(it);
  }
  // Devices that several nodes can reach. As above, all links are computed first.
  if (inventory_.hasShared()) {
    cluster_.live().forEach([this](NodeId node) { (void)of(node); });
    if (const auto it = linked_.find(use); it != linked_.end())
      for (const NodeId node : it->second) cluster_.touch(node);
  }
  checkOrphan(pool);
}

void DeviceLinks::checkOrphan(const dra::PoolKey& pool) {
  const dra::PoolUse* use = usage_.find(pool);
  const bool orphan = use && !inventory_.hasSlices(pool) &&
                      std::ranges::any_of(use->devices, [&](const auto& entry) {
                        return !former_.contains({pool, entry.first});
                      });
  const auto it = orphans_.find(pool.pool);
  const bool was = it != orphans_.end() && it->second.contains(pool);
  if (orphan == was) return;
  if (orphan) {
    orphans_[pool.pool].insert(pool);
  } else {
    it->second.erase(pool);
    if (it->second.empty()) orphans_.erase(it);
  }
  touch(pool.pool);
}

}  // namespace koord::scheduler
