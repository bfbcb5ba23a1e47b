#include "scheduler/plugins/dynamicresources/allocator/inventory.h"

#include <fmt/format.h>

#include <algorithm>

namespace koord::scheduler::dra {

namespace {

Result<bool> nodeMatches(const api::Node& node, std::string_view nodeName, bool allNodes,
                         const api::Boxed<api::NodeSelector>& selector) {
  if (!nodeName.empty()) return node.metadata.name == nodeName;
  if (allNodes) return true;
  if (!selector) return false;
  const auto compiled = api::NodeSelectorMatcher::compile(*selector);
  if (!compiled) return fail(compiled.error());
  return compiled->matches(node.metadata.labels, node.metadata.name);
}

bool hasCounterSets(const api::ResourceSlice& slice) {
  return !slice.spec.sharedCounters.empty();
}

}  // namespace

const std::vector<Quantity>& PoolOnNode::available() const {
  if (availableAt_ == use->version) return available_;
  available_ = totals;
  for (const auto& [name, counters] : consumers) {
    if (!use->of(name)) continue;
    for (const CounterUse& counter : counters) available_[counter.counter].sub(counter.amount);
  }
  availableAt_ = use->version;
  return available_;
}

void Inventory::setSlice(const SlicePtr& before, const SlicePtr& after) {
  if (before) put(before, false);
  if (after) put(after, true);
  const auto poolOf = [](const SlicePtr& slice) {
    return PoolKey{slice->spec.driver, slice->spec.pool.name};
  };
  if (before) invalidate(poolOf(before));
  if (after && (!before || poolOf(after) != poolOf(before))) invalidate(poolOf(after));
  // The pool may have no slice of the nodes of `before`.
  bool anyShared = false;
  for (const SlicePtr& slice : {before, after}) {
    if (!slice) continue;
    if (slice->spec.nodeName.empty()) {
      anyShared = true;
      continue;
    }
    nodes_.erase(slice->spec.nodeName);
    if (nodeChanged) nodeChanged(slice->spec.nodeName);
  }
  if (!anyShared) return;
  nodes_.clear();
  if (sharedChanged) sharedChanged();
}

void Inventory::put(const SlicePtr& slice, bool add) {
  const std::string& name = slice->metadata.name;
  const PoolKey pool{slice->spec.driver, slice->spec.pool.name};
  if (add) {
    const Stored stored{slice, contents_.of(slice)};
    (slice->spec.nodeName.empty() ? shared_ : byNode_[slice->spec.nodeName])[name] = stored;
    byPool_[pool][name] = stored;
    ++count_;
    return;
  }
  if (slice->spec.nodeName.empty()) {
    shared_.erase(name);
  } else if (const auto it = byNode_.find(slice->spec.nodeName); it != byNode_.end()) {
    it->second.erase(name);
    if (it->second.empty()) byNode_.erase(it);
  }
  if (const auto it = byPool_.find(pool); it != byPool_.end()) {
    it->second.erase(name);
    if (it->second.empty()) byPool_.erase(it);
  }
  --count_;
}

// Another slice of the pool may complete it or be out of date on other nodes.
void Inventory::invalidate(const PoolKey& pool) {
  const bool own = forEachNodeOf(pool, [this](const std::string& node) {
    nodes_.erase(node);
    if (nodeChanged) nodeChanged(node);
  });
  if (own) return;
  nodes_.clear();
  if (sharedChanged) sharedChanged();
}

bool Inventory::forEachNodeOf(const PoolKey& pool,
                              const std::function<void(const std::string&)>& fn) const {
  const auto it = byPool_.find(pool);
  if (it == byPool_.end()) return true;
  bool own = true;
  const std::string* last = nullptr;
  for (const auto& [name, stored] : it->second) {
    const std::string& node = stored.slice->spec.nodeName;
    if (node.empty()) {
      own = false;
    } else if (!last || *last != node) {
      fn(node);
      last = &node;
    }
  }
  return own;
}

void Inventory::forEachDeviceOn(const api::Node& node, const EachDevice& fn) const {
  const auto visit = [&](const Slices& slices) {
    for (const auto& [name, stored] : slices) {
      Relevant here;
      if (!relevant(stored, node, here).value_or(false)) continue;
      const auto& devices = std::as_const(stored.slice->spec.devices);
      for (std::size_t i = 0; i < devices.size(); ++i)
        if (here.onOtherNode.empty() || !here.onOtherNode[i]) fn(*stored.slice, devices[i]);
    }
  };
  if (const auto own = byNode_.find(node.metadata.name); own != byNode_.end()) visit(own->second);
  visit(shared_);
}

const NodeInventory& Inventory::of(const std::shared_ptr<const api::Node>& node) {
  std::unique_ptr<NodeInventory>& slot = nodes_[node->metadata.name];
  // Labels decide which shared slices the node can reach.
  if (slot && slot->node_ != node && !shared_.empty()) slot.reset();
  if (!slot) slot = build(node);
  return *slot;
}

Result<bool> Inventory::relevant(const Stored& stored, const api::Node& node, Relevant& out) const {
  const api::ResourceSliceSpec& spec = stored.slice->spec;
  out.stored = &stored;
  if (!partitionable_ && (spec.perDeviceNodeSelection || hasCounterSets(*stored.slice)))
    return false;
  if (!spec.perDeviceNodeSelection) {
    auto matches = nodeMatches(node, spec.nodeName, spec.allNodes, spec.nodeSelector);
    if (!matches)
      return fail(ErrorCode::Invalid,
                  fmt::format("failed to perform node selection for slice {}: {}",
                              stored.slice->metadata.name, matches.error().message));
    return matches;
  }
  bool any = false;
  out.onOtherNode.resize(spec.devices.size());
  for (std::size_t i = 0; i < spec.devices.size(); ++i) {
    const api::SliceDevice& device = std::as_const(spec.devices)[i];
    const auto matches = nodeMatches(node, device.nodeName, device.allNodes, device.nodeSelector);
    if (!matches)
      return fail(ErrorCode::Invalid,
                  fmt::format("failed to perform node selection for device {} in slice {}: {}",
                              device.name, stored.slice->metadata.name, matches.error().message));
    out.onOtherNode[i] = !*matches;
    any |= *matches;
  }
  return any;
}

std::unique_ptr<NodeInventory> Inventory::build(
    const std::shared_ptr<const api::Node>& node) const {
  auto inventory = std::make_unique<NodeInventory>();
  inventory->node_ = node;
  std::map<PoolKey, std::vector<Relevant>> pools;
  const auto take = [&](const Slices& slices) {
    for (const auto& [name, stored] : slices) {
      Relevant here;
      const auto matches = relevant(stored, *node, here);
      if (!matches) {
        inventory->error = "gather pool information: " + matches.error().message;
        return;
      }
      if (!*matches) continue;
      const auto& spec = stored.slice->spec;
      auto& pool = pools[{spec.driver, spec.pool.name}];
      const std::int64_t newest =
          pool.empty() ? spec.pool.generation : pool[0].stored->slice->spec.pool.generation;
      if (spec.pool.generation < newest) continue;
      if (spec.pool.generation > newest) pool.clear();
      pool.push_back(std::move(here));
    }
  };
  if (const auto own = byNode_.find(node->metadata.name); own != byNode_.end()) take(own->second);
  take(shared_);
  std::vector<std::unique_ptr<PoolOnNode>> last;
  for (auto& [key, slices] : pools) buildPool(key, std::move(slices), *inventory, last);
  // Pools with binding conditions come after the others.
  std::ranges::stable_partition(inventory->devices, [&](const DeviceOnNode& device) {
    return std::ranges::none_of(last, [&](const auto& pool) { return pool.get() == device.pool; });
  });
  std::ranges::move(last, std::back_inserter(inventory->pools));
  return inventory;
}

void Inventory::buildPool(const PoolKey& key, std::vector<Relevant> slices, NodeInventory& out,
                          std::vector<std::unique_ptr<PoolOnNode>>& last) const {
  const std::int64_t generation = slices[0].stored->slice->spec.pool.generation;
  const auto wanted =
      static_cast<std::size_t>(slices[0].stored->slice->spec.pool.resourceSliceCount);
  auto pool = std::make_unique<PoolOnNode>();
  pool->key = key;
  pool->use = &usage_.pool(key);
  std::vector<const Stored*> all;  // of the generation, for any node
  bool newer = false;              // some slice without devices for this node
  for (const auto& [name, stored] : byPool_.at(key)) {
    newer |= stored.slice->spec.pool.generation > generation;
    if (stored.slice->spec.pool.generation == generation) all.push_back(&stored);
  }
  // As in kube-scheduler, all slices here are a complete pool until one of them is replaced.
  if (newer && slices.size() != wanted) return;
  if (all.size() != wanted && slices.size() != wanted) {
    pool->incomplete = true;
    out.pools.push_back(std::move(pool));
    return;
  }
  std::ranges::sort(slices, {}, [](const Relevant& each) -> const std::string& {
    return each.stored->slice->metadata.name;
  });
  std::vector<const Stored*> counterSets;
  std::set<std::string_view> names;
  bool bindingConditions = false;
  for (const Stored* stored : all)
    if (hasCounterSets(*stored->slice)) counterSets.push_back(stored);
  std::erase_if(slices, [](const Relevant& each) { return hasCounterSets(*each.stored->slice); });
  for (const Relevant& each : slices) {
    bindingConditions |= each.stored->content->bindingConditions;
    for (const Device& device : each.stored->content->devices)
      if (!names.insert(device.name()).second && pool->invalid.empty())
        pool->invalid = "duplicate device name " + device.name();
  }
  if (pool->invalid.empty()) pool->invalid = counterProblem(*pool, all, counterSets);
  if (!pool->invalid.empty()) {
    out.anyInvalid = true;
    out.pools.push_back(std::move(pool));
    return;
  }
  for (const Relevant& each : slices) {
    out.slices_.push_back(each.stored->slice);
    out.contents_.push_back(each.stored->content);
    for (std::size_t i = 0; i < each.stored->content->devices.size(); ++i) {
      const Device& device = each.stored->content->devices[i];
      DeviceOnNode& entry = out.devices.emplace_back();
      entry = {&device, pool.get(), each.stored->slice.get(),
               !each.onOtherNode.empty() && each.onOtherNode[i], nullptr};
      if (device.object->consumesCounters.empty()) continue;
      const auto consumed = pool->consumers.find(device.name());
      if (consumed != pool->consumers.end()) entry.counters = &consumed->second;
    }
  }
  (bindingConditions ? last : out.pools).push_back(std::move(pool));
}

// Fills the pool's counters and what its devices consume. Returns what contradicts, "" if nothing.
std::string Inventory::counterProblem(PoolOnNode& pool, const std::vector<const Stored*>& all,
                                      const std::vector<const Stored*>& counterSets) {
  std::map<std::string_view, std::map<std::string_view, std::uint32_t>> sets;
  for (const Stored* stored : counterSets) {
    for (const api::CounterSet& set : std::as_const(stored->slice->spec.sharedCounters)) {
      auto [it, added] = sets.try_emplace(set.name);
      if (!added) return "duplicate counter set name " + set.name;
      for (const auto& [name, counter] : set.counters) {
        it->second.emplace(name, static_cast<std::uint32_t>(pool.totals.size()));
        pool.totals.push_back(counter.value);
      }
    }
  }
  for (const Stored* stored : all) {
    if (!stored->content->counters) continue;
    for (const Device& device : stored->content->devices) {
      std::vector<CounterUse> uses;
      for (const auto& consumption : std::as_const(device.object->consumesCounters)) {
        const auto set = sets.find(consumption.counterSet);
        if (set == sets.end())
          return fmt::format("counter set {} not found", consumption.counterSet);
        for (const auto& [name, counter] : consumption.counters) {
          const auto it = set->second.find(name);
          if (it == set->second.end())
            return fmt::format("counter {} not found in counter set {}", name,
                               consumption.counterSet);
          uses.push_back({it->second, counter.value});
        }
      }
      if (!uses.empty()) pool.consumers.emplace(device.name(), std::move(uses));
    }
  }
  return "";
}

}  // namespace koord::scheduler::dra
