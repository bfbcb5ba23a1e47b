#include "simulation/features/claims.h"

#include <algorithm>

#include "api/codec.h"
#include "scheduler/plugins/dynamicresources/manager.h"

namespace koord::simulation {

using scheduler::DeviceManager;

namespace {

constexpr int kTemplates = 6;
constexpr const char* kNamespaces[] = {"default", "other"};
constexpr const char* kReady = "example.com/ready";

const std::string& expressionOf(const std::string& class_) {
  const auto& all = PlainSelector::all();
  return all[class_ == "net" ? 5 : class_ == "shared" ? 6 : 4].expression;
}

bool readyFor(const api::ResourceClaim& claim) {
  return std::ranges::all_of(
      std::as_const(*claim.status.allocation).devices.results, [&](const auto& result) {
        return result.bindingConditions.empty() ||
               std::ranges::any_of(claim.status.devices, [&](const auto& status) {
                 return status.device == result.device && status.pool == result.pool &&
                        !status.conditions.empty();
               });
      });
}

}  // namespace

ClaimsFeature::ClaimsFeature(const Surroundings& world, Random random)
    : DynamicResourcesFeature(world, random),
      rules_(world.api, world.loop),
      eviction_(world.api, world.loop, claims_, slices_, rules_, invariants_.pods, events_) {
  const auto checkFinalizer = [this](const auto& claim) {
    const auto& finalizers = claim->metadata.finalizers;
    if (claim->status.allocation &&
        std::ranges::find(finalizers, api::kClaimFinalizer) == finalizers.end())
      journal_.violated("allocated claims are protected", "{} has no finalizer",
                        claim->metadata.name);
  };
  claims_.addHandler({checkFinalizer,
                      [checkFinalizer](const auto&, const auto& after) { checkFinalizer(after); },
                      [](const auto&) {}});
  const auto published = [this](const auto& slice) {
    for (const auto& device : slice->spec.devices)
      devices_.try_emplace({slice->spec.driver, slice->spec.pool.name, device.name}, device);
  };
  slices_.addHandler({published, [published](const auto&, const auto& after) { published(after); },
                      [](const auto&) {}});
}

void ClaimsFeature::start() {
  write(kube::mergePatch(
      api_, api::Namespace::kType, {"", "other"},
      {{"metadata", {{"labels", {{std::string(api::kAdminAccessLabel), "true"}}}}}}));
  DynamicResourcesFeature::start();
  rules_.start();
  eviction_.start();
  for (const char* name : {"gpu", "net", "shared"}) setClass(name);
  for (const char* namespace_ : kNamespaces)
    for (int i = 0; i < kTemplates; ++i) setTemplate(namespace_, i);
  const auto add = [this](const std::string& name, json::object where) {
    publish(pools_[name] = networkPool(name, std::move(where)), true);
  };
  add("net", {{"allNodes", true}});
  add("zone",
      {{"nodeSelector",
        {{"nodeSelectorTerms",
          json::array{{{"matchExpressions", json::array{{{"key", "zone"},
                                                         {"operator", "In"},
                                                         {"values", json::array{"a"}}}}}}}}}}});
  loop_.advance(std::chrono::milliseconds(1));
}

// --- Drivers.

void ClaimsFeature::shape(scheduler::testing::NodeBuilder& node) {
  const std::string& name = node.object().metadata.name;
  if (random_.chance(0.25)) return;
  publish(pools_[name] = nodePool(name, random_), false);
}

// A new generation: its slices come and those of the last one go, one by one.
void ClaimsFeature::publish(PoolPlan& pool, bool atOnce) {
  const auto soon = [&] { return Duration(atOnce ? 0 : random_.below(4'000'000'000)); };
  for (const auto& slice : slices_.objects())
    if (slice->spec.pool.name == pool.name && slice->spec.driver == pool.driver)
      loop_.runAfter(soon(), [this, slice] { remove(api::ResourceSlice::kType, slice->metadata); });
  ++pool.generation;
  for (std::size_t part = 0; part < pool.parts.size(); ++part)
    loop_.runAfter(soon(), [this, slice = pool.slice(part)] {
      write(kube::createObject(api_, api::ResourceSlice::kType, {"", ""}, slice));
    });
}

void ClaimsFeature::changePool() {
  if (pools_.empty()) return;
  PoolPlan& pool =
      std::next(pools_.begin(), static_cast<std::ptrdiff_t>(random_.below(pools_.size())))->second;
  const auto devices = pool.devices();
  const std::string& device = *anyOf(devices);
  const double dice = random_.unit();
  if (dice < 0.45) {
    if (pool.taints.erase(device) == 0) {
      const char* effect = pick({"NoSchedule", "NoExecute", "None"});
      pool.taints[device] = json::array{{{"key", "ill"}, {"effect", effect}}};
      journal_.note("{} of {} is ill: {}", device, pool.name, effect);
    } else {
      journal_.note("{} of {} is well", device, pool.name);
    }
  } else if (dice < 0.65) {
    journal_.note("{} of {} goes or comes", device, pool.name);
    if (pool.removed.erase(device) == 0) {
      pool.removed.insert(device);
      withdrawn_.insert({pool.driver, pool.name, device});
    }
  } else if (dice < 0.8) {  // a slice is lost until the next generation
    journal_.note("a slice of {} is lost", pool.name);
    const auto name = pool.sliceName(random_.below(pool.parts.size()));
    return write(kube::deleteObject(api_, api::ResourceSlice::kType, {"", name}));
  }
  if (dice < 0.65 && random_.chance(0.6)) {  // within the generation
    for (std::size_t part = 0; part < pool.parts.size(); ++part) {
      json::object slice = pool.slice(part);
      write(kube::mergePatch(api_, api::ResourceSlice::kType, {"", pool.sliceName(part)},
                             {{"spec", slice["spec"]}}));
    }
    return;
  }
  journal_.note("{} has a new generation", pool.name);
  publish(pool, false);
}

// Drivers say when a device is ready for its pod.
void ClaimsFeature::prepareDevices() {
  for (const ClaimObject& claim : sortedClaims()) {
    if (!claim->status.allocation || readyFor(*claim) || (!quiet_ && random_.chance(0.6))) continue;
    json::array statuses;
    for (const auto& result : std::as_const(*claim->status.allocation).devices.results) {
      if (result.bindingConditions.empty()) continue;
      const char* type = !quiet_ && random_.chance(0.1) ? "example.com/broken" : kReady;
      json::object condition{{"type", type},
                             {"status", "True"},
                             {"reason", "Driver"},
                             {"message", ""},
                             {"lastTransitionTime", "2026-01-01T00:00:00Z"}};
      json::object status{{"driver", result.driver},
                          {"pool", result.pool},
                          {"device", result.device},
                          {"conditions", json::array{std::move(condition)}}};
      if (result.shareID) status["shareID"] = *result.shareID;
      statuses.push_back(std::move(status));
    }
    write(kube::mergePatch(api_, api::ResourceClaim::kType, api::keyOf(claim->metadata),
                           {{"metadata",
                             {{"uid", claim->metadata.uid},
                              {"resourceVersion", std::string(claim->metadata.resourceVersion)}}},
                            {"status", {{"devices", std::move(statuses)}}}},
                           "status"));
  }
}

// As the garbage collector.
void ClaimsFeature::collect() {
  for (const ClaimObject& claim : sortedClaims()) {
    const auto* owner = api::controllerOf(claim->metadata);
    if (!owner || claim->metadata.deletionTimestamp) continue;
    const auto pod = invariants_.pods.get({claim->metadata.namespace_, owner->name});
    if (!pod || pod->metadata.uid != owner->uid) remove(api::ResourceClaim::kType, claim->metadata);
  }
}

void ClaimsFeature::tick() {
  prepareDevices();
  collect();
  std::map<std::string, SliceObject> sorted;
  for (const auto& slice : slices_.objects()) sorted[slice->metadata.name] = slice;
  for (const auto& [name, slice] : sorted)
    if (!slice->spec.nodeName.empty() && !invariants_.nodes.get({"", slice->spec.nodeName}) &&
        random_.chance(0.1)) {
      pools_.erase(slice->spec.nodeName);
      remove(api::ResourceSlice::kType, slice->metadata);
    }
}

// --- Users.

void ClaimsFeature::setClass(const std::string& name) {
  create(api::DeviceClass::kType, "", deviceClass(name, expressionOf(name)));
}

void ClaimsFeature::setTemplate(const std::string& namespace_, int number) {
  create(api::ResourceClaimTemplate::kType, namespace_,
         {{"metadata", {{"name", fmt::format("t{}", number)}}},
          {"spec", {{"spec", claimSpec(random_, namespace_ == "other")}}}});
}

void ClaimsFeature::createClaim() {
  const std::string namespace_ = pick({"default", "other"});
  const std::string name = fmt::format("shared-{}", ++lastClaim_);
  journal_.note("claim {} is created", name);
  create(api::ResourceClaim::kType, namespace_,
         {{"metadata", {{"name", name}}}, {"spec", claimSpec(random_, namespace_ == "other")}});
}

void ClaimsFeature::shape(scheduler::testing::PodBuilder& pod) {
  if (!random_.chance(0.5)) return;
  auto& entries = pod.object().spec.resourceClaims;
  const std::uint64_t count = 1 + random_.below(random_.chance(0.2) ? 3 : 1);
  for (std::uint64_t i = 0; i < count; ++i) {
    auto& entry = entries.emplace_back();
    entry.name = fmt::format("c{}", i);
    if (random_.chance(0.65) || lastClaim_ == 0) {
      entry.resourceClaimTemplateName = fmt::format("t{}", random_.below(kTemplates));
    } else {
      // Often in the other namespace, or in none.
      entry.resourceClaimName =
          fmt::format("shared-{}", 1 + random_.below(static_cast<std::uint64_t>(lastClaim_) + 1));
    }
  }
}

void ClaimsFeature::changeClaim() {
  const auto all = sortedClaims();
  const auto* found = anyOf(all);
  if (!found) return;
  const api::ResourceClaim& claim = **found;
  if (random_.chance(0.5)) {
    journal_.note("somebody deletes claim {}", claim.metadata.name);
    return remove(api::ResourceClaim::kType, claim.metadata);
  }
  patch(api::ResourceClaim::kType, claim.metadata,
        {{"metadata", {{"labels", {{"touched", pick({"a", "b"})}}}}}});
}

void ClaimsFeature::act() {
  const double dice = random_.unit();
  if (dice < 0.3) {
    createClaim();
  } else if (dice < 0.5) {
    changeClaim();
  } else if (dice < 0.85) {
    changePool();
  } else if (dice < 0.95) {
    const std::string namespace_ = pick({"default", "other"});
    const int number = static_cast<int>(random_.below(kTemplates));
    journal_.note("template t{} of {} is another", number, namespace_);
    write(kube::deleteObject(api_, api::ResourceClaimTemplate::kType,
                             {namespace_, fmt::format("t{}", number)}));
    loop_.runAfter(Duration(random_.below(3'000'000'000)), [this, namespace_, number] {
      write(kube::createObject(api_, api::ResourceClaimTemplate::kType, {namespace_, ""},
                               {{"metadata", {{"name", fmt::format("t{}", number)}}},
                                {"spec", {{"spec", claimSpec(random_, namespace_ == "other")}}}}));
    });
  } else {
    const std::string name = pick({"gpu", "net", "shared", "rare"});
    journal_.note("class {} goes and comes back", name);
    write(kube::deleteObject(api_, api::DeviceClass::kType, {"", name}));
    loop_.runAfter(Duration(random_.below(5'000'000'000)), [this, name] {
      write(kube::createObject(api_, api::DeviceClass::kType, {"", ""},
                               deviceClass(name, expressionOf(name))));
    });
  }
}

// --- What a process decides.

std::string ClaimsFeature::describe(const api::AllocationResult& allocation) {
  std::string text;
  for (const auto& result : allocation.devices.results)
    text += fmt::format(" {}={}/{}{}", result.request, result.pool, result.device,
                        result.adminAccess.value_or(false) ? " (admin)" : "");
  return text;
}

std::shared_ptr<PlainClaims> ClaimsFeature::viewOf(scheduler::Handle& handle,
                                                   const std::string& without) {
  auto plain = std::make_shared<PlainClaims>();
  for (const ClaimObject& claim : knownClaims(handle))
    plain->claims[api::keyOf(claim->metadata).toString()] = claim;
  for (const auto& [key, class_] : handle.stores().of<api::DeviceClass>().all())
    plain->classes[key.name] = class_;
  std::map<std::string, SliceObject> sorted;
  for (const auto& [key, slice] : handle.stores().of<api::ResourceSlice>().all())
    sorted[key.name] = slice;
  for (const auto& [name, slice] : sorted) plain->slices.push_back(slice);
  for (const InFlight& each : inFlight(handle, without))
    plain->inFlight[each.claim] = each.allocation;
  return plain;
}

void ClaimsFeature::addRules(scheduler::Handle& handle, const std::string& without, Model& model) {
  const auto plain = viewOf(handle, without);
  std::set<std::string> fresh;  // claims that PostFilter may just have released
  for (const auto& [uid, time] : released_)
    if (loop_.steadyNow() - time < std::chrono::seconds(5)) fresh.insert(uid);
  model.excluding.push_back([plain](const Model&, const api::Pod& pod, const api::Node& node) {
    std::vector<std::string> reasons;
    if (pod.spec.resourceClaims.empty()) return reasons;
    if (auto verdict = plain->ask(pod, node); verdict.answer == PlainClaims::Answer::Lacks)
      reasons.push_back(std::move(verdict.why));
    return reasons;
  });
  // The victims of a plan take along what is being allocated for them.
  auto allocating = std::make_shared<std::vector<std::string>>();
  for (const InFlight& each : inFlight(handle, without))
    if (!each.pod.empty()) allocating->push_back(each.pod);
  model.undecided.push_back(
      [plain, fresh, allocating](const Model& now, const api::Pod& pod, const api::Node& node) {
        if (pod.spec.resourceClaims.empty()) return false;
        for (const std::string& uid : *allocating)
          if (!now.pods.contains(uid)) return true;
        std::string problem;
        for (const ClaimObject& claim : plain->claimsOf(pod, problem))
          if (fresh.contains(claim->metadata.uid)) return true;
        return plain->ask(pod, node).answer == PlainClaims::Answer::Undecided;
      });
}

void ClaimsFeature::chosen(scheduler::Handle& handle, const api::Pod& pod, const Model&,
                           Choice& choice) {
  ++attempts_[pod.metadata.uid];
  const auto* record = handle.cluster().findPod(pod.metadata.uid);
  const auto* granted = record ? DeviceManager::of(handle).ledger.in(record->grants) : nullptr;
  if (!granted || granted->promises.empty()) return;
  const auto plain = viewOf(handle, pod.metadata.uid);
  const auto& node = *handle.cluster().node(record->node).object;
  std::vector<std::pair<ClaimObject, AllocationObject>> own;
  std::string problem;
  for (const ClaimObject& claim : plain->claimsOf(pod, problem))
    for (const auto& promise : granted->promises)
      if (promise.claim == claim->metadata.uid) {
        own.emplace_back(claim, promise.allocation);
        journal_.note("{} is to get{}", claim->metadata.name, describe(*promise.allocation));
        auto& promises = promises_[promise.claim];
        if (promises.size() > 20) promises.erase(promises.begin());
        promises.push_back({choice.process, describe(*promise.allocation), choice.number});
      }
  if (own.size() != granted->promises.size())
    return journal_.violated("an allocation for each claim", "{} has {} allocations, {} claims",
                             pod.metadata.name, granted->promises.size(), own.size());
  if (const std::string wrong = plain->wrongWith(own, node); !wrong.empty())
    return journal_.violated("devices that are asked for", "{} on {}: {}", pod.metadata.name,
                             choice.node, wrong);
  const auto verdict = plain->ask(pod, node);
  if (verdict.answer != PlainClaims::Answer::Fits) return;
  std::set<std::string> is;
  for (const auto& [claim, allocation] : own)
    for (const auto& result : allocation->devices.results)
      is.insert(claim->metadata.uid + ": " + result.request);
  if (const std::set<std::string> best(verdict.requests.begin(), verdict.requests.end());
      is != best)
    journal_.violated("the first alternative that fits", "{} on {} gets{}", pod.metadata.name,
                      choice.node, describe(*own.front().second));
}

// --- What the store shows.

void ClaimsFeature::deallocated(const api::ResourceClaim& claim) {
  held_.erase(claim.metadata.uid);
  released_[claim.metadata.uid] = loop_.steadyNow();
}

// Processes that follow another one may not have seen yet what it allocated last.
void ClaimsFeature::allocated(const api::ResourceClaim& claim) {
  const api::AllocationResult& allocation = *claim.status.allocation;
  const std::string devices = describe(allocation);
  journal_.note("claim {} has{}", claim.metadata.name, devices);
  Held own{"", loop_.steadyNow(), 0};
  for (const Promise& promise : promises_[claim.metadata.uid])
    if (promise.devices == devices) own = {promise.process, own.time, promise.number};
  if (own.process.empty())
    return journal_.violated("chosen devices", "nobody chose{} for {}", devices,
                             claim.metadata.name);
  held_[claim.metadata.uid] = own;
  const auto find = [this](const DeviceName& name) {
    const auto it = devices_.find(name);
    return it == devices_.end() ? nullptr : &it->second;
  };
  // A device that is not published takes nothing from the counters, and a process may not know yet
  // that it is published again: chosen() compares with what the process knows.
  const auto findLasting = [&](const DeviceName& name) {
    return withdrawn_.contains(name) ? nullptr : find(name);
  };
  PlainUse use;
  for (const ClaimObject& other : sortedClaims()) {
    const auto held = held_.find(other->metadata.uid);
    if (other->metadata.uid == claim.metadata.uid || held == held_.end() ||
        !other->status.allocation)
      continue;
    if (held->second.process == own.process || held->second.time < invariants_.startOf(own.process))
      use.add(*other->status.allocation, findLasting);
  }
  std::map<std::string, std::int64_t> totals{{"card/slices", 8}};
  for (const auto& result : allocation.devices.results) {
    const DeviceName name{result.driver, result.pool, result.device};
    const api::SliceDevice* device = find(name);
    if (result.adminAccess.value_or(false) || !device) continue;
    const auto* consumed = result.shareID ? &result.consumedCapacity : nullptr;
    if (const std::string why = use.conflict(name, *device, consumed, totals); !why.empty())
      return journal_.violated("devices are given once", "{} of {} {}, and {} has it",
                               result.device, result.pool, why, claim.metadata.name);
    use.add(name, device, consumed);
  }
}

void ClaimsFeature::told(const api::Pod& pod) {
  const std::string wrong = unprepared(pod);
  if (wrong.empty()) return;
  // A request to bind that seemed lost may arrive when its attempt has ended. The claim controller
  // reserves the claims then.
  if (attempts_[pod.metadata.uid] < 2)
    return journal_.violated("bound with its claims", "{}", wrong);
  loop_.runAfter(std::chrono::seconds(20),
                 [this, uid = pod.metadata.uid, wrong, key = api::keyOf(pod.metadata)] {
                   const auto now = invariants_.pods.get(key);
                   if (!now || now->metadata.uid != uid || now->metadata.deletionTimestamp) return;
                   if (const std::string still = unprepared(*now); !still.empty())
                     journal_.note("{} was bound late, and lost: {}", key.toString(), still);
                 });
}

std::string ClaimsFeature::unprepared(const api::Pod& pod) const {
  const api::PodClaimNames names(pod);
  for (const auto& entry : pod.spec.resourceClaims) {
    const std::string* name = names.of(entry);
    const auto claim = name ? claims_.get({pod.metadata.namespace_, *name}) : nullptr;
    if (!claim && names.needsNone(entry)) continue;
    if (!claim) return fmt::format("{} lacks {}", pod.metadata.name, entry.name);
    if (!claim->status.allocation)
      return fmt::format("{} of {} is not allocated", *name, pod.metadata.name);
    if (!api::isReservedFor(*claim, pod.metadata.uid))
      return fmt::format("{} is not reserved for {}", *name, pod.metadata.name);
    if (!readyFor(*claim)) return fmt::format("{} of {} is not ready", *name, pod.metadata.name);
  }
  return "";
}

// What a claim should have lost when all is quiet.
std::string ClaimsFeature::stale(const api::ResourceClaim& claim) const {
  const std::string& name = claim.metadata.name;
  for (const auto& user : claim.status.reservedFor) {
    const auto pod = invariants_.pods.get({claim.metadata.namespace_, user.name});
    if (!pod || pod->metadata.uid != user.uid || api::isTerminal(*pod))
      return fmt::format("{} is reserved for {}, which was deleted", name, user.name);
  }
  if (claim.metadata.deletionTimestamp && !claim.status.allocation)
    return fmt::format("{} is deleted, unused, and still there", name);
  const auto* owner = api::controllerOf(claim.metadata);
  if (!owner) return "";
  const auto pod = invariants_.pods.get({claim.metadata.namespace_, owner->name});
  if (pod && pod->metadata.uid == owner->uid) return "";
  return fmt::format("{} is there, its pod {} is gone", name, owner->name);
}

std::string ClaimsFeature::differences(scheduler::Handle& handle, const Model& model) {
  if (auto other = DynamicResourcesFeature::differences(handle, model); !other.empty())
    return other;
  DeviceManager& manager = DeviceManager::of(handle);
  scheduler::dra::Usage usage;
  for (const ClaimObject& claim : sortedClaims()) {
    if (auto wrong = stale(*claim); !wrong.empty()) return wrong;
    if (claim->status.allocation) usage.add(*claim->status.allocation);
  }
  const auto text = [](const scheduler::dra::Usage& of) {
    std::set<std::string> lines;
    of.forEach([&](const auto& pool, const auto& use) {
      for (const auto& [device, one] : use.devices) {
        std::string line =
            fmt::format("{}/{}: {} + {}", pool.toString(), device, one.whole, one.shares);
        for (const auto& [name, amount] : one.consumed)
          line += fmt::format(" {}={}", name, amount.value());
        lines.insert(std::move(line));
      }
    });
    return fmt::format("{}", fmt::join(lines, "; "));
  };
  if (text(usage) != text(manager.usage))
    return fmt::format("in use: {}; counted: {}", text(usage), text(manager.usage));
  return "";
}

}  // namespace koord::simulation
