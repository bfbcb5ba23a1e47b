#include "cluster/controllers/disruption.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/time.h"
#include "cluster/controllers/rollout.h"
#include "kube/client.h"

namespace koord::cluster {

namespace {

constexpr Duration kDeletionTimeout = std::chrono::minutes(2);
constexpr const char* kCondition = "DisruptionAllowed";

bool conditionIs(const api::PodDisruptionBudget& budget, bool allowed) {
  for (const auto& condition : budget.status.conditions)
    if (condition.type == kCondition) return condition.status == (allowed ? "True" : "False");
  return false;
}

json::object conditionJson(const api::PodDisruptionBudget& budget, bool allowed, WallTime now) {
  WallTime since = now;
  if (conditionIs(budget, allowed))
    for (const auto& condition : budget.status.conditions)
      if (condition.type == kCondition) since = condition.lastTransitionTime.value_or(now);
  return {{"type", kCondition},
          {"status", allowed ? "True" : "False"},
          {"observedGeneration", budget.metadata.generation},
          {"lastTransitionTime", formatTime(since)},
          {"reason", allowed ? "SufficientPods" : "InsufficientPods"},
          {"message", ""}};
}

}  // namespace

api::PodDisruptionBudgetStatus disruptionStatus(const api::PodDisruptionBudgetSpec& spec,
                                                DisruptionCounts counts) {
  api::PodDisruptionBudgetStatus status;
  status.expectedPods = counts.expected;
  status.currentHealthy = counts.healthy;
  if (spec.maxUnavailable) {
    status.desiredHealthy =
        counts.expected - resolveIntOrPercent(*spec.maxUnavailable, counts.expected, true);
  } else if (spec.minAvailable) {
    status.desiredHealthy = resolveIntOrPercent(*spec.minAvailable, counts.expected, true);
  }
  status.desiredHealthy = std::max(status.desiredHealthy, 0);
  status.disruptionsAllowed =
      counts.expected == 0 ? 0 : std::max(counts.healthy - status.desiredHealthy, 0);
  return status;
}

DisruptionController::DisruptionController(kube::Api& api, Executor& executor,
                                           kube::Informer<api::PodDisruptionBudget>& budgets,
                                           kube::Informer<api::Pod>& pods,
                                           kube::Informer<api::ReplicaSet>& sets,
                                           kube::Informer<api::Deployment>& deployments,
                                           kube::Informer<api::StatefulSet>& statefulSets)
    : api_(api),
      executor_(executor),
      budgets_(budgets),
      pods_(pods),
      sets_(sets),
      deployments_(deployments),
      statefulSets_(statefulSets),
      queue_(executor, "disruption", [this](std::string key) { return sync(std::move(key)); }) {
  enqueueChanged(budgets_, queue_);
  const auto podChanged = [this](const auto& pod) {
    for (const auto& budget : budgets_.objects())
      if (budget->metadata.namespace_ == pod->metadata.namespace_)
        queue_.add(api::keyOf(budget->metadata).toString());
  };
  pods_.addHandler(
      {podChanged, [podChanged](const auto&, const auto& pod) { podChanged(pod); }, podChanged});
}

std::optional<DisruptionController::Scale> DisruptionController::scaleOf(
    const api::Pod& pod) const {
  const auto* owner = api::controllerOf(pod.metadata);
  if (!owner) return std::nullopt;
  const auto& namespace_ = pod.metadata.namespace_;
  if (owner->kind == "ReplicaSet") {
    const auto set = sets_.get({namespace_, owner->name});
    if (!set) return std::nullopt;
    const auto* above = api::controllerOf(set->metadata);
    if (above && above->kind == "Deployment")
      if (const auto deployment = deployments_.get({namespace_, above->name}))
        return Scale{above->uid, deployment->spec.replicas.value_or(1)};
    return Scale{owner->uid, set->spec.replicas.value_or(1)};
  }
  if (owner->kind == "StatefulSet")
    if (const auto set = statefulSets_.get({namespace_, owner->name}))
      return Scale{owner->uid, set->spec.replicas.value_or(1)};
  return std::nullopt;
}

DisruptionController::Count DisruptionController::count(const api::PodDisruptionBudget& budget,
                                                        const api::Selector& selector,
                                                        WallTime now) const {
  Count count;
  int matching = 0;
  std::map<std::string, int> scales;  // by owner
  for (const auto& pod : pods_.objects()) {
    if (pod->metadata.namespace_ != budget.metadata.namespace_ ||
        !selector.matches(pod->metadata.labels) || api::isTerminal(*pod))
      continue;
    ++matching;
    if (const auto scale = scaleOf(*pod)) scales[scale->uid] = scale->replicas;
    if (pod->metadata.deletionTimestamp) continue;
    if (const auto* since = api::findIn(budget.status.disruptedPods, pod->metadata.name)) {
      const auto evicted = parseTime(*since);
      if (evicted && *evicted + kDeletionTimeout > now) {
        count.disrupted[pod->metadata.name] = *since;
        count.recheck =
            std::min(count.recheck.value_or(WallTime::max()), *evicted + kDeletionTimeout);
        continue;
      }
    }
    if (isReady(*pod)) ++count.pods.healthy;
  }
  // With a plain minAvailable the pods that are there count; anything else needs the size they
  // should have.
  const bool byScale =
      budget.spec.maxUnavailable || (budget.spec.minAvailable && budget.spec.minAvailable->isText);
  count.pods.expected = matching;
  if (byScale && !scales.empty()) {
    count.pods.expected = 0;
    for (const auto& [owner, scale] : scales) count.pods.expected += scale;
  }
  return count;
}

Task<Result<>> DisruptionController::sync(std::string key) {
  const auto budget = budgets_.get(keyOfText(key));
  if (!budget) co_return Result<>{};
  const auto selector = api::Selector::compile(budget->spec.selector);
  if (!selector) co_return fail(selector.error());
  const WallTime now = executor_.wallNow();
  auto counted = count(*budget, *selector, now);
  if (counted.recheck) queue_.addAfter(key, *counted.recheck - now);
  const auto& before = budget->status;
  const auto status = disruptionStatus(budget->spec, counted.pods);
  const bool allowed = status.disruptionsAllowed > 0;
  if (status.expectedPods == before.expectedPods &&
      status.currentHealthy == before.currentHealthy &&
      status.desiredHealthy == before.desiredHealthy &&
      status.disruptionsAllowed == before.disruptionsAllowed &&
      before.observedGeneration == budget->metadata.generation &&
      counted.disrupted.size() == before.disruptedPods.size() && conditionIs(*budget, allowed))
    co_return Result<>{};
  // Members of the map that are not named would stay: they are taken away one by one.
  for (const auto& [name, since] : before.disruptedPods)
    if (!counted.disrupted.contains(name)) counted.disrupted[name] = nullptr;
  json::value patch =
      json::object{{"metadata", {{"resourceVersion", budget->metadata.resourceVersion}}},
                   {"status",
                    {{"expectedPods", status.expectedPods},
                     {"currentHealthy", status.currentHealthy},
                     {"desiredHealthy", status.desiredHealthy},
                     {"disruptionsAllowed", status.disruptionsAllowed},
                     {"observedGeneration", budget->metadata.generation},
                     {"disruptedPods", std::move(counted.disrupted)},
                     {"conditions", json::array{conditionJson(*budget, allowed, now)}}}}};
  auto patching = patchIfUnchanged(api_, api::PodDisruptionBudget::kType, keyOfText(key),
                                   std::move(patch), "status");
  co_return co_await patching;
}

}  // namespace koord::cluster
