// Which devices of a node a pod would get: from the reservations that it may use, or from the node
// alone.
//
// A reservation's devices are in use for other pods; what its owners do not use is free for the pod
// within it. Reservations are tried in the order of their names. Under the policy Restricted the
// pod gets nothing else of the reserved types. Under other policies it gets the reservation's
// devices if they suffice, otherwise those together with free ones of the node. Upstream lets the
// allocator choose among all of these at once, so that an owner may end up outside of its
// reservation, which then holds unused devices.
//
// Cost: one to three runs of the allocator for each matching reservation; without any, one.

#include <algorithm>

#include "scheduler/plugins/deviceshare/plugin.h"

namespace koord::scheduler {

namespace {

constexpr const char* kNotTheirs =
    "node(s) the devices of pods that are taken over are not among those of the reservation";

std::vector<std::string> prefixed(std::vector<std::string> reasons) {
  for (std::string& reason : reasons) reason = "Reservation(s) " + reason;
  return reasons;
}

AmountsByMinor amountsOf(const std::vector<AllocatedDevice>& devices) {
  AmountsByMinor amounts;
  for (const AllocatedDevice& device : devices) amounts[device.minor].add(device.amounts);
  return amounts;
}

Minors minorsOf(const std::vector<AllocatedDevice>& devices) {
  Minors minors;
  for (const AllocatedDevice& device : devices) minors.add(device.minor);
  return minors;
}

}  // namespace

DeviceUse DeviceShare::useWithout(const PodInfo& pod, const NodeDevices& node) const {
  DeviceUse all;
  DeviceUse use = table_.useOn(node, all);
  table_.addOwnClaims(pod, node, use);
  const DeviceGrant* held = table_.grantOf(pod.uid());
  const Cluster::PodRecord* record = held ? cluster_.findPod(pod.uid()) : nullptr;
  if (!record || table_.at(record->node) != &node) return use;
  const std::string& reservation = held->reserves ? pod.uid() : held->reservation;
  const auto reserved = node.reserved.find(reservation);
  if (reserved == node.reserved.end()) {
    use.remove(held->given);
    return use;
  }
  ReservedDevices rest = reserved->second.without(pod.uid());
  if (held->reserves) rest.setReserved(nullptr);
  use.remove(reserved->second.counted());
  use.add(rest.counted());
  return use;
}

std::optional<AllocatedDevices> DeviceShare::leftOf(const PodInfo& pod, const NodeDevices& node,
                                                    const std::string& reservation) const {
  const auto reserved = node.reserved.find(reservation);
  if (reserved == node.reserved.end() || !reserved->second.isReserved()) return std::nullopt;
  return reserved->second.without(pod.uid()).left();
}

DeviceQuestion DeviceShare::questionFor(const PodDevices& devices, const NodeDevices& node,
                                        const DeviceOffer& offer, const Trial& trial) const {
  DeviceQuestion question{.offer = offer, .demand = devices.demand};
  question.reserving = trial.reserving;
  if (trial.reserving) question.scoring = &choice();
  if (devices.byTemplate) question.templates = &templates_.of(node.gpus);
  if (devices.designated) {
    for (const DeviceType type : kDeviceTypes) {
      for (const AllocatedDevice& device : at(*devices.designated, type)) {
        at(question.required, type).add(device.minor);
        for (const AllocatedFunction& function : device.functions)
          at(question.functions, type).emplace(device.minor, function.busId);
      }
    }
  }
  return question;
}

DeviceAnswer DeviceShare::allocateOnNode(const PodDevices& devices, const NodeDevices& node,
                                         const DeviceUse& use, const Trial& trial) const {
  DeviceOffer offer{node.inventory, use, node.gpus, std::nullopt};
  if (trial.affinity != kAnyNuma) offer.numas = trial.affinity;
  if (devices.designated) {
    AllocatedDevices wanted = *devices.designated;
    if (const auto filled = allocator_.fillGpuMemory(wanted, node.inventory, use); !filled)
      return {DeviceAnswer::Outcome::Unschedulable, {filled.error().message}, {}};
    for (const DeviceType type : kDeviceTypes) at(offer.only, type) = amountsOf(at(wanted, type));
  }
  return allocator_.allocate(questionFor(devices, node, offer, trial));
}

// `use` counts what is left of the reservation as taken.
DeviceAnswer DeviceShare::allocateWithin(const PodDevices& devices, const NodeDevices& node,
                                         const DeviceUse& use, const AllocatedDevices& left,
                                         Within within, const Trial& trial) const {
  DeviceUse open = use;
  open.remove(left);
  DeviceOffer offer{node.inventory, open, node.gpus, std::nullopt};
  if (trial.affinity != kAnyNuma) offer.numas = trial.affinity;
  for (const DeviceType type : kDeviceTypes)
    if (within == Within::Only) at(offer.only, type) = amountsOf(at(left, type));
  DeviceQuestion question = questionFor(devices, node, offer, trial);
  for (const DeviceType type : kDeviceTypes) {
    at(question.preferred, type) = minorsOf(at(left, type));
    if (within == Within::Only) at(question.required, type) = at(question.preferred, type);
  }
  return allocator_.allocate(question);
}

DeviceAnswer DeviceShare::allocateFrom(const PodDevices& devices, const NodeDevices& node,
                                       const DeviceUse& use, const AllocatedDevices& left,
                                       const ReservationOnNode& reservation,
                                       const Trial& trial) const {
  if (devices.designated) {
    DeviceUse open = use;
    open.remove(left);
    return allocateOnNode(devices, node, open, trial);
  }
  DeviceAnswer answer = allocateWithin(devices, node, use, left, Within::Only, trial);
  if (answer.ok() || reservation.restricted) return answer;
  return allocateWithin(devices, node, use, left, Within::Preferred, trial);
}

std::optional<DeviceAnswer> DeviceShare::allocateAround(const PodDevices& devices,
                                                        const PodInfo& pod, const NodeDevices& node,
                                                        const DeviceUse& use,
                                                        const Trial& trial) const {
  const ReservationsOffer* offer = pod.kind ? reservations() : nullptr;
  if (!offer || trial.preAllocationNode == kNoNode) return std::nullopt;
  AllocatedDevices theirs;
  bool any = false;
  for (const PodPtr& other : offer->takenOver(pod, trial.preAllocationNode)) {
    const DeviceGrant* held = table_.grantOf(other->uid());
    if (!held) continue;
    for (const DeviceType type : kDeviceTypes) {
      std::ranges::copy(at(held->given, type), std::back_inserter(at(theirs, type)));
      any |= !at(held->given, type).empty();
    }
  }
  if (!any) return std::nullopt;
  DeviceAnswer answer = allocateFrom(devices, node, use, theirs, {}, trial);
  if (!answer.ok()) return answer;
  for (const DeviceType type : kDeviceTypes) {
    const Minors given = minorsOf(at(answer.given, type));
    const bool all = std::ranges::all_of(at(theirs, type), [&](const AllocatedDevice& device) {
      return given.contains(device.minor);
    });
    if (!at(answer.given, type).empty() && !all)
      return DeviceAnswer{DeviceAnswer::Outcome::Unschedulable, {kNotTheirs}, {}};
  }
  return answer;
}

DeviceShare::Outcome DeviceShare::allocate(const PodDevices& devices, const PodInfo& pod,
                                           const NodeDevices& node, const Trial& trial) const {
  Outcome outcome;
  const DeviceUse use = useWithout(pod, node);
  if (devices.ignoresReservations) {
    // Everything that reservations hold and their owners do not use is free for it.
    DeviceUse open = use;
    for (const ReservationOnNode& reservation : trial.reservations)
      if (const auto left = leftOf(pod, node, reservation.uid)) open.remove(*left);
    outcome.answer = allocateOnNode(devices, node, open, trial);
    return outcome;
  }
  for (const ReservationOnNode& reservation : trial.reservations) {
    const auto left = leftOf(pod, node, reservation.uid);
    if (!left) continue;
    DeviceAnswer answer = allocateFrom(devices, node, use, *left, reservation, trial);
    if (answer.ok()) {
      outcome.answer = std::move(answer);
      outcome.reservation = reservation.uid;
      return outcome;
    }
    std::ranges::move(prefixed(std::move(answer.reasons)),
                      std::back_inserter(outcome.ofReservations));
  }
  auto around = allocateAround(devices, pod, node, use, trial);
  outcome.answer = around ? *std::move(around) : allocateOnNode(devices, node, use, trial);
  return outcome;
}

}  // namespace koord::scheduler
