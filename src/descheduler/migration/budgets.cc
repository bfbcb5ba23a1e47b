#include "descheduler/migration/budgets.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "kube/client.h"

namespace koord::descheduler {

namespace {

// By the rule of kube-apiserver's Eviction API.
bool needsNoBudget(const Pod& pod) {
  return pod.metadata.deletionTimestamp || pod.status.phase == "Pending" ||
         pod.facts.is(PodFacts::Terminal);
}

bool isUnhealthyAndFree(const Pod& pod, const api::PodDisruptionBudget& budget) {
  if (pod.facts.is(PodFacts::Ready)) return false;
  const auto& status = budget.status;
  return budget.spec.unhealthyPodEvictionPolicy == "AlwaysAllow" ||
         (status.desiredHealthy > 0 && status.currentHealthy >= status.desiredHealthy);
}

std::string refusalOf(const api::PodDisruptionBudget& budget, const std::vector<PodPtr>& pods) {
  const auto selector = api::Selector::compile(budget.spec.selector);
  if (!selector) return {};
  const auto concerned = std::ranges::count_if(pods, [&](const auto& pod) {
    return !needsNoBudget(*pod) && selector->matches(pod->metadata.labels) &&
           !isUnhealthyAndFree(*pod, budget) &&
           !budget.status.disruptedPods.contains(pod->metadata.name);
  });
  if (concerned == 0 || concerned <= budget.status.disruptionsAllowed) return {};
  return fmt::format("PodDisruptionBudget {} allows {} evictions now, {} are needed",
                     budget.metadata.name, budget.status.disruptionsAllowed, concerned);
}

}  // namespace

Task<std::string> Budgets::refusal(std::vector<PodPtr> pods) {
  std::map<std::string, std::vector<PodPtr>> byNamespace;
  for (PodPtr& pod : pods) byNamespace[pod->metadata.namespace_].push_back(std::move(pod));
  for (auto& [namespace_, own] : byNamespace) {
    auto asking = refusalIn(namespace_, std::move(own));
    std::string why = co_await asking;
    if (!why.empty()) co_return why;
  }
  co_return std::string();
}

Task<std::string> Budgets::refusalIn(std::string namespace_, std::vector<PodPtr> pods) {
  const SteadyTime now = handle_.executor().steadyNow();
  const auto it = known_.find(namespace_);
  if (it == known_.end() || now - it->second.at > kept_) {
    auto listing = kube::list<api::PodDisruptionBudget>(handle_.api(), namespace_);
    auto listed = co_await listing;
    std::erase_if(known_, [&](const auto& entry) { return now - entry.second.at > kept_; });
    if (!listed) {
      log::v(1, "disruption budgets of namespace {} cannot be read: {}", namespace_,
             listed.error().message);
      co_return std::string();
    }
    known_[namespace_] = {now, std::move(listed->items)};
  }
  for (const auto& budget : known_[namespace_].budgets)
    if (std::string why = refusalOf(budget, pods); !why.empty()) co_return why;
  co_return std::string();
}

}  // namespace koord::descheduler
