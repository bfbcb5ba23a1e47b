#include "descheduler/plugins/defaultevictor/plugin.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/core.h"
#include "api/storage.h"
#include "base/log.h"
#include "descheduler/framework/metrics.h"
#include "descheduler/rules/evictor_filter.h"
#include "descheduler/rules/node_fit.h"
#include "kube/client.h"

namespace koord::descheduler {

Result<std::optional<std::int32_t>> resolveThreshold(Stores& stores,
                                                     std::optional<std::int32_t> value,
                                                     const std::string& name) {
  if (name.empty()) return value;
  const auto found = stores.priorityClasses().get({"", name});
  if (!found)
    return fail(ErrorCode::NotFound,
                fmt::format("priorityThreshold.name: there is no PriorityClass \"{}\"", name));
  if (found->value > kSystemCriticalPriority) {
    return fail(ErrorCode::Invalid,
                fmt::format("priorityThreshold.name: PriorityClass \"{}\" has the value {}, which "
                            "is above {}",
                            name, found->value, kSystemCriticalPriority));
  }
  return std::optional(found->value);
}

PluginKind DefaultEvictor::kind() {
  PluginKind kind;
  kind.evict = true;
  kind.filter = true;
  kind.prepare = [](Fields& fields) {
    DefaultEvictorArgs args = DefaultEvictorArgs::read(fields);
    json::object effective = args.effective;
    return PreparedPlugin{std::move(effective), [args](Handle& handle) {
                            return std::make_shared<DefaultEvictor>(handle, args);
                          }};
  };
  return kind;
}

DefaultEvictor::DefaultEvictor(Handle& handle, DefaultEvictorArgs args)
    : handle_(handle), args_(std::move(args)), threshold_(args_.priorityThreshold) {
  if (args_.claims && !args_.protectedClasses.empty())
    claims_ = &handle.stores().of<api::PersistentVolumeClaim>();
  if (args_.withoutBudget) budgets_ = &handle.stores().of<api::PodDisruptionBudget>();
}

Result<> DefaultEvictor::start() {
  auto threshold = resolveThreshold(handle_.stores(), args_.priorityThreshold, args_.priorityClass);
  if (!threshold) return fail(std::move(threshold.error()));
  threshold_ = *threshold;
  return {};
}

bool DefaultEvictor::usesProtectedClaim(const Pod& pod) const {
  if (!pod.facts.is(PodFacts::Claims)) return false;
  if (args_.protectedClasses.empty()) return true;
  return std::ranges::any_of(pod.spec.volumes, [&](const api::Volume& volume) {
    if (!volume.persistentVolumeClaim) return false;
    const auto claim =
        claims_->get({pod.metadata.namespace_, volume.persistentVolumeClaim->claimName});
    // A claim that cannot be read is protected.
    return !claim || !claim->spec.storageClassName ||
           args_.protectedClasses.contains(std::string(*claim->spec.storageClassName));
  });
}

bool DefaultEvictor::hasBudget(const Pod& pod) const {
  return std::ranges::any_of(budgets_->objects(), [&](const auto& budget) {
    if (budget->metadata.namespace_ != pod.metadata.namespace_) return false;
    const auto selector = api::Selector::compile(budget->spec.selector);
    return selector && selector->matches(pod.metadata.labels);
  });
}

std::string_view DefaultEvictor::protection(const Pod& pod) const {
  const PodFacts& facts = pod.facts;
  if (facts.is(PodFacts::Bare) && (args_.failedBare || !facts.is(PodFacts::Failed)))
    return "pod does not have any ownerRefs";
  if (args_.systemCritical && facts.is(PodFacts::HasPriority)) {
    if (facts.priority >= kSystemCriticalPriority) return "pod has system critical priority";
    if (threshold_ && facts.priority >= *threshold_)
      return "pod has higher priority than specified priority class threshold";
  }
  if (args_.localStorage && facts.is(PodFacts::LocalStorage)) return "pod has local storage";
  if (args_.daemonSets && facts.is(PodFacts::DaemonSet)) return "pod is related to daemonset";
  if (args_.claims && usesProtectedClaim(pod)) return "pod with PVC is protected";
  if (args_.withoutBudget && !hasBudget(pod)) return "no PDB found for pod";
  if (args_.resourceClaims && !pod.spec.resourceClaims.empty()) return "pod has ResourceClaims";
  return {};
}

bool DefaultEvictor::tooFewReplicas(const Pod& pod) const {
  if (args_.minReplicas <= 1 || pod.metadata.ownerReferences.size() != 1) return false;
  return handle_.stores().podsOwnedBy(pod.metadata.ownerReferences[0].uid).size() <
         args_.minReplicas;
}

bool DefaultEvictor::isTooYoung(const Pod& pod) const {
  if (!args_.minPodAge) return false;
  const auto& started = pod.status.startTime;
  return !started || handle_.executor().wallNow() - *started < *args_.minPodAge;
}

std::string_view DefaultEvictor::refusal(const Pod& pod) const {
  const PodFacts& facts = pod.facts;
  if (facts.is(PodFacts::EvictMe)) return {};
  if (args_.protectsPreferNoEviction && facts.is(PodFacts::PreferStay))
    return "pod has the no-eviction annotation";
  if (facts.is(PodFacts::Mirror)) return "pod is a mirror pod";
  if (facts.is(PodFacts::Static)) return "pod is a static pod";
  if (facts.is(PodFacts::Terminating)) return "pod is terminating";
  if (const auto why = protection(pod); !why.empty()) return why;
  if (args_.labelSelector && !args_.labelSelector->matches(pod.metadata.labels))
    return "pod labels do not match the labelSelector filter in the policy parameter";
  if (tooFewReplicas(pod)) return "owner has too few replicas";
  if (isTooYoung(pod)) return "pod age is less than minPodAge";
  return {};
}

bool DefaultEvictor::filter(const Pod& pod) {
  const std::string_view why = refusal(pod);
  if (!why.empty())
    log::v(4, "Pod fails the following checks pod={} checks=\"{}\"",
           api::keyOf(pod.metadata).toString(), why);
  return why.empty();
}

bool DefaultEvictor::preEvictionFilter(const Pod& pod) {
  if (!args_.namespaceLabels.empty()) {
    const auto owner = handle_.stores().namespaces().get({"", pod.metadata.namespace_});
    if (!owner || !api::Selector::ofLabels(args_.namespaceLabels).matches(owner->metadata.labels))
      return false;
  }
  if (!args_.nodeFit) return true;
  Nodes nodes = handle_.nodes();
  if (args_.nodeSelector)
    std::erase_if(nodes, [&](const NodeView& node) {
      return !args_.nodeSelector->matches(node.node->metadata.labels);
    });
  return fitsAnyOtherNode(pod, nodes);
}

Task<Result<Evicted>> DefaultEvictor::evict(PodPtr pod, EvictOptions options) {
  if (!options.together.empty() || options.beneficiary)
    co_return fail(ErrorCode::Forbidden,
                   "DefaultEvictor cannot foretell where pods land: enable MigrationController at "
                   "the points evict and filter");
  if (options.dryRun) co_return Evicted{};
  kube::DeleteOptions how;
  how.uid = pod->metadata.uid;
  if (const auto* seconds = find(options.deleteOptions, "gracePeriodSeconds");
      seconds && seconds->is_int64())
    how.gracePeriodSeconds = seconds->get_int64();
  auto call = kube::evictPod(handle_.api(), api::keyOf(pod->metadata), std::move(how));
  const auto done = co_await call;
  handle_.metrics().podEvicted(done ? "success" : "error", options.plugin, pod->metadata.namespace_,
                               pod->spec.nodeName);
  if (!done) co_return fail(Error(done.error()).within("eviction"));
  const std::string& reason = options.reason.empty() ? options.plugin : options.reason;
  handle_.events().record(kube::referenceTo(api::Pod::kType, pod->metadata), "Normal",
                          "Descheduled", "pod evicted by " + reason, "Descheduled");
  co_return Evicted{};
}

}  // namespace koord::descheduler
