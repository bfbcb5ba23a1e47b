// Records the choice: Reserve assigns the devices to the pod, PreBind writes the annotation.

#include <fmt/format.h>

#include <algorithm>

#include "model/well_known.h"
#include "scheduler/framework/remarks.h"
#include "scheduler/plugins/deviceshare/adaption.h"
#include "scheduler/plugins/deviceshare/devices/allocation.h"
#include "scheduler/plugins/deviceshare/plugin.h"

namespace koord::scheduler {

Status DeviceShare::reserve(CycleState&, const PodPtr& pod, NodeId node) {
  if (!reader_.concerns(*pod)) return {};
  const PodDevices& devices = of(*pod, node);
  if (!devices.wanted()) return {};
  reportIgnored(handle_, *pod, devices.demand.ignored);
  const NodeDevices* here = table_.at(node);
  if (!here) return {};
  std::vector<ReservationOnNode> usable = matched(*pod, node);
  if (!usable.empty() && !devices.ignoresReservations) {
    const std::string nominated = reservations()->nominationOf(*pod, node, true);
    std::erase_if(usable, [&](const auto& reservation) { return reservation.uid != nominated; });
  }
  Outcome outcome = allocate(devices, *pod, *here,
                             {.reserving = true,
                              .affinity = affinityOf(*pod, node, true),
                              .reservations = usable,
                              .preAllocationNode = node});
  if (!outcome.answer.ok()) {
    const bool unresolvable = outcome.answer.outcome == DeviceAnswer::Outcome::Unresolvable;
    return {unresolvable ? Code::UnschedulableAndUnresolvable : Code::Unschedulable,
            std::move(outcome.answer.reasons),
            {}};
  }
  DeviceUse use = useWithout(*pod, *here);
  if (const auto left = leftOf(*pod, *here, outcome.reservation)) use.remove(*left);
  AllocatedDevices given = std::move(outcome.answer.given);
  if (const auto filled = allocator_.fillGpuMemory(given, here->inventory, use); !filled)
    return Status::error(
        fmt::format("{}, node: {}", filled.error().message, cluster_.node(node).name));
  const bool reserves =
      pod->kind && api::findIn(pod->pod->metadata.annotations, model::kAnnotationReservePod);
  table_.give(*pod, {std::move(given), std::move(outcome.reservation), reserves});
  return {};
}

Status DeviceShare::preBindPreFlight(CycleState&, const PodPtr& pod, NodeId) {
  return reader_.concerns(*pod) && table_.grantOf(pod->uid()) ? Status{} : Status::skip();
}

// Since Reserve the Device may have changed, or another pod may have been seen with the same
// devices (chosen by another leader); then the pod must not be bound.
std::string DeviceShare::missingDevice(const PodInfo& pod, NodeId node,
                                       const AllocatedDevices& given) const {
  const NodeDevices& here = table_.rowOf(node);
  if (!here.inventory.device())
    return fmt::format("device.scheduling.koordinator.sh \"{}\" not found",
                       cluster_.node(node).name);
  const std::vector<DeviceNumber> claimed = table_.claimedOn(here);
  for (const DeviceType type : kDeviceTypes) {
    for (const AllocatedDevice& device : at(given, type)) {
      const KnownDevice* known = here.inventory.find(type, device.minor);
      if (!known || known->total.isZero())
        return fmt::format("{} {} of node {} is unhealthy", nameOf(type), device.minor,
                           cluster_.node(node).name);
      if (std::ranges::binary_search(claimed, numberOf(type, device.minor)))
        return fmt::format("{} {} of node {} was allocated to a resource claim in the meantime",
                           nameOf(type), device.minor, cluster_.node(node).name);
      const auto used = here.use.of(type).find(device.minor);
      if (used == here.use.of(type).end() || of(pod).ignoresReservations) continue;
      // The pod that it takes over has the devices, too; its annotation is written after this.
      if (pod.kind && api::findIn(pod.pod->metadata.annotations, model::kAnnotationIsPreAllocation))
        continue;
      if (rules_ == DeviceRules::AsUpstream) continue;  // its rounding exceeds what there is
      if (!known->total.covers(used->second))
        return fmt::format("{} {} of node {} was given to another pod in the meantime",
                           nameOf(type), device.minor, cluster_.node(node).name);
    }
  }
  return "";
}

Task<Status> DeviceShare::preBind(CycleState& state, PodPtr pod, NodeId node) {
  const DeviceGrant* grant = table_.grantOf(pod->uid());
  if (!grant) co_return Status{};
  if (std::string problem = missingDevice(*pod, node, grant->given); !problem.empty())
    co_return Status::error(std::move(problem));
  const NodeDevices& here = table_.rowOf(node);
  state.annotations()[std::string(model::kAnnotationDeviceAllocated)] =
      toJson(describeAllocatedDevices(grant->given, here.inventory));
  if (grant->reserves && handle_.enabled("ResizePod")) {
    DeviceAmounts sum;
    for (const DeviceType type : kDeviceTypes)
      for (const AllocatedDevice& device : at(grant->given, type)) sum.add(device.amounts);
    json::object resources;
    for (const auto& [name, amount] : sum.toList()) resources[name] = amount.toString();
    state.annotations()[std::string(model::kAnnotationReservationResizeAllocatable)] =
        toJson(json::object{{"resources", std::move(resources)}});
  }
  if (!adaption_) co_return Status{};
  std::vector<std::string> ids;
  for (const AllocatedDevice& gpu : at(grant->given, DeviceType::Gpu))
    ids.push_back(here.inventory.find(DeviceType::Gpu, gpu.minor)->info->id);
  const std::string name = cluster_.node(node).name;
  const api::StringMap labels = here.inventory.device()->metadata.labels;
  auto adapting = adaption_->adapt(&state, pod, name, grant->given, labels, std::move(ids));
  const Result<> adapted = co_await adapting;
  co_return adapted ? Status{} : Status::of(adapted.error());
}

}  // namespace koord::scheduler
