#include "cluster/controllers/disruption.h"

#include <algorithm>
#include <boost/json/object.hpp>

#include "api/selector.h"
#include "cluster/controllers/deployment.h"
#include "kube/client.h"

namespace koord::cluster {

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
                                           kube::Informer<api::StatefulSet>& statefulSets)
    : api_(api),
      executor_(executor),
      budgets_(budgets),
      pods_(pods),
      sets_(sets),
      statefulSets_(statefulSets),
      queue_(executor, "disruption", [this](std::string key) { return sync(std::move(key)); }) {
  const auto add = [this](const auto& budget) {
    queue_.add(api::keyOf(budget->metadata).toString());
  };
  budgets_.addHandler({add, [add](const auto&, const auto& budget) { add(budget); }, {}});
  const auto podChanged = [this](const auto& pod) {
    for (const auto& [key, budget] : budgets_.objects())
      if (key.namespace_ == pod->metadata.namespace_) queue_.add(key.toString());
  };
  pods_.addHandler(
      {podChanged, [podChanged](const auto&, const auto& pod) { podChanged(pod); }, podChanged});
}

std::optional<int> DisruptionController::scaleOf(const api::Pod& pod) const {
  const auto* owner = api::controllerOf(pod.metadata);
  if (!owner) return std::nullopt;
  const api::ObjectKey key{pod.metadata.namespace_, owner->name};
  if (owner->kind == "ReplicaSet")
    if (const auto set = sets_.get(key)) return set->spec.replicas.value_or(1);
  if (owner->kind == "StatefulSet")
    if (const auto set = statefulSets_.get(key)) return set->spec.replicas.value_or(1);
  return std::nullopt;
}

Task<Result<>> DisruptionController::sync(std::string key) {
  const auto budget = budgets_.get(keyOfText(key));
  if (!budget) co_return Result<>{};
  const auto selector = api::Selector::compile(budget->spec.selector);
  if (!selector) co_return fail(selector.error());
  DisruptionCounts counts;
  int matching = 0;
  std::map<std::string, int> scales;  // by owner
  for (const auto& [podKey, pod] : pods_.objects()) {
    if (podKey.namespace_ != budget->metadata.namespace_ ||
        !selector->matches(pod->metadata.labels) || api::isTerminal(*pod))
      continue;
    ++matching;
    if (const auto scale = scaleOf(*pod)) scales[api::controllerOf(pod->metadata)->uid] = *scale;
    if (isReady(*pod) && !pod->metadata.deletionTimestamp) ++counts.healthy;
  }
  // With a plain minAvailable the pods that are there count; anything else needs the size they
  // should have.
  const bool byScale = budget->spec.maxUnavailable ||
                       (budget->spec.minAvailable && budget->spec.minAvailable->isText);
  counts.expected = matching;
  if (byScale && !scales.empty()) {
    counts.expected = 0;
    for (const auto& [owner, scale] : scales) counts.expected += scale;
  }
  auto status = disruptionStatus(budget->spec, counts);
  const auto& before = budget->status;
  if (status.expectedPods == before.expectedPods &&
      status.currentHealthy == before.currentHealthy &&
      status.desiredHealthy == before.desiredHealthy &&
      status.disruptionsAllowed == before.disruptionsAllowed &&
      before.observedGeneration == budget->metadata.generation && before.disruptedPods.empty())
    co_return Result<>{};
  json::value patch = json::object{{"status",
                                    {{"expectedPods", status.expectedPods},
                                     {"currentHealthy", status.currentHealthy},
                                     {"desiredHealthy", status.desiredHealthy},
                                     {"disruptionsAllowed", status.disruptionsAllowed},
                                     {"observedGeneration", budget->metadata.generation},
                                     {"disruptedPods", nullptr}}}};
  auto patching = kube::mergePatch(api_, api::PodDisruptionBudget::kType, keyOfText(key),
                                   std::move(patch), "status");
  auto patched = co_await patching;
  if (!patched && patched.error().code != ErrorCode::NotFound)
    co_return fail(std::move(patched.error()));
  co_return Result<>{};
}

}  // namespace koord::cluster
