// Every pod template of a Deployment has its own ReplicaSet, found by its contents. sync() reads
// the current Deployment and sets, does one step, and is called again when one of them changes. The
// controller has no state, so a rollout continues after a restart.
//
//   claimSets  Finds the Deployment's sets (by controller reference; adopts orphans that its
//              selector matches), and the set of the current template: by the label
//              pod-template-hash, or by comparing the templates, because a set with the hash of
//              another version must not be replaced, which would restart every pod. If another
//              template already has the hash, a collision count is added.
//   revision   The newest set has a number above all others, which `kubectl rollout history` shows.
//              A rollback to an old template makes its set the newest, with a new number.
//   resize     While the Deployment is paused, or if its size differs from the size that its sets
//              were last scaled for (annotation desired-replicas): all sets grow or shrink in
//              proportion, without a rollout. Otherwise a rollout would give all new pods to the
//              new template, which may be broken.
//   rollOut    One step of the rollout, as rollout.cc computes it. Recreate waits for all old pods
//              to end first; therefore a pod that ends also leads to a sync.
//   forgetOld  Deletes empty sets beyond revisionHistoryLimit, the oldest first.
//   report     Writes the status, even if the steps above fail: sums over the sets, and three
//              conditions. Available: enough pods for the strategy. ReplicaFailure: why a set
//              cannot create its pods. Progressing: since when numbers have changed
//              (lastUpdateTime), compared with progressDeadlineSeconds; a sync is scheduled for the
//              deadline. After a rollout is complete, the condition does not change until the next
//              one: pods that are lost or added later are not a rollout.
//
// Cost of a sync: O(sets of the namespace) look-ups, at most one write per changed set, and one of
// the status if a visible field changed. Rules and texts: the deployment controller of
// kube-controller-manager (sync.go, progress.go, util/deployment_util.go).

#include "cluster/controllers/deployment.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>
#include <limits>
#include <tuple>

#include "cluster/controllers/conditions.h"
#include "kube/client.h"

namespace koord::cluster {

namespace {

constexpr const char* kTemplateHashLabel = "pod-template-hash";
constexpr const char* kRevision = "deployment.kubernetes.io/revision";
constexpr const char* kDesired = "deployment.kubernetes.io/desired-replicas";
constexpr const char* kMost = "deployment.kubernetes.io/max-replicas";
constexpr const char* kProgressing = "Progressing";
constexpr const char* kTimedOut = "ProgressDeadlineExceeded";
constexpr const char* kPaused = "DeploymentPaused";
constexpr const char* kCreateError = "ReplicaSetCreateError";
constexpr const char* kComplete = "NewReplicaSetAvailable";
// Annotations of a Deployment that are not copied to its ReplicaSets.
constexpr std::string_view kOwnAnnotations[] = {
    "kubectl.kubernetes.io/last-applied-configuration",
    "deployment.kubernetes.io/revision",
    "deployment.kubernetes.io/revision-history",
    "deployment.kubernetes.io/desired-replicas",
    "deployment.kubernetes.io/max-replicas",
    "deprecated.deployment.rollback.to",
};

std::optional<int> numberIn(const api::ReplicaSet& set, const char* annotation) {
  const auto* text = api::findIn(set.metadata.annotations, annotation);
  int number = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc{})
    return std::nullopt;
  return number;
}

int revisionOf(const api::ReplicaSet& set) {
  return numberIn(set, kRevision).value_or(0);
}

int sizeOf(const api::ReplicaSet& set) {
  return set.spec.replicas.value_or(1);
}

RolloutSet rolloutOf(const api::ReplicaSet& set) {
  return {sizeOf(set), set.status.availableReplicas};
}

// Returns true if the set has the wanted template plus the label with its hash.
bool isOf(const api::ReplicaSet& set, json::value wanted, const std::string& hash) {
  const auto* label = api::findIn(set.metadata.labels, kTemplateHashLabel);
  if (label && *label == hash) return true;
  json::value own = set.spec.template_;
  for (auto* one : {&own, &wanted}) {
    setLabel(*one, kTemplateHashLabel, "");
    one->get_object()["metadata"].get_object()["labels"].get_object().erase(kTemplateHashLabel);
    one->get_object()["metadata"].get_object().erase("creationTimestamp");
  }
  return own == wanted;
}

json::object replicasAnnotations(const api::Deployment& deployment) {
  const RolloutLimits limits = rolloutLimits(deployment.spec);
  return {{kDesired, fmt::format("{}", limits.desired)},
          {kMost, fmt::format("{}", limits.desired + limits.maxSurge)}};
}

// The annotations of the newest set: those of the Deployment, and its own revision.
json::object revisionAnnotations(const api::Deployment& deployment, int revision) {
  json::object annotations;
  for (const auto& [key, value] : deployment.metadata.annotations)
    if (std::ranges::find(kOwnAnnotations, key) == std::end(kOwnAnnotations))
      annotations[key] = value;
  annotations[kRevision] = fmt::format("{}", revision);
  return annotations;
}

json::value setDocument(const api::Deployment& deployment, const std::string& hash, int replicas,
                        int revision) {
  json::value podTemplate = deployment.spec.template_;
  setLabel(podTemplate, kTemplateHashLabel, hash);
  json::value selector = deployment.spec.selector ? api::encode(*deployment.spec.selector)
                                                  : json::value(json::object{});
  auto& matchLabels = selector.get_object()["matchLabels"];
  if (!matchLabels.is_object()) matchLabels = json::object{};
  matchLabels.get_object()[kTemplateHashLabel] = hash;
  const auto* labels = at(podTemplate, "metadata", "labels");
  json::object annotations = revisionAnnotations(deployment, revision);
  for (const auto& one : replicasAnnotations(deployment)) annotations.insert(one);
  return json::object{
      {"apiVersion", "apps/v1"},
      {"kind", "ReplicaSet"},
      {"metadata",
       {{"name", deployment.metadata.name + "-" + hash},
        {"namespace", deployment.metadata.namespace_},
        {"labels", labels ? *labels : json::value(json::object{})},
        {"annotations", std::move(annotations)},
        {"ownerReferences", controlledBy({api::Deployment::kType, deployment.metadata})}}},
      {"spec",
       {{"replicas", replicas},
        {"minReadySeconds", deployment.spec.minReadySeconds},
        {"selector", std::move(selector)},
        {"template", std::move(podTemplate)}}}};
}

api::WorkloadCondition conditionOf(const char* type, const char* status, const char* reason,
                                   std::string message, WallTime now) {
  const WallTime since = wholeSeconds(now);
  return {type, status, since, since, reason, std::move(message)};
}

bool hasDeadline(const api::DeploymentSpec& spec) {
  const auto& deadline = spec.progressDeadlineSeconds;
  return deadline && *deadline != std::numeric_limits<std::int32_t>::max();
}

// Why pods cannot be created: of the newest set, or else of an older one.
const api::WorkloadCondition* replicaFailure(const std::vector<const api::ReplicaSet*>& sets) {
  for (const auto* set : sets)
    if (const auto* failure = findCondition(set->status.conditions, kReplicaFailure))
      return failure;
  return nullptr;
}

// On pause no progress is expected; on resume the deadline starts again.
void setPaused(const api::DeploymentSpec& spec, std::vector<api::WorkloadCondition>& conditions,
               WallTime now) {
  const auto* before = findCondition(conditions, kProgressing);
  if (before && before->reason == kTimedOut) return;
  const bool was = before && before->reason == kPaused;
  if (spec.paused && !was)
    setCondition(conditions,
                 conditionOf(kProgressing, "Unknown", kPaused, "Deployment is paused", now));
  if (!spec.paused && was)
    setCondition(conditions, conditionOf(kProgressing, "Unknown", "DeploymentResumed",
                                         "Deployment is resumed", now));
}

}  // namespace

DeploymentController::DeploymentController(kube::Api& api, Executor& executor,
                                           kube::Informer<api::Deployment>& deployments,
                                           kube::Informer<api::ReplicaSet>& sets, PodControl& pods,
                                           kube::EventRecorder& events)
    : api_(api),
      executor_(executor),
      deployments_(deployments),
      sets_(sets),
      pods_(pods),
      events_(events),
      queue_(
          executor, "deployment", [this](std::string key) { return sync(std::move(key)); },
          kConcurrentSyncs) {
  enqueueChanged(deployments_, queue_);
  enqueueControllersOf(sets_, deployments_, queue_);
  // Recreate waits for the last of the old pods.
  pods_.informer().addHandler(
      {{}, {}, [this](const PodPtr& pod) {
         const auto* owner = api::controllerOf(pod->metadata);
         const auto set = owner ? sets_.get({pod->metadata.namespace_, owner->name}) : nullptr;
         const auto* above = set ? api::controllerOf(set->metadata) : nullptr;
         if (above && above->kind == api::Deployment::kType.kind)
           queue_.add(api::ObjectKey{pod->metadata.namespace_, above->name}.toString());
       }});
}

std::vector<DeploymentController::SetPtr> DeploymentController::Sets::all() const {
  auto sets = old;
  if (fresh) sets.push_back(fresh);
  return sets;
}

int DeploymentController::Sets::newestOld() const {
  return old.empty() ? 0 : revisionOf(*old.back());
}

Task<Result<DeploymentController::Sets>> DeploymentController::claimSets(DeploymentPtr deployment) {
  const auto selector = ownSelector(deployment->spec.selector);
  if (!selector) co_return fail(selector.error());
  std::vector<SetPtr> candidates;
  for (const auto& set : sets_.objects()) {
    const auto* owner = api::controllerOf(set->metadata);
    if (owner ? owner->uid == deployment->metadata.uid
              : set->metadata.namespace_ == deployment->metadata.namespace_)
      candidates.push_back(set);
  }
  std::ranges::sort(candidates, {}, [](const auto& set) {
    return std::tuple(revisionOf(*set), set->metadata.creationTimestamp, set->metadata.name);
  });
  const std::string hash = templateHash(deployment->spec.template_);
  Sets sets;
  Claims claims(api_, {api::Deployment::kType, deployment->metadata}, api::ReplicaSet::kType);
  for (const auto& set : candidates) {
    auto claiming = claims.claim({set, &set->metadata}, selector->matches(set->metadata.labels));
    auto mine = co_await claiming;
    if (!mine) co_return fail(std::move(mine.error()));
    if (!*mine || set->metadata.deletionTimestamp) continue;
    const bool fresh = !sets.fresh && isOf(*set, deployment->spec.template_, hash);
    (fresh ? sets.fresh : sets.old.emplace_back()) = set;
  }
  co_return sets;
}

Task<Result<>> DeploymentController::sync(std::string key) {
  const DeploymentPtr deployment = deployments_.get(keyOfText(key));
  if (!deployment) co_return Result<>{};
  auto claiming = claimSets(deployment);
  auto sets = co_await claiming;
  if (!sets) co_return fail(std::move(sets.error()));
  Result<> done;
  NewSet making;
  if (!deployment->metadata.deletionTimestamp) {
    auto acting = act(deployment, *sets, &making);
    done = co_await acting;
  }
  auto reporting = report(deployment, *std::move(sets), std::move(making));
  auto reported = co_await reporting;
  co_return done ? reported : done;
}

Task<Result<>> DeploymentController::act(DeploymentPtr deployment, Sets sets, NewSet* making) {
  if (sets.fresh) {
    // After a rollback the old template is the newest revision.
    const int revision = std::max(revisionOf(*sets.fresh), sets.newestOld() + 1);
    auto renewing = setRevision(deployment, sets.fresh, revision);
    auto renewed = co_await renewing;
    if (!renewed) co_return renewed;
  }
  const auto resized = [&](const SetPtr& set) {
    return sizeOf(*set) > 0 &&
           numberIn(*set, kDesired).value_or(deployment->spec.replicas.value_or(1)) !=
               deployment->spec.replicas.value_or(1);
  };
  if (deployment->spec.paused || std::ranges::any_of(sets.all(), resized)) {
    auto resizing = resize(deployment, sets);
    auto done = co_await resizing;
    if (!done) co_return done;
  } else {
    auto rolling = rollOut(deployment, sets, making);
    auto rolled = co_await rolling;
    if (!rolled) co_return rolled;
  }
  auto forgetting = forgetOld(deployment, sets.old);
  co_return co_await forgetting;
}

Task<Result<>> DeploymentController::rollOut(DeploymentPtr deployment, Sets sets, NewSet* making) {
  const bool recreate = deployment->spec.strategy.type == "Recreate";
  const RolloutLimits limits = rolloutLimits(deployment->spec);
  std::vector<RolloutSet> oldSizes;
  for (const auto& set : sets.old) oldSizes.push_back(rolloutOf(*set));
  const int have = sets.fresh ? sizeOf(*sets.fresh) : 0;
  int wanted = rollForward(limits, {have, 0}, oldSizes);
  const bool waiting = recreate && hasPods(sets.old);
  if (recreate) wanted = waiting ? have : limits.desired;
  if (sets.fresh) {
    auto scaling = scale(deployment, sets.fresh, wanted);
    auto scaled = co_await scaling;
    if (!scaled) co_return scaled;
  } else if (!waiting) {
    auto creating = createSet(deployment, wanted, sets.newestOld() + 1, making);
    auto created = co_await creating;
    if (!created) co_return created;
  }
  const auto fresh = sets.fresh ? rolloutOf(*sets.fresh) : RolloutSet{wanted, 0};
  const auto next =
      recreate ? std::vector<int>(sets.old.size(), 0) : scaleDownOld(limits, fresh, oldSizes);
  for (std::size_t i = 0; i < sets.old.size(); ++i) {
    if (next[i] == oldSizes[i].replicas) continue;
    auto scaling = scale(deployment, sets.old[i], next[i]);
    auto scaled = co_await scaling;
    if (!scaled) co_return scaled;
  }
  co_return Result<>{};
}

Task<Result<>> DeploymentController::resize(DeploymentPtr deployment, Sets sets) {
  const RolloutLimits limits = rolloutLimits(deployment->spec);
  std::vector<SetPtr> active = sets.all();
  std::erase_if(active, [](const auto& set) { return sizeOf(*set) == 0; });
  std::vector<int> next(active.size(), limits.desired);
  const auto& fresh = sets.fresh;
  if (active.empty() && (fresh || !sets.old.empty())) {
    active = {fresh ? fresh : sets.old.back()};
    next = {limits.desired};
  } else if (active.size() > 1 && fresh && sizeOf(*fresh) == limits.desired &&
             numberIn(*fresh, kDesired) == limits.desired &&
             fresh->status.availableReplicas == limits.desired) {
    // All new pods exist: remove the remaining old ones.
    for (std::size_t i = 0; i < active.size(); ++i) next[i] = active[i] == fresh ? next[i] : 0;
  } else if (active.size() > 1) {
    if (deployment->spec.strategy.type == "Recreate") co_return Result<>{};
    std::vector<SharedSet> sizes;
    for (const auto& set : active)
      sizes.push_back({sizeOf(*set), numberIn(*set, kMost).value_or(deployment->status.replicas),
                       set->metadata.creationTimestamp.value_or(WallTime{})});
    next = distributeReplicas(limits, sizes);
  }
  for (std::size_t i = 0; i < active.size(); ++i) {
    auto scaling = scale(deployment, active[i], next[i]);
    auto scaled = co_await scaling;
    if (!scaled) co_return scaled;
  }
  co_return Result<>{};
}

Task<Result<>> DeploymentController::createSet(DeploymentPtr deployment, int replicas, int revision,
                                               NewSet* making) {
  const Owner owner{api::Deployment::kType, deployment->metadata};
  for (int collisions = 0;; ++collisions) {
    const std::string hash = templateHash(deployment->spec.template_, collisions);
    json::value set = setDocument(*deployment, hash, replicas, revision);
    const std::string name(textAt(set, "metadata", "name"));
    auto creating = createOrFind(api_, owner, api::ReplicaSet::kType, std::move(set));
    auto created = co_await creating;
    if (!created && created.error().code == ErrorCode::AlreadyExists) continue;
    if (!created && namespaceEnds(created.error())) co_return Result<>{};
    if (!created) {
      auto& error = created.error();
      error.message =
          fmt::format("Failed to create new replica set \"{}\": {}", name, error.message);
      events_.record(kube::referenceTo(owner.type, owner.meta), "Warning", kCreateError,
                     error.message);
      making->refusal = error.message;
      co_return fail(std::move(error));
    }
    if (created->now) making->made = name;
    if (created->now && replicas > 0) reportScaled(*deployment, name, 0, replicas);
    break;
  }
  auto setting = setRevision(deployment, nullptr, revision);
  co_return co_await setting;
}

Task<Result<>> DeploymentController::setRevision(DeploymentPtr deployment, SetPtr set,
                                                 int revision) {
  if (set) {
    auto annotations = revisionAnnotations(*deployment, revision);
    const bool same = std::ranges::all_of(annotations, [&](const auto& wanted) {
      const auto* has = api::findIn(set->metadata.annotations,
                                    std::string_view(wanted.key().data(), wanted.key().size()));
      return has && wanted.value() == json::value(*has);
    });
    const auto minReady = deployment->spec.minReadySeconds;
    if (!same || set->spec.minReadySeconds != minReady) {
      json::value patch = json::object{{"metadata", {{"annotations", std::move(annotations)}}},
                                       {"spec", {{"minReadySeconds", minReady}}}};
      auto patching =
          patchIfExists(api_, api::ReplicaSet::kType, api::keyOf(set->metadata), std::move(patch));
      auto patched = co_await patching;
      if (!patched) co_return patched;
    }
  }
  const auto text = fmt::format("{}", revision);
  const auto* has = api::findIn(deployment->metadata.annotations, kRevision);
  if (has && *has == text) co_return Result<>{};
  json::value patch = json::object{{"metadata", {{"annotations", {{kRevision, text}}}}}};
  auto patching = patchIfExists(api_, api::Deployment::kType, api::keyOf(deployment->metadata),
                                std::move(patch));
  co_return co_await patching;
}

Task<Result<>> DeploymentController::scale(DeploymentPtr deployment, SetPtr set, int replicas) {
  auto annotations = replicasAnnotations(*deployment);
  const bool sized = sizeOf(*set) != replicas;
  if (!sized &&
      (replicas == 0 || numberIn(*set, kDesired) == rolloutLimits(deployment->spec).desired))
    co_return Result<>{};
  json::value patch = json::object{{"metadata", {{"annotations", std::move(annotations)}}},
                                   {"spec", {{"replicas", replicas}}}};
  auto patching =
      patchIfExists(api_, api::ReplicaSet::kType, api::keyOf(set->metadata), std::move(patch));
  auto patched = co_await patching;
  if (patched && sized) reportScaled(*deployment, set->metadata.name, sizeOf(*set), replicas);
  co_return patched;
}

void DeploymentController::reportScaled(const api::Deployment& deployment, const std::string& set,
                                        int from, int to) {
  events_.record(kube::referenceTo(api::Deployment::kType, deployment.metadata), "Normal",
                 "ScalingReplicaSet",
                 fmt::format("Scaled {} replica set {} from {} to {}", to > from ? "up" : "down",
                             set, from, to));
}

bool DeploymentController::hasPods(const std::vector<SetPtr>& sets) const {
  return std::ranges::any_of(sets, [&](const auto& set) {
    return std::ranges::any_of(pods_.podsOf(set->metadata.uid),
                               [](const auto& pod) { return !api::isTerminal(*pod); });
  });
}

Task<Result<>> DeploymentController::forgetOld(DeploymentPtr deployment, std::vector<SetPtr> old) {
  std::erase_if(old,
                [](const auto& set) { return sizeOf(*set) != 0 || set->status.replicas != 0; });
  const int keep = deployment->spec.revisionHistoryLimit.value_or(kDefaultHistory);
  for (int i = 0; i < static_cast<int>(old.size()) - keep; ++i) {
    const auto& set = old[static_cast<std::size_t>(i)];
    auto deleting = deleteIfExists(api_, api::ReplicaSet::kType, set->metadata);
    auto deleted = co_await deleting;
    if (!deleted) co_return deleted;
  }
  co_return Result<>{};
}

void DeploymentController::setProgressing(const api::Deployment& deployment,
                                          const api::ReplicaSet* fresh, const NewSet& making,
                                          api::DeploymentStatus& status) {
  auto& conditions = status.conditions;
  if (!hasDeadline(deployment.spec)) return removeCondition(conditions, kProgressing);
  const WallTime now = executor_.wallNow();
  setPaused(deployment.spec, conditions, now);
  if (!making.refusal.empty())
    return setCondition(conditions,
                        conditionOf(kProgressing, "False", kCreateError, making.refusal, now));
  if (!making.made.empty())
    setCondition(conditions,
                 conditionOf(kProgressing, "True", "NewReplicaSetCreated",
                             fmt::format("Created new replica set \"{}\"", making.made), now));
  if (deployment.spec.paused || deployment.metadata.deletionTimestamp) return;
  const auto* before = findCondition(conditions, kProgressing);
  const bool fromComplete = before && before->reason == kComplete;
  const std::string what = fresh ? fmt::format("ReplicaSet \"{}\"", fresh->metadata.name)
                                 : fmt::format("Deployment \"{}\"", deployment.metadata.name);
  const std::string succeeded = what + " has successfully progressed.";
  // The message names the set, so a complete rollout to another set, even one without pods, is
  // reported.
  if (status.replicas == status.updatedReplicas && fromComplete && before->message == succeeded)
    return;
  const int desired = deployment.spec.replicas.value_or(1);
  const auto& old = deployment.status;
  if (status.updatedReplicas == desired && status.replicas == desired &&
      status.availableReplicas == desired) {
    if (fromComplete) removeCondition(conditions, kProgressing);
    return setCondition(conditions, conditionOf(kProgressing, "True", kComplete, succeeded, now));
  }
  const bool progress =
      !before || status.updatedReplicas > old.updatedReplicas ||
      status.readyReplicas > old.readyReplicas ||
      status.availableReplicas > old.availableReplicas ||
      status.replicas - status.updatedReplicas < old.replicas - old.updatedReplicas ||
      fromComplete || before->reason == kCreateError;
  if (progress) {
    auto condition =
        conditionOf(kProgressing, "True", "ReplicaSetUpdated", what + " is progressing.", now);
    if (before && before->status == "True")
      condition.lastTransitionTime = before->lastTransitionTime;
    removeCondition(conditions, kProgressing);
    conditions.push_back(std::move(condition));
  }
  const auto* latest = findCondition(conditions, kProgressing);
  if (latest->reason == kTimedOut) return;
  const auto deadline = std::chrono::seconds(*deployment.spec.progressDeadlineSeconds);
  const Duration left = latest->lastUpdateTime.value_or(now) + deadline - now;
  // One second more, because the stored time was rounded down.
  if (left >= Duration::zero())
    return queue_.addAfter(api::keyOf(deployment.metadata).toString(),
                           left + std::chrono::seconds(1));
  setCondition(conditions, conditionOf(kProgressing, "False", kTimedOut,
                                       what + " has timed out progressing.", now));
}

Task<Result<>> DeploymentController::report(DeploymentPtr deployment, Sets sets, NewSet making) {
  const auto& fresh = sets.fresh;
  const WallTime now = executor_.wallNow();
  api::DeploymentStatus status;
  status.observedGeneration = deployment->metadata.generation;
  status.conditions = deployment->status.conditions;
  std::vector<const api::ReplicaSet*> newestFirst;
  int size = 0;
  for (const auto& set : sets.all()) {
    newestFirst.insert(newestFirst.begin(), set.get());
    size += sizeOf(*set);
    status.replicas += set->status.replicas;
    status.readyReplicas += set->status.readyReplicas;
    status.availableReplicas += set->status.availableReplicas;
  }
  status.updatedReplicas = fresh ? fresh->status.replicas : 0;
  status.unavailableReplicas = std::max(size - status.availableReplicas, 0);
  const RolloutLimits limits = rolloutLimits(deployment->spec);
  const bool enough = status.availableReplicas >= limits.desired - limits.maxUnavailable;
  setCondition(status.conditions,
               conditionOf("Available", enough ? "True" : "False",
                           enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
                           enough ? "Deployment has minimum availability."
                                  : "Deployment does not have minimum availability.",
                           now));
  setProgressing(*deployment, fresh.get(), making, status);
  if (const auto* failure = replicaFailure(newestFirst)) {
    auto condition = *failure;
    condition.lastUpdateTime = wholeSeconds(now);
    setCondition(status.conditions, std::move(condition));
  } else {
    removeCondition(status.conditions, kReplicaFailure);
  }
  // Does not write if no visible field has changed.
  if (status == deployment->status) co_return Result<>{};
  json::value document = json::object{{"observedGeneration", status.observedGeneration},
                                      {"replicas", status.replicas},
                                      {"updatedReplicas", status.updatedReplicas},
                                      {"readyReplicas", status.readyReplicas},
                                      {"availableReplicas", status.availableReplicas},
                                      {"unavailableReplicas", status.unavailableReplicas},
                                      {"conditions", conditionsJson(status.conditions)}};
  auto writing =
      writeStatus(api_, {api::Deployment::kType, deployment->metadata}, std::move(document));
  co_return co_await writing;
}

}  // namespace koord::cluster
