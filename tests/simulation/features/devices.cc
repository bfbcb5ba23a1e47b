#include "simulation/features/devices.h"

#include <algorithm>

#include "model/pod_requests.h"
#include "model/well_known.h"
#include "scheduler/plugins/deviceshare/device_object.h"
#include "scheduler/plugins/deviceshare/device_table.h"
#include "scheduler/plugins/deviceshare/devices/demand.h"
#include "scheduler/plugins/deviceshare/devices/inventory.h"
#include "simulation/features/plain_reservations.h"

namespace koord::simulation {

using scheduler::DeviceTable;
using scheduler::testing::quantity;

namespace {

constexpr const char* kResources[] = {"nvidia.com/gpu",
                                      "koordinator.sh/gpu",
                                      "koordinator.sh/gpu-core",
                                      "koordinator.sh/gpu-memory-ratio",
                                      "koordinator.sh/gpu.shared",
                                      "koordinator.sh/rdma"};

PlainDeviceGrant deviceGrantOf(const api::Pod& pod) {
  return PlainDeviceGrant::of(pod.metadata.annotations);
}

std::string describeGrant(const PlainDeviceGrant& grant) {
  std::string text;
  for (const auto& [key, amounts] : grant.parts) {
    text += fmt::format(" {} {}", key.first, key.second);
    for (const auto& [resource, amount] : amounts) text += fmt::format(" {}={}", resource, amount);
  }
  for (const auto& [key, function] : grant.functions) text += " " + function;
  return text.empty() ? " no devices" : text;
}

std::int64_t deviceVersionOf(const api::ObjectMeta& meta) {
  return std::stoll(meta.resourceVersion);
}

}  // namespace

DevicesFeature::DevicesFeature(const Surroundings& world, Random random)
    : Feature(world, random), devices_(world.api, world.loop) {
  const auto seen = [this](const auto& device) {
    invariants_.touched();
    history_[device->metadata.name].emplace_back(deviceVersionOf(device->metadata), device);
  };
  devices_.addHandler({seen, [seen](const auto&, const auto& after) { seen(after); },
                       [this](const auto& device) {
                         invariants_.touched();
                         history_[device->metadata.name].emplace_back(0, nullptr);
                       }});
}

// Its scores are not used, because plain evaluation does not know them. It reserves before
// Reservation, as in the default configuration; plugins of single extension points would come after
// those of all points.
void DevicesFeature::configure(scheduler::ProfileConfig& profile) const {
  profile.plugins["multiPoint"].enabled.push_back({"DeviceShare", 0});
  for (const char* point : {"preScore", "score"})
    profile.plugins[point].disabled.push_back("DeviceShare");
}

void DevicesFeature::begin() {
  define(Device::kType, Status::Within);
}

void DevicesFeature::start() {
  devices_.start();
}

api::Device DevicesFeature::anyDevice(const std::string& node) {
  api::Device device;
  device.metadata.name = node;
  const auto add = [&](const char* type, int minor) -> api::DeviceInfo& {
    api::DeviceInfo& info = device.spec.devices.emplace_back();
    info.type = type;
    info.minor = minor;
    info.health = true;
    info.id = fmt::format("{}-{}-{}", node, type, minor);
    const int numa = minor % 2;
    info.topology = api::DeviceTopology{numa, numa, fmt::format("pcie-{}", numa), ""};
    return info;
  };
  const int gpus = static_cast<int>(1 + random_.below(4));
  for (int minor = 0; minor < gpus; ++minor)
    add("gpu", minor).resources = {{"koordinator.sh/gpu-core", quantity("100")},
                                   {"koordinator.sh/gpu-memory-ratio", quantity("100")},
                                   {"koordinator.sh/gpu-memory", quantity("16Gi")}};
  const int cards = static_cast<int>(random_.below(3));
  for (int minor = 0; minor < cards; ++minor) {
    api::DeviceInfo& info = add("rdma", minor);
    info.resources = {{"koordinator.sh/rdma", quantity("100")}};
    auto& group = info.vfGroups.emplace_back();
    group.labels["type"] = "general";
    for (int n = 0; n < 3; ++n) group.vfs.push_back({n, fmt::format("0000:0{}:00.{}", minor, n)});
  }
  return device;
}

// Before its node exists, or long after.
void DevicesFeature::report(const std::string& node) {
  loop_.runAfter(Duration(random_.chance(0.5) ? 0 : random_.below(15'000'000'000)), [this, node] {
    write(kube::createObject(api_, Device::kType, {"", ""}, api::encodeObject(plans_[node])));
  });
}

void DevicesFeature::shape(scheduler::testing::NodeBuilder& node) {
  if (random_.chance(0.25)) return;
  // So much of everything that only devices are scarce.
  for (const char* resource : kResources) node.allocatable(resource, "100000");
  node.allocatable("koordinator.sh/gpu-memory", "100Ti");
  const std::string name = node.object().metadata.name;
  plans_[name] = anyDevice(name);
  if (random_.chance(0.9)) report(name);
}

void DevicesFeature::shape(scheduler::testing::PodBuilder& pod) {
  if (!random_.chance(0.5)) return;
  auto& annotations = pod.object().metadata.annotations;
  const double dice = random_.unit();
  if (dice < 0.3) {
    pod.request("nvidia.com/gpu", pick({"1", "1", "2", "3"}));
  } else if (dice < 0.5) {
    pod.request("koordinator.sh/gpu", pick({"30", "50", "100", "200"}));
  } else if (dice < 0.65) {
    const char* part = pick({"25", "50", "70"});
    pod.request("koordinator.sh/gpu-core", part).request("koordinator.sh/gpu-memory-ratio", part);
  } else if (dice < 0.75) {
    pod.request("koordinator.sh/gpu.shared", "2")
        .request("koordinator.sh/gpu-core", "60")
        .request("koordinator.sh/gpu-memory-ratio", pick({"60", "120"}));
  } else if (dice < 0.85) {
    pod.request("koordinator.sh/gpu", "100").request("koordinator.sh/rdma", "100");
    if (random_.chance(0.5))
      annotations[std::string(scheduler::kAnnotationDeviceJoint)] =
          R"({"deviceTypes":["gpu","rdma"]})";
  } else {
    pod.request("koordinator.sh/rdma", pick({"1", "50", "100", "200"}));
    if (random_.chance(0.6))
      annotations[std::string(scheduler::kAnnotationDeviceHint)] =
          R"({"rdma":{"vfSelector":{"matchLabels":{"type":"general"}}}})";
  }
  // The API server rejects pods that request devices without limits.
  auto& resources = pod.object().spec.containers.back().resources;
  for (const auto& [name, amount] : resources.requests)
    if (name.find('/') != std::string::npos) resources.limits[name] = amount;
}

void DevicesFeature::shape(api::Reservation& reservation) {
  if (!random_.chance(0.4)) return;
  auto& containers = reservation.spec.template_.as_object()["spec"].as_object()["containers"];
  auto& resources = containers.as_array()[0].as_object()["resources"].as_object()["requests"];
  if (random_.chance(0.6)) {
    resources.as_object()["koordinator.sh/gpu"] = pick({"50", "100", "200"});
  } else {
    resources.as_object()["koordinator.sh/rdma"] = pick({"50", "100"});
  }
}

void DevicesFeature::act() {
  std::map<std::string, Invariants::NodeObject> sorted;
  for (const auto& node : invariants_.nodes.objects())
    if (plans_.contains(node->metadata.name)) sorted[node->metadata.name] = node;
  if (sorted.empty()) return;
  const auto it =
      std::next(sorted.begin(), static_cast<std::ptrdiff_t>(random_.below(sorted.size())));
  if (const auto device = devices_.get({"", it->first})) return changeDevice(*device);
  journal_.note("the Device of {} comes", it->first);
  report(it->first);
}

void DevicesFeature::changeDevice(const Device& device) {
  const std::string& name = device.metadata.name;
  changed_[name] = loop_.steadyNow();
  if (random_.chance(0.2)) {
    journal_.note("the Device of {} goes", name);
    return remove(Device::kType, device.metadata);
  }
  api::Device changed = device;
  auto& all = changed.spec.devices;
  if (all.empty() || random_.chance(0.3)) {
    journal_.note("{} has all of its devices", name);
    all = plans_[name].spec.devices;
  } else if (auto& one = all[random_.below(all.size())]; random_.chance(0.6)) {
    one.health = !one.health;
    journal_.note("{} {} of {} is {}", one.type, one.minor.value_or(-1), name,
                  one.health ? "well" : "ill");
  } else {
    journal_.note("{} {} of {} is taken out", one.type, one.minor.value_or(-1), name);
    all.erase(all.begin() + (&one - all.data()));
  }
  const json::value now = api::encodeObject(changed);
  const json::value* list = at(now, "spec", "devices");
  patch(Device::kType, device.metadata,
        {{"spec", {{"devices", list ? *list : json::value(json::array())}}}});
}

// Deletes the Devices of deleted nodes.
void DevicesFeature::tick() {
  std::map<std::string, DevicePtr> sorted;
  for (const auto& device : devices_.objects()) sorted[device->metadata.name] = device;
  for (const auto& [name, device] : sorted)
    if (!invariants_.nodes.get({"", name}) && random_.chance(0.05))
      remove(Device::kType, device->metadata);
}

void DevicesFeature::addRules(scheduler::Handle& handle, const std::string& without, Model& model) {
  const auto plain = PlainDevices::of(handle, without);
  using Answer = PlainDevices::Answer;
  model.rules.push_back([plain](const Model& now, const api::Pod& pod, const api::Node& node) {
    std::vector<std::string> reasons;
    if (plain->ask(now, pod, node) == Answer::Lacks) reasons.emplace_back("Insufficient devices");
    return reasons;
  });
  model.undecided.push_back([plain](const Model& now, const api::Pod& pod, const api::Node& node) {
    // Which reservation the pod uses depends on its devices.
    const bool matched = now.given && now.given(now, pod, node, "pods") > 0;
    return plain->ask(now, pod, node) == Answer::Undecided ||
           (matched && !PlainDeviceWish::of(pod).parts.empty());
  });
}

void DevicesFeature::chosen(scheduler::Handle& handle, const api::Pod&, const Model&,
                            Choice& choice) {
  const auto device = handle.stores().of<Device>().get({"", choice.node});
  choice.facts["device"] = device ? deviceVersionOf(device->metadata) : 0;
  const auto node = handle.cluster().findNode(choice.node);
  const auto* known = node ? DeviceTable::of(handle).at(*node) : nullptr;
  choice.facts["devices known"] = known ? 1 : 0;
}

std::vector<DevicesFeature::DevicePtr> DevicesFeature::devicesSince(const Choice& choice) const {
  std::vector<DevicePtr> devices;
  const auto history = history_.find(choice.node);
  if (history == history_.end()) return devices;
  const auto known = std::ranges::find(history->second, choice.facts.at("device"),
                                       [](const auto& entry) { return entry.first; });
  for (auto it = known; it != history->second.end(); ++it)
    if (it->second) devices.push_back(it->second);
  return devices;
}

std::int64_t DevicesFeature::sumOf(const std::vector<PodObject>& holders, const DeviceKey& device,
                                   const std::string& resource, const std::string& without) {
  const auto partOf = [&](const api::Pod& pod) -> std::int64_t {
    const PlainDeviceGrant grant = deviceGrantOf(pod);
    const auto part = grant.parts.find(device);
    if (part == grant.parts.end()) return 0;
    const auto amount = part->second.find(resource);
    return amount == part->second.end() ? 0 : amount->second;
  };
  std::map<std::string, std::int64_t> owners;  // by reservation
  for (const auto& pod : holders)
    if (!PlainReservations::isReservePod(*pod) && pod->metadata.uid != without)
      owners[PlainReservations::reservationOf(*pod)] += partOf(*pod);
  for (const auto& pod : holders)
    if (PlainReservations::isReservePod(*pod) && pod->metadata.uid != without) {
      std::int64_t& used = owners[pod->metadata.uid];
      used = std::max(used, partOf(*pod));
    }
  std::int64_t sum = 0;
  for (const auto& [reservation, used] : owners) sum += used;
  return sum;
}

void DevicesFeature::told(const api::Pod& pod) {
  if (const PlainDeviceGrant own = deviceGrantOf(pod); own != PlainDeviceGrant())
    journal_.note("pod {} has{}", pod.metadata.name, describeGrant(own));
}

void DevicesFeature::bound(const api::Pod& pod, const Choice& choice) {
  const PlainDeviceGrant own = deviceGrantOf(pod);
  const std::string& name = pod.metadata.name;
  if (choice.facts.at("devices known") != 0) {
    for (const auto& wanted : PlainDeviceWish::of(pod).parts) {
      const auto count = std::ranges::count_if(
          own.parts, [&](const auto& part) { return part.first.first == wanted.type; });
      if (count < wanted.count)
        journal_.violated("devices that are wanted", "{} wants {} of {} and has{}", name,
                          wanted.count, wanted.type, describeGrant(own));
    }
  }
  if (own == PlainDeviceGrant()) return;
  const auto devices = devicesSince(choice);
  const auto holders = invariants_.holders(choice);
  for (const auto& [device, amounts] : own.parts) {
    for (const auto& [resource, amount] : amounts) {
      std::int64_t most = 0;
      for (const auto& one : devices) {
        const DeviceParts parts = partsOf(*one);
        const auto part = parts.find(device);
        if (part != parts.end() && part->second.contains(resource))
          most = std::max(most, part->second.at(resource));
      }
      const std::int64_t sum = sumOf(holders, device, resource);
      // A pod that uses a part of what its reservation had before adds nothing.
      const bool adds = sum > sumOf(holders, device, resource, pod.metadata.uid);
      if (sum > most && adds && !PlainReservations::ignores(pod))
        journal_.violated("devices", "{} takes {} {} of {} to {} of {} {}", name, device.first,
                          device.second, choice.node, sum, most, resource);
    }
  }
  for (const auto& function : own.functions) {
    if (std::ranges::none_of(devices,
                             [&](const auto& one) { return functionsOf(*one).contains(function); }))
      journal_.violated("functions that are there", "{} has {}", name, function.second);
    for (const auto& other : holders)
      if (other->metadata.uid != pod.metadata.uid && !PlainReservations::mayShare(pod, *other) &&
          deviceGrantOf(*other).functions.contains(function))
        journal_.violated("one pod per function", "{} and {} have {} of {}", name,
                          other->metadata.name, function.second, choice.node);
  }
}

std::string DevicesFeature::check(scheduler::Handle& handle, scheduler::NodeId node) {
  const auto& table = DeviceTable::of(handle);
  for (const auto& info : handle.cluster().node(node).pods) {
    const auto* record = handle.cluster().findPod(info->uid());
    const auto pod = invariants_.stored(*info->pod);
    if (!record || record->assumed || !pod) continue;
    const auto* grant = table.in(record->grants);
    const PlainDeviceGrant is = grant ? PlainDeviceGrant::of(grant->given) : PlainDeviceGrant();
    if (const PlainDeviceGrant said = deviceGrantOf(*pod); is != said)
      return fmt::format("{} says{}, {} count", pod->metadata.name, describeGrant(said),
                         describeGrant(is));
  }
  return "";
}

}  // namespace koord::simulation
