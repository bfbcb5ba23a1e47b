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
      quotaRules_(quotas_, args.disableDefaultQuotaPreemption),
      preemption_(handle, quotaRules_, std::string(kName), {}),
      fullNodeRules_(quotas_, rules_),
      fullNodePreemption_(handle, fullNodeRules_, std::string(kName), {}),
      controller_(handle, quotas_, args) {}

Shortage ElasticQuota::judge(const Place& place, const PodInfo& pod) const {
  if (takesAll(place, pod)) return {};
  return shortageOf(place, askOf(quotas_, place, pod), quotas_.fixed(pod), rules_);
}

// Returns true if no request of the pod can exceed a limit, so that sums need not be computed.
bool ElasticQuota::takesAll(const Place& place, const PodInfo& pod) const {
  return place.unlimited() && !quotas_.fixed(pod);
}

bool ElasticQuota::hasCredits(const PodInfo& pod) const {
  return std::ranges::any_of(handle_.profile().views,
                             [&](const ViewPlugin* view) { return view->hasCredits(pod); });
}

// What a reservation frees for the pod, and in which quota, is computed by giving it to the pod in
// a simulation.
Shortage ElasticQuota::judgeOn(const Place& place, const PodPtr& pod, NodeId node) const {
  Cluster::Transaction whatIf(cluster_);
  if (!cluster_.assume(pod, node)) return judge(place, *pod);
  for (TentativePlugin* plugin : handle_.profile().offers<TentativePlugin>())
    if (plugin != this) plugin->grant(pod, node);
  const auto within = coveredOf(cluster_.findPod(pod->uid())->grants);
  return shortageOf(place, askOf(quotas_, place, *pod, within.get()), quotas_.fixed(*pod), rules_);
}

std::vector<std::string> ElasticQuota::reservedNodes(const Place& place, const PodPtr& pod) const {
  std::vector<std::string> names;
  const bool fixed = quotas_.fixed(*pod);
  cluster_.live().forEach([&](NodeId node) {
    NodeCredit credit;
    bool any = false;
    for (const ViewPlugin* view : handle_.profile().views)
      any |= view->addCredit(*pod, node, credit);
    if (any && !shortageOf(place, askOf(quotas_, place, *pod, &credit.amount), fixed, rules_) &&
        !judgeOn(place, pod, node))
      names.push_back(cluster_.node(node).name);
  });
  return names;
}

PreFilterResult ElasticQuota::preFilter(CycleState&, const PodInfo& pod) {
  const Quotas::Member& member = quotas_.memberOf(pod);
  if (member.account && member.account->place && member.unlimited()) return {};
  return preFilterLimited(pod);
}

PreFilterResult ElasticQuota::preFilterLimited(const PodInfo& pod) {
  const Place place = quotas_.placeOf(pod);
  if (!place) return {Status::skip(), {}};
  quotas_.refresh(place);
  const Shortage shortage = judge(place, pod);
  if (!shortage) return {};
  waker_.full(place);
  PreFilterResult result;
  result.status =
      Status::unschedulable(textOf(quotas_, place, askOf(quotas_, place, pod), shortage, rules_));
  if (!hasCredits(pod)) return result;
  // Resources that are reserved for it may already be charged to its quota.
  std::vector<std::string> nodes = reservedNodes(place, std::make_shared<const PodInfo>(pod));
  if (!nodes.empty()) result.nodeNames = std::move(nodes);
  return result;
}

// The quotas that a verdict checks (shortageOf). Pods for which a reservation is charged may not be
// charged at all.
std::vector<PodLimits::Limit> ElasticQuota::limitsOf(const PodInfo& pod) const {
  const Place place = quotas_.placeOf(pod);
  if (!place || place.unlimited() || quotas_.ignores(pod) || quotas_.ignoresSome(pod) ||
      hasCredits(pod))
    return {};
  const quota::QuotaTree& tree = place.quotas();
  std::vector<Limit> limits;
  for (quota::QuotaId next = place.quota;
       next != quota::QuotaTree::kRoot && next != quota::kNoQuota; next = tree.parent(next)) {
    Limit limit{fmt::format("quota \"{}\"", tree.name(next)), limits.size(), {}};
    quota::forEachColumn(tree.maxColumns(next), [&](quota::Column column) {
      limit.most.emplace_back(tree.resource(column), tree.cell(next, column).max);
    });
    limits.push_back(std::move(limit));
    if (!rules_.ancestors) break;
  }
  return limits;
}

Status ElasticQuota::admit(const CycleState&, const PodPtr& pod, NodeId node) const {
  const Place place = quotas_.placeOf(*pod);
  if (!place) return {};
  const Shortage shortage = judge(place, *pod);
  if (!shortage || (hasCredits(*pod) && !judgeOn(place, pod, node))) return {};
  return Status::unschedulable(
      textOf(quotas_, place, askOf(quotas_, place, *pod), shortage, rules_));
}

std::optional<std::string> ElasticQuota::admitKey(const PodInfo& pod) const {
  const Place place = quotas_.placeOf(pod);
  if (!place) return std::string();
  return place.tree->id + '/' + headroomText(place, quotas_.fixed(pod), rules_);
}

// The charge depends on the part of its requests that is charged to something else on the node.
GrantPtr ElasticQuota::chargeOf(const Quotas::Member& member,
                                std::shared_ptr<const Resources> within) {
  if (!within) return member.whole;
  return ChargeLedger::grantOf({member.account, member.fixed, std::move(within)});
}

Status ElasticQuota::reserve(CycleState&, const PodPtr& pod, NodeId) {
  const Latencies::Timer timer(quotas_.latencies(), QuotaOperation::ReservePod);
  const Cluster::PodRecord* const record = cluster_.findPod(pod->uid());
  if (!record || quotas_.ignores(*pod)) return {};
  const Quotas::Member& member = quotas_.memberOf(*pod);
  if (!member.account) return {};
  std::shared_ptr<const Resources> within = coveredOf(record->grants);
  const Place& place = member.account->place;
  if (place && !member.unlimited()) {
    if (Status status = judgeReserve(place, *pod, member.fixed, within.get()); !status.ok())
      return status;
  }
  cluster_.regrant(*record, quotas_.ledger().id(), chargeOf(member, std::move(within)));
  return {};
}

// The part that its reservation covers is known now.
Status ElasticQuota::judgeReserve(const Place& place, const PodInfo& pod, bool fixed,
                                  const Resources* within) {
  const QuotaRequest ask = askOf(quotas_, place, pod, within);
  const Shortage shortage = shortageOf(place, ask, fixed, rules_);
  if (!shortage) return {};
  waker_.full(place);
  return Status::unschedulable(textOf(quotas_, place, ask, shortage, rules_));
}

Status ElasticQuota::grant(const PodPtr& pod, NodeId) {
  const Cluster::PodRecord* const record = cluster_.findPod(pod->uid());
  if (!record || quotas_.ignores(*pod)) return {};
  const Quotas::Member& member = quotas_.memberOf(*pod);
  if (member.account)
    cluster_.regrant(*record, quotas_.ledger().id(), chargeOf(member, coveredOf(record->grants)));
  return {};
}

// Returns true if a rejected pod would be admitted now.
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
