#include "koordlet/hooks/batchresource/batch_resource.h"

#include "base/log.h"
#include "koordlet/system/conversions.h"
#include "model/pod_requests.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::koordlet {
namespace {

// The amount of `name`; -1 if the list has no positive amount of it.
std::int64_t limitOf(const api::ResourceList& limits, std::string_view name) {
  const std::int64_t value = model::amountOf(limits, name).value();
  return value > 0 ? value : -1;
}

// The batch resources in the containers' specs; empty if they have none.
model::ExtendedResourceSpec limitsOfSpec(const api::PodSpec& spec) {
  const auto isOther = [](const auto& entry) {
    const auto names = [&](std::string_view name) {
      return model::has(entry.second.requests, name) || model::has(entry.second.limits, name);
    };
    return !names(model::kBatchCpu) && !names(model::kBatchMemory);
  };
  auto asked = model::extendedResourcesOf(spec, model::ExtendedResources::InFull);
  erase_if(asked.containers, isOther);
  erase_if(asked.initContainers, isOther);
  return asked;
}

bool isEmpty(const model::ExtendedResourceSpec& spec) {
  return spec.containers.empty() && spec.initContainers.empty();
}

}  // namespace

BatchLimits containerLimits(const model::ExtendedResourceContainer& container) {
  BatchLimits limits;
  limits.shares = milliCpuToShares(model::amountOf(container.requests, model::kBatchCpu).value());
  limits.quota = milliCpuToQuota(limitOf(container.limits, model::kBatchCpu));
  limits.memory = limitOf(container.limits, model::kBatchMemory);
  return limits;
}

BatchLimits podLimits(const model::ExtendedResourceSpec& spec) {
  Quantity request, cpu, memory;
  bool cpuLimited = !spec.containers.empty(), memoryLimited = cpuLimited;
  for (const auto& [name, container] : spec.containers) {
    request.add(model::amountOf(container.requests, model::kBatchCpu));
    cpu.add(model::amountOf(container.limits, model::kBatchCpu));
    memory.add(model::amountOf(container.limits, model::kBatchMemory));
    cpuLimited = cpuLimited && limitOf(container.limits, model::kBatchCpu) > 0;
    memoryLimited = memoryLimited && limitOf(container.limits, model::kBatchMemory) > 0;
  }
  BatchLimits limits;
  limits.shares = milliCpuToShares(request.value());
  if (cpuLimited) limits.quota = milliCpuToQuota(cpu.value());
  if (memoryLimited) limits.memory = memory.value();
  return limits;
}

BatchLimits podLimits(const api::Pod& pod) {
  const auto limit = [&](std::string_view name) {
    const auto found = model::podLimit(pod.spec, name);
    return found && found->value() > 0 ? found->value() : -1;
  };
  return {milliCpuToShares(model::amountOf(model::podRequests(pod), model::kBatchCpu).value()),
          milliCpuToQuota(limit(model::kBatchCpu)), limit(model::kBatchMemory)};
}

std::optional<model::ExtendedResourceSpec> batchResourcesOf(const PodView& pod) {
  if (!pod.bestEffort()) return std::nullopt;
  auto spec = limitsOfSpec(pod.pod->spec);
  if (!isEmpty(spec)) return spec;
  auto annotated = model::readExtendedResourceSpec(pod.pod->metadata.annotations);
  if (!annotated) {
    log::v(4, "batch resources of pod {} not applied: {}", pod.pod->metadata.name,
           annotated.error().message);
    return std::nullopt;
  }
  if (*annotated && (*annotated)->containers.empty()) return std::nullopt;
  return *std::move(annotated);
}

void BatchResourceHook::prepare(const States& states, HookUpdates&) {
  const EffectiveSlo* slo = states.slo();
  quotaUnset_ = slo && slo->beEnabled() && slo->threshold.cpuSuppressPolicy == "cfsQuota";
  if (states.node()) ratio_.take(*states.node());
  std::erase_if(known_, [](const auto& entry) { return entry.second.pod.use_count() == 1; });
  reader_.closeUnused();
}

BatchResourceHook::Known& BatchResourceHook::limitsOf(const PodView& pod) {
  Known& known = known_[pod.uid()];
  if (known.pod == pod.pod) return known;
  known = {pod.pod, std::nullopt, {}};
  const auto spec = batchResourcesOf(pod);
  if (!spec) return known;
  // By the annotation if the spec has no batch resources. The runtime does not pass the spec.
  known.whole = isEmpty(limitsOfSpec(pod.pod->spec)) ? podLimits(*spec) : podLimits(*pod.pod);
  for (const auto& list : {spec->containers, spec->initContainers})
    for (const auto& [name, container] : list)
      known.containers.emplace(name, containerLimits(container));
  return known;
}

void BatchResourceHook::add(const BatchLimits& limits, const std::string& dir,
                            UpdateList& updates) {
  std::int64_t quota = quotaUnset_ ? -1 : ratio_.quota(limits.quota);
  // Read each time: a cgroup has the kernel's period until its creator has written another one.
  if (quota > 0) quota = quotaInPeriod(quota, reader_.cfsPeriodUs(dir).value_or(kCfsPeriodUs));
  updates.push_back({CgroupFile::CpuShares, dir, std::to_string(limits.shares), "BatchResource"});
  updates.push_back({CgroupFile::CpuCfsQuota, dir, std::to_string(quota), "BatchResource"});
  updates.push_back({CgroupFile::MemoryLimit, dir, std::to_string(limits.memory), "BatchResource"});
}

void BatchResourceHook::wanted(const PodView& pod, HookUpdates& updates) {
  Known& known = limitsOf(pod);
  if (!known.whole) return;
  add(*known.whole, pod.dir, updates.pods);
  if (pod.pod->spec.runtimeClassName == "kata")
    return;  // its containers have no cgroup on the host
  for (const auto& container : pod.containers) {
    const auto found = known.containers.find(container.name);
    if (container.dir.empty() || found == known.containers.end()) continue;
    add(found->second, container.dir, updates.containers);
  }
}

}  // namespace koord::koordlet
