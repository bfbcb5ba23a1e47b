#include "koordlet/hooks/cpunormalization/cpu_normalization.h"

#include <algorithm>

#include "base/json.h"
#include "koordlet/system/conversions.h"
#include "model/pod_requests.h"
#include "model/resources.h"
#include "model/well_known.h"

// The hook skips pods whose quota CPU burst changes, because two writers of one value would undo
// each other; CPU burst starts from the same normalized value (CpuBurst::normalize). As in CPU
// burst, a pod's annotation overrides the node's strategy.
//
// While the ratio is 1, nothing is written unless quotas were shrunk before, by this process or by
// a former one. A quota below nominal shows the latter.

namespace koord::koordlet {
namespace {

bool burstsQuota(std::string_view policy) {
  return policy == "auto" || policy == "cfsQuotaBurstOnly";
}

std::optional<bool> burstsByAnnotation(const PodView& pod) {
  const auto* text = api::findIn(pod.pod->metadata.annotations, model::kAnnotationCpuBurst);
  const auto document = text ? parseJson(*text) : Result<json::value>(json::value());
  if (!document || !find(*document, "policy")) return std::nullopt;
  return burstsQuota(textAt(*document, "policy"));
}

std::int64_t quotaOfLimit(const api::ResourceList& limits) {
  return milliCpuToQuota(model::amountOf(limits, model::kCpu).milliValue());
}

// The nominal quota of the whole pod; -1 if a container has no limit.
std::int64_t nominalOf(const api::Pod& pod) {
  const auto isLimited = [](const api::Container& container) {
    return quotaOfLimit(container.resources.limits) > 0;
  };
  if (pod.spec.containers.empty() || !std::ranges::all_of(pod.spec.containers, isLimited))
    return -1;
  return quotaOfLimit(model::podLimits(pod));
}

}  // namespace

void CpuNormalizationHook::prepare(const States& states, HookUpdates&) {
  if (states.node()) ratio_.take(*states.node());
  shrunk_ = shrunk_ || ratio_.value() > 1;
  if (shrunk_ || seen_.size() > 10 * states.pods().size() + 100) seen_.clear();
  nodeBursts_ = states.slo() && burstsQuota(states.slo()->cpuBurst.policy);
  reader_.closeUnused();
}

bool CpuNormalizationHook::concerns(const PodView& pod) const {
  return !burstsByAnnotation(pod).value_or(nodeBursts_) && isNormalized(pod);
}

bool CpuNormalizationHook::isShrunk(const std::string& dir, std::int64_t nominal) {
  if (nominal <= 0 || dir.empty() || seen_.contains(dir)) return false;
  const auto quota = reader_.cfsQuotaUs(dir);
  const auto period = quota ? reader_.cfsPeriodUs(dir) : quota;
  // Without a quota: the runtime or kubelet has not written it yet.
  if (!period || *quota <= 0) return false;
  seen_.insert(dir);
  return *quota < quotaInPeriod(nominal, *period);
}

bool CpuNormalizationHook::hasReducedQuota(const PodView& pod) {
  bool found = isShrunk(pod.dir, nominalOf(*pod.pod));
  for (const auto& container : pod.containers)
    if (const auto* spec = containerOf(*pod.pod, container.name))
      found = isShrunk(container.dir, quotaOfLimit(spec->resources.limits)) || found;
  return found;
}

std::string CpuNormalizationHook::quotaOf(std::int64_t nominal, const std::string& dir) {
  const auto period = reader_.cfsPeriodUs(dir);
  return std::to_string(quotaInPeriod(ratio_.quota(nominal), period.value_or(kCfsPeriodUs)));
}

void CpuNormalizationHook::wanted(const PodView& pod, HookUpdates& updates) {
  if (!concerns(pod)) return;
  shrunk_ = shrunk_ || hasReducedQuota(pod);
  if (!shrunk_) return;
  const auto add = [&](std::int64_t nominal, const std::string& dir, UpdateList& to) {
    if (nominal > 0 && !dir.empty())
      to.push_back({CgroupFile::CpuCfsQuota, dir, quotaOf(nominal, dir), "CPUNormalization"});
  };
  add(nominalOf(*pod.pod), pod.dir, updates.pods);
  if (pod.pod->spec.runtimeClassName == "kata") return;
  for (const auto& container : pod.containers)
    if (const auto* spec = containerOf(*pod.pod, container.name))
      add(quotaOfLimit(spec->resources.limits), container.dir, updates.containers);
}

}  // namespace koord::koordlet
