#include "simulation/features/shared_gpus.h"

#include <algorithm>
#include <charconv>

#include "scheduler/plugins/deviceshare/device_object.h"
#include "scheduler/plugins/deviceshare/device_table.h"
#include "scheduler/plugins/dynamicresources/manager.h"
#include "simulation/features/devices.h"
#include "simulation/features/plain_reservations.h"

namespace koord::simulation {

using scheduler::DeviceManager;

namespace {

constexpr const char* kSharedGpuDriver = "gpus.example.com";
constexpr int kParts = 2;  // of each GPU

// "gpu-1" and "part-1-0" are of GPU 1.
int gpuOf(const std::string& device) {
  const auto dash = device.find('-');
  int minor = -1;
  if (dash != std::string::npos)
    std::from_chars(device.data() + dash + 1, device.data() + device.size(), minor);
  return minor;
}

std::set<int> gpusOf(const api::AllocationResult& allocation) {
  std::set<int> minors;
  for (const auto& result : allocation.devices.results)
    if (result.driver == kSharedGpuDriver) minors.insert(gpuOf(result.device));
  return minors;
}

std::string poolOf(const api::AllocationResult& allocation) {
  const auto& results = allocation.devices.results;
  return results.empty() ? "" : results.front().pool;
}

std::set<int> gpusOf(const api::Pod& pod) {
  std::set<int> minors;
  for (const auto& [key, amounts] : PlainDeviceGrant::of(pod.metadata.annotations).parts)
    if (key.first == "gpu") minors.insert(key.second);
  return minors;
}

bool intersect(const std::set<int>& a, const std::set<int>& b) {
  return std::ranges::any_of(a, [&](int minor) { return b.contains(minor); });
}

}  // namespace

SharedGpusFeature::SharedGpusFeature(const Surroundings& world, Random random)
    : DynamicResourcesFeature(world, random), devices_(world.api, world.loop) {
  const auto listed = [this](const auto& device) {
    std::set<int>& gpus = gpus_[device->metadata.name];
    const std::size_t before = gpus.size();
    for (const api::DeviceInfo& info : device->spec.devices)
      if (info.type == "gpu" && info.minor) gpus.insert(*info.minor);
    if (gpus.size() != before) publish(device->metadata.name);
  };
  devices_.addHandler(
      {listed, [listed](const auto&, const auto& after) { listed(after); }, [](const auto&) {}});
}

void SharedGpusFeature::start() {
  DynamicResourcesFeature::start();
  devices_.start();
  for (const char* type : {"gpu", "part"})
    create(api::DeviceClass::kType, "",
           {{"metadata", {{"name", fmt::format("whole-or-{}", type)}}},
            {"spec",
             {{"selectors",
               json::array{{{"cel",
                             {{"expression", fmt::format("device.attributes[\"{}\"].type == \"{}\"",
                                                         kSharedGpuDriver, type)}}}}}}}}});
}

// --- The driver.

// All GPUs of the node and their parts, in one slice of a new generation.
void SharedGpusFeature::publish(const std::string& node) {
  json::array devices, counterSets;
  const auto text = [](std::string value) { return json::object{{"string", std::move(value)}}; };
  for (const int minor : gpus_[node]) {
    const std::string set = fmt::format("set-{}", minor);
    const auto consumes = [&](int amount) {
      return json::array{
          {{"counterSet", set}, {"counters", {{"parts", {{"value", std::to_string(amount)}}}}}}};
    };
    const std::string id = fmt::format("{}-gpu-{}", node, minor);
    devices.push_back({{"name", fmt::format("gpu-{}", minor)},
                       {"attributes", {{"type", text("gpu")}, {"uuid", text(id)}}},
                       {"consumesCounters", consumes(kParts)}});
    for (int part = 0; part < kParts; ++part) {
      json::object attributes{{"type", text("part")}};
      // Some drivers name the GPU, and some only share its counters.
      if (part == 0) attributes["parentUUID"] = text(id);
      devices.push_back({{"name", fmt::format("part-{}-{}", minor, part)},
                         {"attributes", std::move(attributes)},
                         {"consumesCounters", consumes(1)}});
    }
    counterSets.push_back(
        {{"name", set}, {"counters", {{"parts", {{"value", std::to_string(kParts)}}}}}});
  }
  const std::int64_t generation = ++generations_[node];
  const auto slice = [&](const char* kind, const char* field, json::array list) {
    return json::object{
        {"metadata", {{"name", fmt::format("{}-{}-{}", node, kind, generation)}}},
        {"spec",
         {{"driver", kSharedGpuDriver},
          {"nodeName", node},
          {"pool", {{"name", node}, {"generation", generation}, {"resourceSliceCount", 2}}},
          {field, std::move(list)}}}};
  };
  for (json::object& object : std::array{slice("sets", "sharedCounters", std::move(counterSets)),
                                         slice("gpus", "devices", std::move(devices))})
    write(kube::createObject(api_, api::ResourceSlice::kType, {"", ""}, object));
  // A process that starts while a pool has no slice would give no devices of the node.
  for (const auto& old : slices_.objects())
    if (old->spec.pool.name == node)
      loop_.runAfter(Duration(random_.below(2'000'000'000)),
                     [this, old] { remove(api::ResourceSlice::kType, old->metadata); });
}

void SharedGpusFeature::act() {
  if (gpus_.empty()) return;
  const auto node =
      std::next(gpus_.begin(), static_cast<std::ptrdiff_t>(random_.below(gpus_.size())))->first;
  journal_.note("the driver of {} restarts", node);
  publish(node);
}

void SharedGpusFeature::quiet() {
  for (const auto& [node, gpus] : gpus_) publish(node);
}

// --- Users.

void SharedGpusFeature::shape(scheduler::testing::PodBuilder& pod) {
  const auto& requests = pod.object().spec.containers.back().resources.requests;
  const bool hasDevices = std::ranges::any_of(
      requests, [](const auto& each) { return each.first.find('/') != std::string::npos; });
  if (hasDevices || !random_.chance(0.7)) return;
  auto& entry = pod.object().spec.resourceClaims.emplace_back();
  entry.name = "gpus";
  const bool shares = pod.object().metadata.namespace_ == lastNamespace_ && random_.chance(0.2);
  if (!shares) {
    ++lastClaim_;
    lastNamespace_ = pod.object().metadata.namespace_;
    json::object exactly{{"deviceClassName", pick({"whole-or-gpu", "whole-or-part"})},
                         {"allocationMode", "ExactCount"},
                         {"count", random_.chance(0.8) ? 1 : 2}};
    create(api::ResourceClaim::kType, lastNamespace_,
           {{"metadata", {{"name", fmt::format("gpus-{}", lastClaim_)}}},
            {"spec",
             {{"devices",
               {{"requests", json::array{{{"name", "gpu"}, {"exactly", std::move(exactly)}}}}}}}}});
  }
  entry.resourceClaimName = fmt::format("gpus-{}", lastClaim_);
}

// --- Plain evaluation: a GPU of which a claim has something has nothing for DeviceShare. What
// claims get is left to the plugin.

void SharedGpusFeature::addRules(scheduler::Handle& handle, const std::string& without,
                                 Model& model) {
  struct Held {
    std::string node;
    std::set<int> gpus;
    std::string pod;  // uid; "" if the claim stays allocated without its pods
  };
  auto held = std::make_shared<std::vector<Held>>();
  const auto add = [&held](const api::AllocationResult& allocation, const std::string& pod) {
    held->push_back({poolOf(allocation), gpusOf(allocation), pod});
  };
  for (const ClaimObject& claim : knownClaims(handle))
    if (claim->status.allocation) add(*claim->status.allocation, "");
  for (const InFlight& each : inFlight(handle, without)) add(*each.allocation, each.pod);
  const auto plain = PlainDevices::of(handle, without);
  using Answer = PlainDevices::Answer;
  const auto askWithout = [plain](const std::set<int>& taken, const Model& now, const api::Pod& pod,
                                  const api::Node& node) {
    PlainDevices left = *plain;
    const auto known = left.devices.find(node.metadata.name);
    if (taken.empty() || known == left.devices.end()) return Answer::Fits;
    auto parts = std::make_shared<DeviceParts>(*known->second);
    for (const int minor : taken) parts->erase({"gpu", minor});
    known->second = parts;
    return left.ask(now, pod, node);
  };
  // The allocation of a victim may reach the store nevertheless.
  const auto ask = [askWithout, held](const Model& now, const api::Pod& pod,
                                      const api::Node& node) {
    std::set<int> atLeast, atMost;
    for (const Held& each : *held) {
      if (each.node != node.metadata.name) continue;
      atMost.insert(each.gpus.begin(), each.gpus.end());
      if (each.pod.empty() || now.pods.contains(each.pod))
        atLeast.insert(each.gpus.begin(), each.gpus.end());
    }
    const Answer answer = askWithout(atMost, now, pod, node);
    return answer == askWithout(atLeast, now, pod, node) ? answer : Answer::Undecided;
  };
  model.rules.push_back([ask](const Model& now, const api::Pod& pod, const api::Node& node) {
    std::vector<std::string> reasons;
    if (ask(now, pod, node) == Answer::Lacks) reasons.emplace_back("devices have claims");
    return reasons;
  });
  model.undecided.push_back([ask](const Model& now, const api::Pod& pod, const api::Node& node) {
    return !pod.spec.resourceClaims.empty() || ask(now, pod, node) == Answer::Undecided;
  });
}

// --- What processes decide, and what the store shows.

void SharedGpusFeature::chosen(scheduler::Handle& handle, const api::Pod& pod, const Model&,
                               Choice& choice) {
  const auto* record = handle.cluster().findPod(pod.metadata.uid);
  const auto* granted = record ? DeviceManager::of(handle).ledger.in(record->grants) : nullptr;
  if (!granted) return;
  for (const auto& promise : granted->promises)
    choosing_[promise.claim] = {choice.process, choice.number, SteadyTime::max()};
}

void SharedGpusFeature::deallocated(const api::ResourceClaim& claim) {
  choosing_.erase(claim.metadata.uid);
}

void SharedGpusFeature::allocated(const api::ResourceClaim& claim) {
  std::string devices;
  for (const auto& result : std::as_const(*claim.status.allocation).devices.results)
    devices += " " + result.pool + "/" + result.device;
  journal_.note("claim {} has{}", claim.metadata.name, devices);
  choosing_[claim.metadata.uid].stored = loop_.steadyNow();
}

std::vector<ClaimObject> SharedGpusFeature::claimsOn(const std::string& node,
                                                     const std::set<int>& minors) const {
  std::vector<ClaimObject> found;
  for (const ClaimObject& claim : sortedClaims())
    if (claim->status.allocation && poolOf(*claim->status.allocation) == node &&
        intersect(gpusOf(*claim->status.allocation), minors))
      found.push_back(claim);
  return found;
}

// The process must know what it chose before itself, and what was stored before it started.
void SharedGpusFeature::bound(const api::Pod& pod, const Choice& choice) {
  const std::set<int> own = gpusOf(pod);
  if (!own.empty() && !PlainReservations::ignores(pod)) {
    for (const ClaimObject& claim : claimsOn(choice.node, own)) {
      const auto chosen = choosing_.find(claim->metadata.uid);
      if (chosen == choosing_.end()) continue;
      const bool same = chosen->second.process == choice.process;
      if (same ? chosen->second.number < choice.number
               : chosen->second.stored < invariants_.startOf(choice.process))
        journal_.violated("one plugin per GPU", "{} gets a GPU of {} that claim {} has",
                          pod.metadata.name, choice.node, claim->metadata.name);
    }
  }
  for (const auto& entry : pod.spec.resourceClaims) {
    const auto claim = claims_.get({pod.metadata.namespace_, entry.resourceClaimName.value_or("")});
    if (!claim || !claim->status.allocation) continue;
    const auto chosen = choosing_.find(claim->metadata.uid);
    if (chosen == choosing_.end() || chosen->second.process != choice.process ||
        chosen->second.number != choice.number)
      continue;  // another pod had it allocated
    for (const auto& other : invariants_.holders(choice))
      if (other->metadata.uid != pod.metadata.uid &&
          intersect(gpusOf(*other), gpusOf(*claim->status.allocation)))
        journal_.violated("one plugin per GPU", "claim {} gets a GPU of {} that {} has",
                          claim->metadata.name, choice.node, other->metadata.name);
  }
}

}  // namespace koord::simulation
