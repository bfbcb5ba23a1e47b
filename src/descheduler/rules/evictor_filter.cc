#include "descheduler/rules/evictor_filter.h"

namespace koord::descheduler {

namespace {

std::string_view bareRefusal(const EvictorFilter& filter, const PodFacts& facts) {
  if (!facts.is(PodFacts::Bare) || filter.evictAllBarePods) return {};
  if (!filter.evictFailedBarePods) return "pod does not have any ownerRefs";
  return facts.is(PodFacts::Failed) ? std::string_view()
                                    : "pod does not have any ownerRefs and is not in failed phase";
}

}  // namespace

std::string_view EvictorFilter::refusal(const Pod& pod) const {
  const PodFacts& facts = pod.facts;
  if (facts.is(PodFacts::EvictMe)) return {};
  if (facts.is(PodFacts::DaemonSet)) return "pod is a DaemonSet pod";
  if (facts.is(PodFacts::Mirror)) return "pod is a mirror pod";
  if (facts.is(PodFacts::Static)) return "pod is a static pod";
  if (facts.is(PodFacts::Terminating)) return "pod is terminating";
  if (const auto bare = bareRefusal(*this, facts); !bare.empty()) return bare;
  if (!evictSystemCriticalPods && facts.is(PodFacts::HasPriority)) {
    if (facts.priority >= kSystemCriticalPriority) return "pod has system critical priority";
    if (priorityThreshold && facts.priority >= *priorityThreshold)
      return "pod has higher priority than specified priority class threshold";
  }
  if (!evictLocalStoragePods && facts.is(PodFacts::LocalStorage))
    return "pod has local storage and descheduler is not configured with evictLocalStoragePods";
  if (ignorePvcPods && facts.is(PodFacts::Claims))
    return "pod has a PVC and descheduler is configured to ignore PVC pods";
  if (labelSelector && !labelSelector->empty() && !labelSelector->matches(pod.metadata.labels))
    return "pod labels do not match the labelSelector filter in the policy parameter";
  return {};
}

}  // namespace koord::descheduler
