// Reservations that hold devices: whether a pod can get what it needs from one of them.

#include <algorithm>

#include "scheduler/plugins/deviceshare/plugin.h"

namespace koord::scheduler {

namespace {

constexpr const char* kOtherDevices =
    "Reservation(s) cannot be used because the pod has other devices";

}  // namespace

Status DeviceShare::filterReservation(const PodInfo& pod, const ReservationOnNode& reservation,
                                      NodeId node) {
  const PodDevices& devices = of(pod, node);
  const NodeDevices* here = table_.at(node);
  if (!devices.wanted() || !devices.error.empty() || !here) return {};
  if (!leftOf(pod, *here, reservation.uid)) return {};
  // After Reserve, the pod's devices are from one reservation, or from none.
  const DeviceGrant* held = table_.grantOf(pod.uid());
  const Cluster::PodRecord* record = held ? cluster_.findPod(pod.uid()) : nullptr;
  if (record && record->node == node)
    return held->reservation == reservation.uid ? Status{} : Status::unschedulable(kOtherDevices);
  const Outcome outcome =
      allocate(devices, pod, *here, {.reservations = std::span(&reservation, 1)});
  if (outcome.reservation == reservation.uid || devices.ignoresReservations) return {};
  return {Code::Unschedulable, outcome.ofReservations, {}};
}

std::int64_t DeviceShare::scoreReservation(const PodInfo& pod, const ReservationOnNode& reservation,
                                           NodeId node) {
  const PodDevices& devices = of(pod, node);
  const NodeDevices* here = table_.at(node);
  if (!devices.wanted() || !devices.error.empty() || !here) return 0;
  const auto left = leftOf(pod, *here, reservation.uid);
  if (!left) return 0;
  DeviceUse use = useWithout(pod, *here);
  use.remove(*left);
  DeviceOffer offer{here->inventory, use, here->gpus, std::nullopt};
  if (reservation.restricted)
    for (const DeviceType type : kDeviceTypes)
      for (const AllocatedDevice& device : at(*left, type))
        at(offer.only, type)[device.minor].add(device.amounts);
  DeviceQuestion question = questionFor(devices, *here, offer, {});
  question.scoring = &scoring_;
  // The score is a sum over types; the Reservation plugin expects 0 to 100.
  const auto types = std::ranges::count_if(devices.demand.requests,
                                           [](const auto& request) { return !request.empty(); });
  return allocator_.score(question).value_or(0) / std::max<std::int64_t>(types, 1);
}

}  // namespace koord::scheduler
