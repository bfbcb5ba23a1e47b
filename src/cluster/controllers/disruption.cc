#include "cluster/controllers/disruption.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/group_version.h"
#include "base/time.h"
#include "cluster/controllers/garbage_collector.h"
#include "cluster/controllers/rollout.h"
#include "kube/client.h"

namespace koord::cluster {

namespace {

constexpr Duration kDeletionTimeout = std::chrono::minutes(2);
constexpr const char* kCondition = "DisruptionAllowed";

constexpr const char* kUnmanaged =
    "Pods selected by this PodDisruptionBudget were found to be unmanaged. As a result, the status "
    "of "
    "the PDB cannot be calculated correctly, which may result in undefined behavior. To account "
    "for "
    "these pods please set \".spec.minAvailable\" field of the PDB to an integer value.";

// The content of the condition.
struct Verdict {
  bool allowed = false;
  const char* reason = "";
  std::string message;
};

const api::Condition* conditionOf(const api::PodDisruptionBudget& budget) {
  for (const auto& condition : budget.status.conditions)
    if (condition.type == kCondition) return &condition;
  return nullptr;
}

bool isInStatus(const api::PodDisruptionBudget& budget, const Verdict& verdict) {
  const auto* condition = conditionOf(budget);
  return condition && condition->status == (verdict.allowed ? "True" : "False") &&
         condition->reason == verdict.reason && condition->message == verdict.message;
}

json::object conditionJson(const api::PodDisruptionBudget& budget, Verdict verdict, WallTime now) {
  const char* status = verdict.allowed ? "True" : "False";
  WallTime since = now;
  if (const auto* before = conditionOf(budget); before && before->status == status)
    since = before->lastTransitionTime.value_or(now);
  return {{"type", kCondition},
          {"status", status},
          {"observedGeneration", budget.metadata.generation},
          {"lastTransitionTime", formatTime(since)},
          {"reason", verdict.reason},
          {"message", std::move(verdict.message)}};
}

bool needsScale(const api::PodDisruptionBudgetSpec& spec) {
  return spec.maxUnavailable || (spec.minAvailable && spec.minAvailable->isText);
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

DisruptionController::DisruptionController(
    kube::Api& api, Executor& executor, const apiserver::Registry& registry,
    kube::Informer<api::PodDisruptionBudget>& budgets, kube::Informer<api::Pod>& pods,
    kube::Informer<api::ReplicaSet>& sets, kube::Informer<api::Deployment>& deployments,
    kube::Informer<api::StatefulSet>& statefulSets, kube::EventRecorder& events)
    : api_(api),
      executor_(executor),
      registry_(registry),
      budgets_(budgets),
      pods_(pods, namespaceOfPod),
      sets_(sets),
      deployments_(deployments),
      statefulSets_(statefulSets),
      events_(events),
      queue_(executor, "disruption", [this](std::string key) { return sync(std::move(key)); }) {
  enqueueChanged(budgets_, queue_);
  const auto podChanged = [this](const auto& pod) {
    for (const auto& budget : budgets_.objects())
      if (budget->metadata.namespace_ == pod->metadata.namespace_)
        queue_.add(api::keyOf(budget->metadata).toString());
  };
  pods.addHandler(
      {podChanged, [podChanged](const auto&, const auto& pod) { podChanged(pod); }, podChanged});
}

std::optional<DisruptionController::Scale> DisruptionController::knownScale(
    const api::Pod& pod, const api::OwnerReference& owner) const {
  const auto& namespace_ = pod.metadata.namespace_;
  if (owner.apiVersion != "apps/v1") return std::nullopt;
  if (owner.kind == "ReplicaSet") {
    const auto set = sets_.get({namespace_, owner.name});
    if (!set || set->metadata.uid != owner.uid) return std::nullopt;
    const auto* above = api::controllerOf(set->metadata);
    if (!above || above->kind != "Deployment")
      return Scale{owner.uid, set->spec.replicas.value_or(1)};
    const auto deployment = deployments_.get({namespace_, above->name});
    if (!deployment || deployment->metadata.uid != above->uid) return std::nullopt;
    return Scale{above->uid, deployment->spec.replicas.value_or(1)};
  }
  if (owner.kind != "StatefulSet") return std::nullopt;
  const auto set = statefulSets_.get({namespace_, owner.name});
  if (!set || set->metadata.uid != owner.uid) return std::nullopt;
  return Scale{owner.uid, set->spec.replicas.value_or(1)};
}

Task<Result<DisruptionController::Scale>> DisruptionController::scaleOf(PodPtr pod,
                                                                        api::OwnerReference owner) {
  if (auto known = knownScale(*pod, owner)) co_return *std::move(known);
  const std::string group(api::splitApiVersion(owner.apiVersion).group);
  const auto resource = registry_.findByKind(group, owner.kind);
  if (!resource)
    co_return fail(ErrorCode::NotFound, fmt::format("no matches for kind \"{}\" in version \"{}\"",
                                                    owner.kind, owner.apiVersion));
  if (!resource->storageVersion().scale)
    co_return fail(ErrorCode::Invalid,
                   fmt::format("{}{}{} does not implement the scale subresource", resource->plural,
                               group.empty() ? "" : ".", group));
  const api::ResourceType type = typeOf(*resource);
  auto request = kube::makeRequest(kube::Verb::Get, type, {pod->metadata.namespace_, owner.name});
  request.subresource = "scale";
  auto asking = api_.call(std::move(request));
  auto reply = co_await asking;
  if (!reply && reply.error().code != ErrorCode::NotFound) co_return fail(std::move(reply.error()));
  const auto scale = reply ? parseJson(*reply) : Result<json::value>(json::value());
  if (!reply || !scale || textAt(*scale, "metadata", "uid") != owner.uid)
    co_return fail(ErrorCode::NotFound,
                   fmt::format("found no controllers for pod \"{}\"", pod->metadata.name));
  const auto* replicas = at(*scale, "spec", "replicas");
  co_return Scale{owner.uid,
                  replicas && replicas->is_int64() ? static_cast<int>(replicas->get_int64()) : 0};
}

Task<Result<DisruptionController::Expected>> DisruptionController::expectedPods(
    std::vector<PodPtr> pods) {
  Expected expected;
  std::set<std::string> asked;        // uids of controllers
  std::map<std::string, int> scales;  // by the topmost controller
  for (const auto& pod : pods) {
    const auto* owner = api::controllerOf(pod->metadata);
    expected.unmanaged |= !owner;
    if (!owner || !asked.insert(owner->uid).second) continue;
    auto asking = scaleOf(pod, *owner);
    auto scale = co_await asking;
    if (!scale) co_return fail(std::move(scale.error()));
    scales[scale->uid] = scale->replicas;
  }
  for (const auto& [uid, replicas] : scales) expected.pods += replicas;
  co_return expected;
}

DisruptionController::Count DisruptionController::count(const api::PodDisruptionBudget& budget,
                                                        const std::vector<PodPtr>& pods,
                                                        WallTime now) const {
  Count count;
  for (const auto& pod : pods) {
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
    if (isReady(*pod)) ++count.healthy;
  }
  return count;
}

Task<Result<>> DisruptionController::sync(std::string key) {
  const BudgetPtr budget = budgets_.get(keyOfText(key));
  if (!budget) co_return Result<>{};
  const auto selector = api::Selector::compile(budget->spec.selector);
  if (!selector) co_return fail(selector.error());
  auto pods = pods_.of(budget->metadata.namespace_);
  std::erase_if(pods, [&](const auto& pod) { return !selector->matches(pod->metadata.labels); });
  const WallTime now = executor_.wallNow();
  auto counted = count(*budget, pods, now);
  if (counted.recheck) queue_.addAfter(key, *counted.recheck - now);
  DisruptionCounts counts{static_cast<int>(pods.size()), counted.healthy};
  if (needsScale(budget->spec)) {
    auto expecting = expectedPods(std::move(pods));
    auto expected = co_await expecting;
    if (!expected) {
      auto forbidding = forbid(budget, std::move(expected.error().message));
      co_return co_await forbidding;
    }
    counts.expected = expected->pods;
    if (expected->unmanaged)
      events_.record(kube::referenceTo(api::PodDisruptionBudget::kType, budget->metadata),
                     "Warning", "UnmanagedPods", kUnmanaged);
  }
  auto writing = write(budget, counts, std::move(counted.disrupted));
  co_return co_await writing;
}

Task<Result<>> DisruptionController::write(BudgetPtr budget, DisruptionCounts counts,
                                           json::object disrupted) {
  const auto& before = budget->status;
  const auto status = disruptionStatus(budget->spec, counts);
  const bool allowed = status.disruptionsAllowed > 0;
  const Verdict verdict{allowed, allowed ? "SufficientPods" : "InsufficientPods", ""};
  if (status.expectedPods == before.expectedPods &&
      status.currentHealthy == before.currentHealthy &&
      status.desiredHealthy == before.desiredHealthy &&
      status.disruptionsAllowed == before.disruptionsAllowed &&
      before.observedGeneration == budget->metadata.generation &&
      disrupted.size() == before.disruptedPods.size() && isInStatus(*budget, verdict))
    co_return Result<>{};
  // Unnamed members of the map would stay, so each is removed explicitly.
  for (const auto& [name, since] : before.disruptedPods)
    if (!disrupted.contains(name)) disrupted[name] = nullptr;
  json::value patch = json::object{
      {"metadata", {{"resourceVersion", budget->metadata.resourceVersion}}},
      {"status",
       {{"expectedPods", status.expectedPods},
        {"currentHealthy", status.currentHealthy},
        {"desiredHealthy", status.desiredHealthy},
        {"disruptionsAllowed", status.disruptionsAllowed},
        {"observedGeneration", budget->metadata.generation},
        {"disruptedPods", std::move(disrupted)},
        {"conditions", json::array{conditionJson(*budget, verdict, executor_.wallNow())}}}}};
  auto patching = patchIfUnchanged(api_, api::PodDisruptionBudget::kType,
                                   api::keyOf(budget->metadata), std::move(patch), "status");
  co_return co_await patching;
}

Task<Result<>> DisruptionController::forbid(BudgetPtr budget, std::string why) {
  const Verdict verdict{false, "SyncFailed", std::move(why)};
  if (budget->status.disruptionsAllowed == 0 && isInStatus(*budget, verdict)) co_return Result<>{};
  events_.record(kube::referenceTo(api::PodDisruptionBudget::kType, budget->metadata), "Warning",
                 "CalculateExpectedPodCountFailed",
                 "Failed to calculate the number of expected pods: " + verdict.message);
  json::value patch = json::object{
      {"metadata", {{"resourceVersion", budget->metadata.resourceVersion}}},
      {"status",
       {{"disruptionsAllowed", 0},
        {"conditions", json::array{conditionJson(*budget, verdict, executor_.wallNow())}}}}};
  auto patching = patchIfUnchanged(api_, api::PodDisruptionBudget::kType,
                                   api::keyOf(budget->metadata), std::move(patch), "status");
  co_return co_await patching;
}

}  // namespace koord::cluster
