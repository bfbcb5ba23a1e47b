#include "cluster/controllers/deployment.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>

#include "base/time.h"
#include "cluster/controllers/pod_control.h"
#include "kube/client.h"

namespace koord::cluster {

namespace {

constexpr const char* kHashLabel = "pod-template-hash";
constexpr const char* kRevision = "deployment.kubernetes.io/revision";
constexpr int kDefaultHistory = 10;

int revisionOf(const api::ReplicaSet& set) {
  const auto* text = api::findIn(set.metadata.annotations, kRevision);
  int revision = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), revision);
  return revision;
}

const std::string* hashOf(const api::ReplicaSet& set) {
  return api::findIn(set.metadata.labels, kHashLabel);
}

RolloutSet rolloutOf(const api::ReplicaSet& set) {
  return {set.spec.replicas.value_or(1), set.status.availableReplicas};
}

json::value conditionJson(const api::Deployment& deployment, const char* type, bool holds,
                          const char* reason, const std::string& message, WallTime now) {
  const char* status = holds ? "True" : "False";
  WallTime since = now;
  for (const auto& before : deployment.status.conditions)
    if (before.type == type && before.status == status && before.lastTransitionTime)
      since = *before.lastTransitionTime;
  return json::object{{"type", type},
                      {"status", status},
                      {"reason", reason},
                      {"message", message},
                      {"lastTransitionTime", formatTime(since)}};
}

}  // namespace

int resolveIntOrPercent(const api::IntOrString& value, int total, bool roundUp) {
  if (!value.isText) return value.number;
  int percent = 0;
  std::from_chars(value.text.data(), value.text.data() + value.text.size(), percent);
  return (total * percent + (roundUp ? 99 : 0)) / 100;
}

RolloutLimits rolloutLimits(const api::DeploymentSpec& spec) {
  RolloutLimits limits;
  limits.desired = spec.replicas.value_or(1);
  const api::RollingUpdate rolling = spec.strategy.rollingUpdate.value_or(api::RollingUpdate{});
  const api::IntOrString quarter{0, "25%", true};
  limits.maxSurge = resolveIntOrPercent(rolling.maxSurge.value_or(quarter), limits.desired, true);
  limits.maxUnavailable =
      resolveIntOrPercent(rolling.maxUnavailable.value_or(quarter), limits.desired, false);
  if (limits.maxSurge == 0 && limits.maxUnavailable == 0) limits.maxUnavailable = 1;
  limits.maxUnavailable = std::min(limits.maxUnavailable, limits.desired);
  return limits;
}

int rollForward(const RolloutLimits& limits, const RolloutSet& fresh,
                const std::vector<RolloutSet>& old) {
  if (fresh.replicas >= limits.desired) return limits.desired;
  int total = fresh.replicas;
  for (const auto& set : old) total += set.replicas;
  const int room = std::max(limits.desired + limits.maxSurge - total, 0);
  return std::min(fresh.replicas + room, limits.desired);
}

std::vector<int> scaleDownOld(const RolloutLimits& limits, const RolloutSet& fresh,
                              const std::vector<RolloutSet>& old) {
  std::vector<int> next;
  int total = fresh.replicas;
  for (const auto& set : old) {
    next.push_back(set.replicas);
    total += set.replicas;
  }
  const int leastAvailable = limits.desired - limits.maxUnavailable;
  int removable = total - leastAvailable - std::max(fresh.replicas - fresh.available, 0);
  // Old pods that do not work are given up first, they keep nothing available.
  for (std::size_t i = 0; i < old.size() && removable > 0; ++i) {
    const int broken = std::min(std::max(old[i].replicas - old[i].available, 0), removable);
    next[i] -= broken;
    removable -= broken;
  }
  int available = fresh.available;
  for (const auto& set : old) available += set.available;
  removable = std::min(removable, available - leastAvailable);
  for (std::size_t i = 0; i < old.size() && removable > 0; ++i) {
    const int fewer = std::min(next[i], removable);
    next[i] -= fewer;
    removable -= fewer;
  }
  return next;
}

DeploymentController::DeploymentController(kube::Api& api, Executor& executor,
                                           kube::Informer<api::Deployment>& deployments,
                                           kube::Informer<api::ReplicaSet>& sets)
    : api_(api),
      executor_(executor),
      deployments_(deployments),
      sets_(sets),
      queue_(executor, "deployment", [this](std::string key) { return sync(std::move(key)); }) {
  const auto add = [this](const auto& deployment) {
    queue_.add(api::keyOf(deployment->metadata).toString());
  };
  deployments_.addHandler(
      {add, [add](const auto&, const auto& deployment) { add(deployment); }, {}});
  const auto setChanged = [this](const auto& set) {
    const auto* owner = api::controllerOf(set->metadata);
    if (owner && owner->kind == "Deployment")
      queue_.add(set->metadata.namespace_ + "/" + owner->name);
  };
  sets_.addHandler(
      {setChanged, [setChanged](const auto&, const auto& set) { setChanged(set); }, setChanged});
}

std::vector<DeploymentController::SetPtr> DeploymentController::setsOf(
    const api::Deployment& deployment) const {
  std::vector<SetPtr> owned;
  for (const auto& [key, set] : sets_.objects()) {
    const auto* owner = api::controllerOf(set->metadata);
    if (owner && owner->uid == deployment.metadata.uid && !set->metadata.deletionTimestamp)
      owned.push_back(set);
  }
  std::ranges::sort(owned, {}, [](const auto& set) { return revisionOf(*set); });
  return owned;
}

Task<Result<>> DeploymentController::sync(std::string key) {
  const DeploymentPtr deployment = deployments_.get(keyOfText(key));
  if (!deployment) progressAt_.erase(key);
  if (!deployment || deployment->metadata.deletionTimestamp) co_return Result<>{};
  const auto all = setsOf(*deployment);
  const std::string hash = templateHash(deployment->spec.template_);
  SetPtr fresh;
  std::vector<SetPtr> old;
  for (const auto& set : all) {
    const auto* label = hashOf(*set);
    (label && *label == hash ? fresh : old.emplace_back()) = set;
  }
  const int newest = all.empty() ? 0 : revisionOf(*all.back());
  const bool recreate = deployment->spec.strategy.type == "Recreate";
  const RolloutLimits limits = rolloutLimits(deployment->spec);
  std::vector<RolloutSet> oldSizes;
  int oldPods = 0;
  for (const auto& set : old) {
    oldSizes.push_back(rolloutOf(*set));
    oldPods += oldSizes.back().replicas + set->status.replicas;
  }

  if (!deployment->spec.paused || !fresh) {
    const int have = fresh ? fresh->spec.replicas.value_or(1) : 0;
    int wanted = rollForward(limits, {have, 0}, oldSizes);
    if (recreate) wanted = oldPods > 0 ? have : limits.desired;
    if (!fresh) {
      auto creating = createSet(deployment, hash, wanted, newest + 1);
      auto created = co_await creating;
      if (!created) co_return created;
    } else if (revisionOf(*fresh) < newest) {
      // Rolled back: the old template is the newest revision now.
      auto renewing = setRevision(deployment, fresh, newest + 1);
      auto renewed = co_await renewing;
      if (!renewed) co_return renewed;
    }
    if (fresh && wanted != have) {
      auto scaling = scale(fresh, wanted);
      auto scaled = co_await scaling;
      if (!scaled) co_return scaled;
    }
    std::vector<int> next =
        recreate
            ? std::vector<int>(old.size(), 0)
            : scaleDownOld(limits, fresh ? rolloutOf(*fresh) : RolloutSet{wanted, 0}, oldSizes);
    for (std::size_t i = 0; i < old.size(); ++i) {
      if (next[i] == oldSizes[i].replicas) continue;
      auto scaling = scale(old[i], next[i]);
      auto scaled = co_await scaling;
      if (!scaled) co_return scaled;
    }
    auto forgetting = forgetOld(deployment, old);
    auto forgotten = co_await forgetting;
    if (!forgotten) co_return forgotten;
  }
  auto reporting = report(deployment, fresh, all);
  co_return co_await reporting;
}

Task<Result<>> DeploymentController::createSet(DeploymentPtr deployment, std::string hash,
                                               int replicas, int revision) {
  json::value podTemplate = deployment->spec.template_;
  setLabel(podTemplate, kHashLabel, hash);
  json::value selector = deployment->spec.selector ? api::encode(*deployment->spec.selector)
                                                   : json::value(json::object{});
  auto& matchLabels = selector.get_object()["matchLabels"];
  if (!matchLabels.is_object()) matchLabels = json::object{};
  matchLabels.get_object()[kHashLabel] = hash;
  const auto* labels = at(podTemplate, "metadata", "labels");
  json::value set = json::object{
      {"apiVersion", "apps/v1"},
      {"kind", "ReplicaSet"},
      {"metadata",
       {{"name", deployment->metadata.name + "-" + hash},
        {"namespace", deployment->metadata.namespace_},
        {"labels", labels ? *labels : json::value(json::object{})},
        {"annotations", {{kRevision, fmt::format("{}", revision)}}},
        {"ownerReferences", json::array{json::object{{"apiVersion", "apps/v1"},
                                                     {"kind", "Deployment"},
                                                     {"name", deployment->metadata.name},
                                                     {"uid", deployment->metadata.uid},
                                                     {"controller", true},
                                                     {"blockOwnerDeletion", true}}}}}},
      {"spec",
       {{"replicas", replicas},
        {"minReadySeconds", deployment->spec.minReadySeconds},
        {"selector", std::move(selector)},
        {"template", std::move(podTemplate)}}}};
  const api::ObjectKey target{deployment->metadata.namespace_, ""};
  auto creating = kube::createObject(api_, api::ReplicaSet::kType, target, std::move(set));
  auto created = co_await creating;
  if (!created && created.error().code != ErrorCode::AlreadyExists)
    co_return fail(std::move(created.error()));
  auto setting = setRevision(deployment, nullptr, revision);
  co_return co_await setting;
}

// On the deployment, and on the ReplicaSet when there is one.
Task<Result<>> DeploymentController::setRevision(DeploymentPtr deployment, SetPtr set,
                                                 int revision) {
  const json::value patch =
      json::object{{"metadata", {{"annotations", {{kRevision, fmt::format("{}", revision)}}}}}};
  if (set) {
    auto patching =
        kube::mergePatch(api_, api::ReplicaSet::kType, api::keyOf(set->metadata), patch);
    auto patched = co_await patching;
    if (!patched && patched.error().code != ErrorCode::NotFound)
      co_return fail(std::move(patched.error()));
  }
  auto patching =
      kube::mergePatch(api_, api::Deployment::kType, api::keyOf(deployment->metadata), patch);
  auto patched = co_await patching;
  if (!patched && patched.error().code != ErrorCode::NotFound)
    co_return fail(std::move(patched.error()));
  co_return Result<>{};
}

Task<Result<>> DeploymentController::scale(SetPtr set, int replicas) {
  json::value patch = json::object{{"spec", {{"replicas", replicas}}}};
  auto patching =
      kube::mergePatch(api_, api::ReplicaSet::kType, api::keyOf(set->metadata), std::move(patch));
  auto patched = co_await patching;
  if (!patched && patched.error().code != ErrorCode::NotFound)
    co_return fail(std::move(patched.error()));
  co_return Result<>{};
}

Task<Result<>> DeploymentController::forgetOld(DeploymentPtr deployment, std::vector<SetPtr> old) {
  std::erase_if(old, [](const auto& set) {
    return set->spec.replicas.value_or(1) != 0 || set->status.replicas != 0;
  });
  const int keep = deployment->spec.revisionHistoryLimit.value_or(kDefaultHistory);
  for (int i = 0; i < static_cast<int>(old.size()) - keep; ++i) {
    const auto& set = old[static_cast<std::size_t>(i)];
    kube::DeleteOptions options;
    options.uid = set->metadata.uid;
    auto deleting = kube::deleteObject(api_, api::ReplicaSet::kType, api::keyOf(set->metadata),
                                       std::move(options));
    auto deleted = co_await deleting;
    if (!deleted && deleted.error().code != ErrorCode::NotFound) co_return deleted;
  }
  co_return Result<>{};
}

json::value DeploymentController::progressing(const api::Deployment& deployment,
                                              const api::ReplicaSet* fresh, bool progress,
                                              bool complete) {
  const WallTime now = executor_.wallNow();
  const auto& conditions = deployment.status.conditions;
  const auto before = std::ranges::find(conditions, "Progressing", &api::Condition::type);
  const bool had = before != conditions.end();
  const std::string what = fresh ? fmt::format("ReplicaSet \"{}\"", fresh->metadata.name)
                                 : fmt::format("Deployment \"{}\"", deployment.metadata.name);
  WallTime since = now;  // when progress was last made
  const auto render = [&](bool holds, const char* reason, std::string message) {
    WallTime transition = now;
    if (had && before->status == (holds ? "True" : "False"))
      transition = before->lastTransitionTime.value_or(now);
    return json::value(json::object{{"type", "Progressing"},
                                    {"status", holds ? "True" : "False"},
                                    {"reason", reason},
                                    {"message", std::move(message)},
                                    {"lastUpdateTime", formatTime(since)},
                                    {"lastTransitionTime", formatTime(transition)}});
  };
  const auto key = api::keyOf(deployment.metadata).toString();
  if (complete) {
    progressAt_.erase(key);
    return render(true, "NewReplicaSetAvailable", what + " has successfully progressed.");
  }
  auto& last = progressAt_[key];
  if (progress || last.generation != deployment.metadata.generation)
    last = {now, deployment.metadata.generation};
  since = last.time;
  const auto deadline = deployment.spec.progressDeadlineSeconds;
  if (deadline && !deployment.spec.paused) {
    const Duration left = last.time + std::chrono::seconds(*deadline) - now;
    if (left <= Duration::zero())
      return render(false, "ProgressDeadlineExceeded", what + " has timed out progressing.");
    queue_.addAfter(key, left);
  }
  return render(true, "ReplicaSetUpdated", what + " is progressing.");
}

Task<Result<>> DeploymentController::report(DeploymentPtr deployment, SetPtr fresh,
                                            std::vector<SetPtr> all) {
  int replicas = 0;
  int ready = 0;
  int available = 0;
  for (const auto& set : all) {
    replicas += set->status.replicas;
    ready += set->status.readyReplicas;
    available += set->status.availableReplicas;
  }
  const int updated = fresh ? fresh->status.replicas : 0;
  const RolloutLimits limits = rolloutLimits(deployment->spec);
  const bool enough = available >= limits.desired - limits.maxUnavailable;
  const bool complete =
      updated == limits.desired && replicas == updated && available >= limits.desired;
  const WallTime now = executor_.wallNow();
  const auto& before = deployment->status;
  const bool progress = updated > before.updatedReplicas || ready > before.readyReplicas ||
                        available > before.availableReplicas ||
                        replicas - updated < before.replicas - before.updatedReplicas;
  json::value status = json::object{
      {"observedGeneration", deployment->metadata.generation},
      {"replicas", replicas},
      {"updatedReplicas", updated},
      {"readyReplicas", ready},
      {"availableReplicas", available},
      {"unavailableReplicas", std::max(limits.desired - available, 0)},
      {"conditions",
       json::array{conditionJson(*deployment, "Available", enough,
                                 enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
                                 enough ? "Deployment has minimum availability."
                                        : "Deployment does not have minimum availability.",
                                 now),
                   progressing(*deployment, fresh.get(), progress, complete)}}};
  // Nothing is written when nothing a reader can see has changed.
  auto wanted = api::decode<api::DeploymentStatus>(status);
  if (wanted && api::encode(*wanted) == api::encode(deployment->status)) co_return Result<>{};
  json::value patch = json::object{{"status", std::move(status)}};
  auto patching = kube::mergePatch(api_, api::Deployment::kType, api::keyOf(deployment->metadata),
                                   std::move(patch), "status");
  auto patched = co_await patching;
  if (!patched && patched.error().code != ErrorCode::NotFound)
    co_return fail(std::move(patched.error()));
  co_return Result<>{};
}

}  // namespace koord::cluster
