#include "cluster/hostnode/pod_cgroups.h"

#include <algorithm>

#include "model/pod_requests.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::cluster {

namespace {

constexpr std::int64_t kMinShares = 2;
constexpr std::int64_t kMaxShares = 262'144;
constexpr std::int64_t kPeriodUs = 100'000;
constexpr std::int64_t kMinQuotaUs = 1'000;

// What a container asks for: its request, or its limit where only that is set.
Quantity requestOf(const api::Container& container, std::string_view resource) {
  const auto& from = model::has(container.resources.requests, resource)
                         ? container.resources.requests
                         : container.resources.limits;
  return model::amountOf(from, resource);
}
Quantity limitOf(const api::Container& container, std::string_view resource) {
  return model::amountOf(container.resources.limits, resource);
}

// The most the pod can need at once: its containers and sidecars together, or an init container
// next to the sidecars that were started before it.
template <class Amount>
Quantity sumOver(const api::PodSpec& spec, std::string_view resource, Amount amount) {
  Quantity running;
  for (const auto& container : spec.containers) running.add(amount(container, resource));
  Quantity sidecars;
  Quantity peak;
  for (const auto& container : spec.initContainers) {
    Quantity needed = amount(container, resource);
    needed.add(sidecars);
    if (model::isSidecar(container)) sidecars = needed;
    peak = std::max(peak, needed);
  }
  running.add(sidecars);
  running = std::max(running, peak);
  running.add(model::amountOf(spec.overhead, resource));
  return running;
}

bool allLimited(const api::PodSpec& spec, std::string_view resource) {
  const auto limited = [&](const api::Container& container) {
    return !limitOf(container, resource).isZero();
  };
  return std::ranges::all_of(spec.containers, limited) &&
         std::ranges::all_of(spec.initContainers, limited);
}

}  // namespace

std::int64_t sharesOfMilliCpu(std::int64_t milli) {
  return std::clamp(milli * 1024 / 1000, kMinShares, kMaxShares);
}

std::int64_t quotaOfMilliCpu(std::int64_t milli) {
  return milli <= 0 ? -1 : std::max(milli * kPeriodUs / 1000, kMinQuotaUs);
}

std::string qosCgroup(model::KubernetesQos qos) {
  const std::string root = kPodsRoot;
  if (qos == model::KubernetesQos::Burstable) return root + "/burstable";
  if (qos == model::KubernetesQos::BestEffort) return root + "/besteffort";
  return root;
}

std::string podCgroup(const api::Pod& pod) {
  return qosCgroup(model::kubernetesQos(pod)) + "/pod" + pod.metadata.uid;
}

CgroupValues podValues(const api::PodSpec& spec) {
  const auto qos = model::computeKubernetesQos(spec);
  if (qos == model::KubernetesQos::BestEffort) return {.cpuShares = kMinShares};
  CgroupValues values;
  values.cpuShares = sharesOfMilliCpu(sumOver(spec, model::kCpu, requestOf).milliValue());
  const bool guaranteed = qos == model::KubernetesQos::Guaranteed;
  if (guaranteed || allLimited(spec, model::kCpu))
    values.cpuQuotaUs = quotaOfMilliCpu(sumOver(spec, model::kCpu, limitOf).milliValue());
  if (guaranteed || allLimited(spec, model::kMemory))
    values.memoryLimitBytes = sumOver(spec, model::kMemory, limitOf).value();
  return values;
}

CgroupValues containerValues(const api::Container& container) {
  CgroupValues values;
  values.cpuShares = sharesOfMilliCpu(requestOf(container, model::kCpu).milliValue());
  const auto cpuLimit = limitOf(container, model::kCpu).milliValue();
  if (cpuLimit > 0) values.cpuQuotaUs = quotaOfMilliCpu(cpuLimit);
  const auto memoryLimit = limitOf(container, model::kMemory).value();
  if (memoryLimit > 0) values.memoryLimitBytes = memoryLimit;
  return values;
}

std::string sandboxIdOf(const std::string& podUid) {
  std::string id;
  while (id.size() < 64) {
    const auto before = id.size();
    for (const char c : podUid)
      if (c != '-' && id.size() < 64) id += c;
    if (id.size() == before) break;
  }
  return id;
}

}  // namespace koord::cluster
