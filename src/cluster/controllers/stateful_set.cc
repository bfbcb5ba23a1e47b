#include "cluster/controllers/stateful_set.h"

#include <fmt/format.h>

#include <algorithm>
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

bool isRevision(const api::Pod& pod, const std::string& revision) {
  const auto* label = api::findIn(pod.metadata.labels, kRevisionLabel);
  return label && *label == revision;
}

}  // namespace

StatefulSetController::StatefulSetController(kube::Api& api, Executor& executor,
                                             kube::Informer<api::StatefulSet>& sets,
                                             PodControl& pods)
    : api_(api),
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

Task<Result<>> StatefulSetController::step(SetPtr set, std::map<int, PodPtr> pods,
                                           std::string revision) {
  const PodOwner owner{api::StatefulSet::kType, set->metadata};
  const int wanted = set->spec.replicas.value_or(1);
  const bool ordered = set->spec.podManagementPolicy != "Parallel";
  for (int ordinal = 0; ordinal < wanted; ++ordinal) {
    const auto pod = pods.find(ordinal);
    if (pod == pods.end()) {
      json::value document = set->spec.template_;
      setLabel(document, kRevisionLabel, revision);
      setLabel(document, "apps.kubernetes.io/pod-index", fmt::format("{}", ordinal));
      const std::string name = fmt::format("{}-{}", set->metadata.name, ordinal);
      setLabel(document, "statefulset.kubernetes.io/pod-name", name);
      document.get_object()["metadata"].get_object()["name"] = name;
      auto creating = pods_.create(owner, std::move(document));
      auto created = co_await creating;
      if (!created && created.error().code != ErrorCode::AlreadyExists) co_return created;
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
  for (auto it = pods.rbegin(); it != pods.rend() && it->first >= wanted; ++it) {
    if (!it->second->metadata.deletionTimestamp) {
      auto removing = pods_.remove(owner, it->second);
      auto removed = co_await removing;
      if (!removed) co_return removed;
    }
    if (ordered) co_return Result<>{};
  }
  if (set->spec.updateStrategy.type == "OnDelete") co_return Result<>{};
  const int partition = set->spec.updateStrategy.rollingUpdate
                            ? set->spec.updateStrategy.rollingUpdate->partition.value_or(0)
                            : 0;
  for (int ordinal = wanted - 1; ordinal >= partition; --ordinal) {
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
    if (!isReady(*pod)) continue;
    ++status.readyReplicas;
    ++status.availableReplicas;
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
