#include "cluster/controllers/stateful_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>

#include "kube/client.h"

namespace koord::cluster {

namespace {

constexpr const char* kRevisionLabel = "controller-revision-hash";

// The number at the end of the name; -1 when it is no pod of the set's numbering.
int ordinalOf(const api::Pod& pod, const std::string& setName) {
  const std::string& name = pod.metadata.name;
  if (!name.starts_with(setName + "-")) return -1;
  int ordinal = -1;
  const char* from = name.data() + setName.size() + 1;
  const auto [end, error] = std::from_chars(from, name.data() + name.size(), ordinal);
  return error == std::errc{} && end == name.data() + name.size() ? ordinal : -1;
}

std::string revisionName(const api::StatefulSet& set) {
  return set.metadata.name + "-" + templateHash(set.spec.template_);
}

constexpr api::ResourceType kClaims{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim",
                                    true};

int firstOrdinal(const api::StatefulSet& set) {
  return set.spec.ordinals ? set.spec.ordinals->start : 0;
}

std::string claimName(const json::value& claimTemplate, const api::StatefulSet& set, int ordinal) {
  return fmt::format("{}-{}-{}", textAt(claimTemplate, "metadata", "name"), set.metadata.name,
                     ordinal);
}

// The pod's claims as volumes of the templates' names, in place of what the pod template has there.
void addClaimVolumes(json::object& spec, const api::StatefulSet& set, int ordinal) {
  json::array volumes;
  for (const auto& claimTemplate : set.spec.volumeClaimTemplates)
    volumes.push_back(json::object{
        {"name", textAt(claimTemplate, "metadata", "name")},
        {"persistentVolumeClaim", {{"claimName", claimName(claimTemplate, set, ordinal)}}}});
  if (const auto* given = spec.if_contains("volumes"); given && given->is_array())
    for (const auto& volume : given->get_array())
      if (std::ranges::none_of(volumes, [&](const auto& own) {
            return textAt(own, "name") == textAt(volume, "name");
          }))
        volumes.push_back(volume);
  if (!volumes.empty()) spec["volumes"] = std::move(volumes);
}

bool isRevision(const api::Pod& pod, const std::string& revision) {
  const auto* label = api::findIn(pod.metadata.labels, kRevisionLabel);
  return label && *label == revision;
}

}  // namespace

StatefulSetController::StatefulSetController(kube::Api& api, Executor& executor,
                                             kube::Informer<api::StatefulSet>& sets,
                                             PodControl& pods)
    : api_(api),
      executor_(executor),
      sets_(sets),
      pods_(pods),
      queue_(executor, "statefulset", [this](std::string key) { return sync(std::move(key)); }) {
  const auto add = [this](const auto& set) { queue_.add(api::keyOf(set->metadata).toString()); };
  sets_.addHandler({add, [add](const auto&, const auto& set) { add(set); }, {}});
  pods_.onPodOf("StatefulSet", [this](const std::string& key, const auto&) { queue_.add(key); });
}

Task<Result<>> StatefulSetController::sync(std::string key) {
  const SetPtr set = sets_.get(keyOfText(key));
  if (!set || set->metadata.deletionTimestamp) co_return Result<>{};
  if (!pods_.settled(set->metadata.uid)) co_return Result<>{};
  std::map<int, PodPtr> pods;
  for (auto& pod : pods_.podsOf(set->metadata.uid))
    if (const int ordinal = ordinalOf(*pod, set->metadata.name); ordinal >= 0)
      pods[ordinal] = std::move(pod);
  const std::string revision = revisionName(*set);
  auto stepping = step(set, pods, revision);
  auto stepped = co_await stepping;
  if (!stepped) co_return stepped;
  auto reporting = report(set, std::move(pods), revision);
  co_return co_await reporting;
}

Task<Result<>> StatefulSetController::createPod(SetPtr set, int ordinal, std::string revision) {
  const PodOwner owner{api::StatefulSet::kType, set->metadata};
  auto claiming = createClaims(set, ordinal);
  auto claimed = co_await claiming;
  if (!claimed) co_return claimed;
  json::value document = set->spec.template_;
  const std::string name = fmt::format("{}-{}", set->metadata.name, ordinal);
  setLabel(document, kRevisionLabel, revision);
  setLabel(document, "apps.kubernetes.io/pod-index", fmt::format("{}", ordinal));
  setLabel(document, "statefulset.kubernetes.io/pod-name", name);
  document.get_object()["metadata"].get_object()["name"] = name;
  if (auto* spec = find(document, "spec"); spec && spec->is_object()) {
    auto& members = spec->get_object();
    members["hostname"] = name;
    members["subdomain"] = set->spec.serviceName;
    addClaimVolumes(members, *set, ordinal);
  }
  auto creating = pods_.create(owner, std::move(document));
  auto created = co_await creating;
  if (!created && created.error().code != ErrorCode::AlreadyExists) co_return created;
  co_return Result<>{};
}

Task<Result<>> StatefulSetController::createClaims(SetPtr set, int ordinal) {
  const auto& retention = set->spec.persistentVolumeClaimRetentionPolicy;
  for (const auto& claimTemplate : set->spec.volumeClaimTemplates) {
    json::value claim = claimTemplate;
    if (!claim.is_object()) continue;
    auto& members = claim.get_object();
    members["apiVersion"] = "v1";
    members["kind"] = "PersistentVolumeClaim";
    members.erase("status");
    for (const auto& [key, value] :
         set->spec.selector ? set->spec.selector->matchLabels : api::StringMap{})
      setLabel(claim, key, value);
    auto& metadata = members["metadata"];
    if (!metadata.is_object()) metadata = json::object{};
    metadata.get_object()["name"] = claimName(claimTemplate, *set, ordinal);
    metadata.get_object()["namespace"] = set->metadata.namespace_;
    if (retention && retention->whenDeleted == "Delete")
      metadata.get_object()["ownerReferences"] =
          json::array{json::object{{"apiVersion", "apps/v1"},
                                   {"kind", "StatefulSet"},
                                   {"name", set->metadata.name},
                                   {"uid", set->metadata.uid},
                                   {"controller", true},
                                   {"blockOwnerDeletion", true}}};
    const api::ObjectKey target{set->metadata.namespace_, ""};
    auto creating = kube::createObject(api_, kClaims, target, std::move(claim));
    auto created = co_await creating;
    if (!created && created.error().code != ErrorCode::AlreadyExists)
      co_return fail(std::move(created.error()));
  }
  co_return Result<>{};
}

// When the policy says that the claims of a pod go with it.
Task<Result<>> StatefulSetController::removeClaims(SetPtr set, int ordinal) {
  const auto& retention = set->spec.persistentVolumeClaimRetentionPolicy;
  if (!retention || retention->whenScaled != "Delete") co_return Result<>{};
  for (const auto& claimTemplate : set->spec.volumeClaimTemplates) {
    const api::ObjectKey key{set->metadata.namespace_, claimName(claimTemplate, *set, ordinal)};
    auto deleting = kube::deleteObject(api_, kClaims, key);
    auto deleted = co_await deleting;
    if (!deleted && deleted.error().code != ErrorCode::NotFound) co_return deleted;
  }
  co_return Result<>{};
}

Task<Result<>> StatefulSetController::step(SetPtr set, std::map<int, PodPtr> pods,
                                           std::string revision) {
  const PodOwner owner{api::StatefulSet::kType, set->metadata};
  const int first = firstOrdinal(*set);
  const int end = first + set->spec.replicas.value_or(1);
  const bool ordered = set->spec.podManagementPolicy != "Parallel";
  for (int ordinal = first; ordinal < end; ++ordinal) {
    const auto pod = pods.find(ordinal);
    if (pod == pods.end()) {
      auto creating = createPod(set, ordinal, revision);
      auto created = co_await creating;
      if (!created) co_return created;
      if (ordered) co_return Result<>{};
      continue;
    }
    if (pod->second->metadata.deletionTimestamp) {
      if (ordered) co_return Result<>{};
      continue;
    }
    if (api::isTerminal(*pod->second)) {
      auto removing = pods_.remove(owner, pod->second);
      co_return co_await removing;
    }
    if (ordered && !isReady(*pod->second)) {
      // A pod of an old template that never gets ready must not block the new one.
      if (isRevision(*pod->second, revision)) co_return Result<>{};
      auto removing = pods_.remove(owner, pod->second);
      co_return co_await removing;
    }
  }
  for (auto it = pods.rbegin(); it != pods.rend(); ++it) {
    if (it->first >= first && it->first < end) continue;
    if (!it->second->metadata.deletionTimestamp) {
      auto removing = pods_.remove(owner, it->second);
      auto removed = co_await removing;
      if (!removed) co_return removed;
      auto releasing = removeClaims(set, it->first);
      auto released = co_await releasing;
      if (!released) co_return released;
    }
    if (ordered) co_return Result<>{};
  }
  if (set->spec.updateStrategy.type == "OnDelete") co_return Result<>{};
  const int partition = set->spec.updateStrategy.rollingUpdate
                            ? set->spec.updateStrategy.rollingUpdate->partition.value_or(0)
                            : 0;
  for (int ordinal = end - 1; ordinal >= std::max(partition, first); --ordinal) {
    const auto pod = pods.find(ordinal);
    if (pod == pods.end()) co_return Result<>{};
    if (!isRevision(*pod->second, revision)) {
      if (pod->second->metadata.deletionTimestamp) co_return Result<>{};
      auto removing = pods_.remove(owner, pod->second);
      co_return co_await removing;
    }
    if (!isReady(*pod->second)) co_return Result<>{};
  }
  co_return Result<>{};
}

Task<Result<>> StatefulSetController::report(SetPtr set, std::map<int, PodPtr> pods,
                                             std::string revision) {
  api::StatefulSetStatus status;
  status.observedGeneration = set->metadata.generation;
  status.updateRevision = revision;
  for (const auto& [ordinal, pod] : pods) {
    if (!isActive(*pod)) continue;
    ++status.replicas;
    if (isRevision(*pod, revision)) ++status.updatedReplicas;
    const auto wait = untilAvailable(*pod, set->spec.minReadySeconds, executor_.wallNow());
    if (!wait) continue;
    ++status.readyReplicas;
    if (*wait <= Duration::zero())
      ++status.availableReplicas;
    else
      queue_.addAfter(api::keyOf(set->metadata).toString(), *wait);
  }
  const bool complete =
      status.updatedReplicas == status.replicas && status.readyReplicas == status.replicas;
  status.currentRevision =
      complete || set->status.currentRevision.empty() ? revision : set->status.currentRevision;
  status.currentReplicas = status.currentRevision == revision
                               ? status.updatedReplicas
                               : status.replicas - status.updatedReplicas;
  if (status == set->status) co_return Result<>{};
  json::value patch = json::object{{"status",
                                    {{"observedGeneration", status.observedGeneration},
                                     {"replicas", status.replicas},
                                     {"readyReplicas", status.readyReplicas},
                                     {"currentReplicas", status.currentReplicas},
                                     {"updatedReplicas", status.updatedReplicas},
                                     {"availableReplicas", status.availableReplicas},
                                     {"currentRevision", status.currentRevision},
                                     {"updateRevision", status.updateRevision}}}};
  auto patching = kube::mergePatch(api_, api::StatefulSet::kType, api::keyOf(set->metadata),
                                   std::move(patch), "status");
  auto patched = co_await patching;
  if (!patched && patched.error().code != ErrorCode::NotFound)
    co_return fail(std::move(patched.error()));
  co_return Result<>{};
}

}  // namespace koord::cluster
