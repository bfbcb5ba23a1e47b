#include "model/pod_requests.h"

#include <algorithm>
#include <limits>

#include "model/resources.h"
#include "model/well_known.h"

namespace koord::model {
namespace {

using api::ResourceList;

constexpr std::string_view kEphemeralStorage = "ephemeral-storage";
constexpr std::int64_t kNonZeroMilliCpu = 100;
constexpr std::int64_t kNonZeroMemory = 200 << 20;

void raiseTo(ResourceList& most, const ResourceList& list) {
  for (const auto& [name, amount] : list) {
    const auto [entry, inserted] = most.try_emplace(name, amount);
    if (!inserted && amount > entry->second) entry->second = amount;
  }
}

bool isPodLevelResource(std::string_view name) {
  return name == kCpu || name == kMemory || name.starts_with("hugepages-");
}

bool hasPodLevelRequests(const api::Pod& pod) {
  return pod.spec.resources &&
         std::ranges::any_of(pod.spec.resources->requests,
                             [](const auto& entry) { return isPodLevelResource(entry.first); });
}

// Names come from the spec; one without an effective amount counts as 0.
void replacePodLevel(ResourceList& total, const ResourceList& spec, const ResourceList& amounts) {
  for (const auto& [name, asked] : spec) {
    if (isPodLevelResource(name)) total[name] = amountOf(amounts, name);
  }
}

std::string_view pendingResizeReason(const api::Pod& pod) {
  const auto& conditions = pod.status.conditions;
  const auto pending = std::ranges::find(conditions, "PodResizePending", &api::PodCondition::type);
  return pending == conditions.end() ? std::string_view() : pending->reason;
}

const api::ContainerStatus* statusOf(const api::Pod& pod, std::string_view container) {
  for (const auto* statuses : {&pod.status.containerStatuses, &pod.status.initContainerStatuses}) {
    const auto found = std::ranges::find(*statuses, container, &api::ContainerStatus::name);
    if (found != statuses->end()) return &*found;
  }
  return nullptr;
}

// `amount(container, runsOn)` is what one container needs; runsOn tells that it stays while the pod
// runs.
template <class Amount>
ResourceList totalOfContainers(const api::PodSpec& spec, Amount amount) {
  ResourceList total;
  for (const auto& container : spec.containers) addTo(total, amount(container, true));

  ResourceList sidecars;
  ResourceList most;
  for (const auto& container : spec.initContainers) {
    if (isSidecar(container)) {
      const ResourceList own = amount(container, true);
      addTo(total, own);
      addTo(sidecars, own);
      raiseTo(most, sidecars);
    } else {
      ResourceList current = amount(container, false);
      addTo(current, sidecars);
      raiseTo(most, current);
    }
  }
  raiseTo(total, most);
  return total;
}

// The member of ResourceRequirements that a total is made of.
using Part = ResourceList api::ResourceRequirements::*;

// What counts for something that is being resized: the most of the lists, the spec left out when
// the resize cannot happen.
ResourceList effective(const api::Pod& pod, const ResourceList& spec, const ResourceList& inForce,
                       const ResourceList& granted, bool countUnasked) {
  ResourceList most = isResizeInfeasible(pod) ? ResourceList() : spec;
  raiseTo(most, inForce);
  raiseTo(most, granted);
  if (!countUnasked) erase_if(most, [&](const auto& entry) { return !has(spec, entry.first); });
  return most;
}

ResourceList containerAmount(const api::Pod& pod, const api::Container& container, Part part,
                             bool useStatus, bool countUnasked) {
  const ResourceList& spec = container.resources.*part;
  if (!useStatus) return spec;
  const api::ContainerStatus* status = statusOf(pod, container.name);
  if (!status || !status->resources) return spec;
  const bool requests = part == &api::ResourceRequirements::requests;
  return effective(pod, spec, *status->resources.*part,
                   requests ? status->allocatedResources : ResourceList(), countUnasked);
}

ResourceList podLevelAmount(const api::Pod& pod, Part part, bool useStatus) {
  const ResourceList& spec = *pod.spec.resources.*part;
  if (!useStatus || !pod.status.resources) return spec;
  const bool requests = part == &api::ResourceRequirements::requests;
  return effective(pod, spec, *pod.status.resources.*part,
                   requests ? pod.status.allocatedResources : ResourceList(), false);
}

ResourceList totalWithoutOverhead(const api::Pod& pod, Part part,
                                  const PodRequestOptions& options) {
  ResourceList total =
      totalOfContainers(pod.spec, [&](const api::Container& container, bool runsOn) {
        ResourceList amount = containerAmount(pod, container, part, options.useStatus && runsOn,
                                              options.countUnasked);
        if (options.missing) amount.insert(options.missing->begin(), options.missing->end());
        return amount;
      });
  if (pod.spec.resources && !options.skipPodLevel) {
    replacePodLevel(total, *pod.spec.resources.*part,
                    podLevelAmount(pod, part, options.usePodStatus));
  }
  return total;
}

// An amount in units of 10^scale10, and whether that is all of it.
std::int64_t unitsOf(const Quantity& amount, int scale10, bool& beyond) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const std::int64_t units = amount.scaledValue(scale10);
  if (units == kMost && amount > Quantity::ofScaled(kMost, scale10)) beyond = true;
  return units;
}

// Containers alone, none of them being resized, no amounts for the whole pod: most pods.
bool isPlain(const api::Pod& pod) {
  return pod.spec.initContainers.empty() && !pod.spec.resources &&
         std::ranges::none_of(pod.status.containerStatuses, [](const api::ContainerStatus& status) {
           return status.resources.has_value();
         });
}

// podTotals for plain pods, which is called for every pod that the scheduler sees: the same sums
// without intermediate lists.
PodTotals plainTotals(const api::Pod& pod) {
  Quantity cpu, memory, storage;
  api::Map<Quantity> scalars;
  const auto add = [&](std::string_view name, const Quantity& amount) {
    if (name == kCpu) {
      cpu.add(amount);
    } else if (name == kMemory) {
      memory.add(amount);
    } else if (name == kEphemeralStorage) {
      storage.add(amount);
    } else if (isScalarResource(name)) {
      scalars[name].add(amount);
    }
  };
  std::int64_t withoutCpu = 0, withoutMemory = 0;
  for (const auto& container : pod.spec.containers) {
    const ResourceList& requests = container.resources.requests;
    for (const auto& [name, amount] : requests) add(name, amount);
    withoutCpu += requests.contains(kCpu) ? 0 : 1;
    withoutMemory += requests.contains(kMemory) ? 0 : 1;
  }
  for (const auto& [name, amount] : pod.spec.overhead) add(name, amount);
  PodTotals totals;
  totals.milliCpu = unitsOf(cpu, -3, totals.beyond);
  totals.memory = unitsOf(memory, 0, totals.beyond);
  totals.ephemeralStorage = unitsOf(storage, 0, totals.beyond);
  for (const auto& [name, amount] : scalars)
    totals.scalars[name] = unitsOf(amount, 0, totals.beyond);
  if (withoutCpu > 0) cpu.add(Quantity::ofMilli(kNonZeroMilliCpu * withoutCpu));
  if (withoutMemory > 0) memory.add(Quantity::of(kNonZeroMemory * withoutMemory));
  totals.nonZeroMilliCpu = cpu.milliValue();
  totals.nonZeroMemory = memory.value();
  return totals;
}

}  // namespace

bool isSidecar(const api::Container& initContainer) {
  return initContainer.restartPolicy == "Always";
}

ResourceList podRequests(const api::Pod& pod, const PodRequestOptions& options) {
  ResourceList total = totalWithoutOverhead(pod, &api::ResourceRequirements::requests, options);
  if (!options.excludeOverhead) addTo(total, pod.spec.overhead);
  return total;
}

ResourceList podLimits(const api::Pod& pod, const PodRequestOptions& options) {
  PodRequestOptions ofLimits = options;
  ofLimits.missing = nullptr;
  ResourceList total = totalWithoutOverhead(pod, &api::ResourceRequirements::limits, ofLimits);
  if (options.excludeOverhead) return total;
  for (const auto& [name, amount] : pod.spec.overhead) {
    if (const auto entry = total.find(name); entry != total.end() && !entry->second.isZero()) {
      entry->second.add(amount);
    }
  }
  return total;
}

Quantity sumOfRunning(const api::PodSpec& spec, const ContainerAmount& amount) {
  Quantity sum;
  for (const auto& container : spec.containers) sum.add(amount(container));
  for (const auto& container : spec.initContainers)
    if (isSidecar(container)) sum.add(amount(container));
  return sum;
}

Quantity mostOfContainers(const api::PodSpec& spec, const ContainerAmount& amount) {
  Quantity sidecars, most;
  for (const auto& container : spec.initContainers) {
    Quantity needed = amount(container);
    needed.add(sidecars);
    if (isSidecar(container)) sidecars = needed;
    most = std::max(most, needed);
  }
  return std::max(most, sumOfRunning(spec, amount));
}

Quantity runningRequest(const api::PodSpec& spec, std::string_view name) {
  return sumOfRunning(spec, [&](const api::Container& container) {
    return std::max(amountOf(container.resources.requests, name), Quantity());
  });
}

std::optional<Quantity> podLimit(const api::PodSpec& spec, std::string_view name) {
  bool limited = !spec.containers.empty();
  Quantity most = mostOfContainers(spec, [&](const api::Container& container) {
    Quantity limit = amountOf(container.resources.limits, name);
    limited = limited && limit.sign() > 0;
    return limit;
  });
  if (spec.resources && isPodLevelResource(name)) {
    if (const Quantity whole = amountOf(spec.resources->limits, name); whole.sign() > 0) {
      most = whole;
      limited = true;
    }
  }
  if (!limited) return std::nullopt;
  most.add(amountOf(spec.overhead, name));
  return most;
}

const ResourceList& nonZeroRequests() {
  static const ResourceList kRequests{{std::string(kCpu), Quantity::ofMilli(kNonZeroMilliCpu)},
                                      {std::string(kMemory), Quantity::of(kNonZeroMemory)}};
  return kRequests;
}

PodTotals podTotals(const api::Pod& pod) {
  if (isPlain(pod)) return plainTotals(pod);
  const ResourceList requests = podRequests(pod, {.useStatus = true, .usePodStatus = true});
  ResourceList missing = nonZeroRequests();
  if (hasPodLevelRequests(pod)) {
    // Then a container need not ask for what another one asks for.
    for (const auto& [name, amount] : requests) missing.erase(name);
  }
  const ResourceList nonZero =
      podRequests(pod, {.useStatus = true, .usePodStatus = true, .missing = &missing});
  PodTotals totals;
  totals.nonZeroMilliCpu = amountOf(nonZero, kCpu).milliValue();
  totals.nonZeroMemory = amountOf(nonZero, kMemory).value();
  for (const auto& [name, amount] : requests) {
    if (name == kCpu) {
      totals.milliCpu = unitsOf(amount, -3, totals.beyond);
    } else if (name == kMemory) {
      totals.memory = unitsOf(amount, 0, totals.beyond);
    } else if (name == kEphemeralStorage) {
      totals.ephemeralStorage = unitsOf(amount, 0, totals.beyond);
    } else if (isScalarResource(name)) {
      totals.scalars[name] = unitsOf(amount, 0, totals.beyond);
    }
  }
  return totals;
}

bool isScalarResource(std::string_view name) {
  if (name.starts_with("hugepages-") || name.starts_with("attachable-volumes-")) return true;
  if (name.find("kubernetes.io/") != std::string_view::npos) return true;
  // "requests.<name>" is how a quota calls an extended resource, not a resource.
  return name.find('/') != std::string_view::npos && !name.starts_with("requests.");
}

bool isResizeInfeasible(const api::Pod& pod) {
  return pendingResizeReason(pod) == "Infeasible";
}

bool isResizeDeferred(const api::Pod& pod) {
  return pendingResizeReason(pod) == "Deferred";
}

}  // namespace koord::model
