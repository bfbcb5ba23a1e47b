#include "scheduler/plugins/elasticquota/plugin.h"

#include <algorithm>

#include "model/well_known.h"
#include "scheduler/framework/profile.h"

namespace koord::scheduler {

ElasticQuota::ElasticQuota(Handle& handle, const ElasticQuotaArgs& args)
    : handle_(handle),
      cluster_(handle.cluster()),
      args_(args),
      rules_{args.enableRuntimeQuota, args.enableCheckParentQuota},
      quotas_(Quotas::of(handle, args)),
      waker_(QuotaWaker::of(handle, quotas_, rules_)),
      preemption_(quotas_, args.disableDefaultQuotaPreemption),
      dryRun_(handle, preemption_),
      evictions_(evictionsOf(handle)),
      controller_(handle, quotas_, args) {}

Shortage ElasticQuota::judge(const Place& place, const PodInfo& pod) const {
  return shortageOf(place, askOf(quotas_, place, pod), isFixed(pod.pod->metadata.labels), rules_);
}

bool ElasticQuota::hasCredits(const PodInfo& pod) const {
  return std::ranges::any_of(handle_.profile().views,
                             [&](const ViewPlugin* view) { return view->hasCredits(pod); });
}

std::vector<std::string> ElasticQuota::reservedNodes(const Place& place, const PodInfo& pod) const {
  std::vector<std::string> names;
  const bool fixed = isFixed(pod.pod->metadata.labels);
  cluster_.live().forEach([&](NodeId node) {
    NodeCredit credit;
    bool any = false;
    for (const ViewPlugin* view : handle_.profile().views)
      any |= view->addCredit(pod, node, credit);
    if (any && !shortageOf(place, askOf(quotas_, place, pod, &credit.amount), fixed, rules_))
      names.push_back(cluster_.node(node).name);
  });
  return names;
}

PreFilterResult ElasticQuota::preFilter(CycleState&, const PodInfo& pod) {
  const Place place = quotas_.placeOf(pod);
  if (!place) return {Status::skip(), {}};
  quotas_.refresh(place);
  const Shortage shortage = judge(place, pod);
  if (!shortage) return {};
  if (hasCredits(pod)) {
    // What a reservation holds for it has been charged to a quota already.
    std::vector<std::string> nodes = reservedNodes(place, pod);
    if (!nodes.empty()) return {Status(), std::move(nodes)};
  }
  waker_.full(place);
  return {
      Status::unschedulable(textOf(quotas_, place, askOf(quotas_, place, pod), shortage, rules_)),
      {}};
}

Status ElasticQuota::admit(const CycleState&, const PodInfo& pod) const {
  const Place place = quotas_.placeOf(pod);
  if (!place) return {};
  const Shortage shortage = judge(place, pod);
  if (!shortage || hasCredits(pod)) return {};  // with credits, Reserve decides
  return Status::unschedulable(
      textOf(quotas_, place, askOf(quotas_, place, pod), shortage, rules_));
}

std::optional<std::string> ElasticQuota::admitKey(const PodInfo& pod) const {
  const Place place = quotas_.placeOf(pod);
  if (!place) return std::string();
  return place.tree->id + '/' + roomOf(place, isFixed(pod.pod->metadata.labels), rules_);
}

std::optional<Charge> ElasticQuota::chargeOf(const PodInfo& pod) const {
  const auto* record = cluster_.findPod(pod.uid());
  if (!record || quotas_.ignores(pod)) return std::nullopt;
  Charge charge{quotas_.accountOf(pod), isFixed(pod.pod->metadata.labels), nullptr};
  if (!charge.account) return std::nullopt;
  charge.within = coveredOf(record->grants);
  return charge;
}

Status ElasticQuota::reserve(CycleState&, const PodPtr& pod, NodeId) {
  const Latencies::Timer timer(quotas_.latencies(), QuotaOperation::ReservePod);
  std::optional<Charge> charge = chargeOf(*pod);
  if (!charge) return {};
  if (const Place& place = charge->account->place) {
    // What its reservation covers is known now.
    const QuotaAsk ask = askOf(quotas_, place, *pod, charge->within.get());
    if (const Shortage shortage = shortageOf(place, ask, charge->fixed, rules_)) {
      waker_.full(place);
      return Status::unschedulable(textOf(quotas_, place, ask, shortage, rules_));
    }
  }
  cluster_.regrant(pod->uid(), quotas_.ledger().id(), ChargeLedger::grantOf(*std::move(charge)));
  return {};
}

Status ElasticQuota::grant(const PodPtr& pod, NodeId) {
  if (std::optional<Charge> charge = chargeOf(*pod))
    cluster_.regrant(pod->uid(), quotas_.ledger().id(), ChargeLedger::grantOf(*std::move(charge)));
  return {};
}

// Whether a pod that was turned away would not be now.
bool ElasticQuota::helps(const PodInfo& pod) const {
  const Place place = quotas_.placeOf(pod);
  if (!place) return true;
  quotas_.refresh(place);
  return !judge(place, pod) || hasCredits(pod);
}

std::vector<EventRegistration> ElasticQuota::eventsToRegister() const {
  const auto hint = [this](const PodInfo& pod, const ClusterEvent&) {
    return helps(pod) ? Hint::Queue : Hint::Skip;
  };
  const std::string quotas(KindOf<api::ElasticQuota>::value.customResource);
  return {{EventResource::Pod,
           action::kDelete | action::kUpdatePodLabel | action::kUpdatePodScaleDown, "", hint},
          {EventResource::Node, action::kAdd | action::kDelete | action::kUpdateNodeAllocatable, "",
           hint},
          {EventResource::Custom, action::kAll, quotas, hint}};
}

}  // namespace koord::scheduler
