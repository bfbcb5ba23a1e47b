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
constexpr std::int64_t kMaxMilli = 1'000'000'000;  // a million cores

// A container's request, or its limit if only that is set.
Quantity requestOf(const api::Container& container, std::string_view resource) {
  const auto& from = model::has(container.resources.requests, resource)
                         ? container.resources.requests
                         : container.resources.limits;
  return model::amountOf(from, resource);
}
Quantity limitOf(const api::Container& container, std::string_view resource) {
  return model::amountOf(container.resources.limits, resource);
}

Quantity cpuRequest(const api::PodSpec& spec) {
  const bool ofPod = spec.resources && model::has(spec.resources->requests, model::kCpu);
  Quantity request = ofPod ? model::amountOf(spec.resources->requests, model::kCpu)
                           : model::mostOfContainers(spec, [](const api::Container& container) {
                               return requestOf(container, model::kCpu);
                             });
  request.add(model::amountOf(spec.overhead, model::kCpu));
  return request;
}

}  // namespace

std::int64_t sharesOfMilliCpu(std::int64_t milli) {
  return std::clamp(std::min(milli, kMaxMilli) * 1024 / 1000, kMinShares, kMaxShares);
}

std::int64_t quotaOfMilliCpu(std::int64_t milli) {
  return milli <= 0 ? -1 : std::max(std::min(milli, kMaxMilli) * kPeriodUs / 1000, kMinQuotaUs);
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
  values.cpuShares = sharesOfMilliCpu(cpuRequest(spec).milliValue());
  if (const auto limit = model::podLimit(spec, model::kCpu))
    values.cpuQuotaUs = quotaOfMilliCpu(limit->milliValue());
  if (const auto limit = model::podLimit(spec, model::kMemory))
    values.memoryLimitBytes = limit->value();
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
