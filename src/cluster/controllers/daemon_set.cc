#include "cluster/controllers/daemon_set.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/selector.h"
#include "cluster/controllers/rollout.h"
#include "kube/client.h"

namespace koord::cluster {

namespace {

constexpr const char* kRevisionHashLabel = "controller-revision-hash";

struct DefaultToleration {
  const char* key;
  const char* effect;
};
constexpr DefaultToleration kTolerations[] = {
    {"node.kubernetes.io/not-ready", "NoExecute"},
    {"node.kubernetes.io/unreachable", "NoExecute"},
    {"node.kubernetes.io/disk-pressure", "NoSchedule"},
    {"node.kubernetes.io/memory-pressure", "NoSchedule"},
    {"node.kubernetes.io/pid-pressure", "NoSchedule"},
    {"node.kubernetes.io/unschedulable", "NoSchedule"},
};

json::object& objectAt(json::object& parent, const char* key) {
  auto& member = parent[key];
  if (!member.is_object()) member = json::object{};
  return member.get_object();
}
json::array& arrayAt(json::object& parent, const char* key) {
  auto& member = parent[key];
  if (!member.is_array()) member = json::array{};
  return member.get_array();
}

// The node a pod is for, also before the scheduler has bound it.
std::string targetOf(const api::Pod& pod) {
  if (!pod.spec.nodeName.empty()) return pod.spec.nodeName;
  if (!pod.spec.affinity || !pod.spec.affinity->nodeAffinity) return {};
  const auto& required =
      pod.spec.affinity->nodeAffinity->requiredDuringSchedulingIgnoredDuringExecution;
  if (!required) return {};
  for (const auto& term : required->nodeSelectorTerms)
    for (const auto& field : term.matchFields)
      if (field.key == "metadata.name" && field.values.size() == 1) return field.values[0];
  return {};
}

}  // namespace

bool tolerates(const api::PodSpec& spec, const api::List<api::Taint>& taints) {
  return std::ranges::all_of(taints, [&](const api::Taint& taint) {
    if (taint.effect == "PreferNoSchedule") return true;
    return std::ranges::any_of(spec.tolerations, [&](const api::Toleration& toleration) {
      if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
      if (!toleration.key.empty() && toleration.key != taint.key) return false;
      if (toleration.operator_ == "Exists") return true;
      return !toleration.key.empty() && toleration.value == taint.value;
    });
  });
}

json::value daemonPod(const json::value& podTemplate, const std::string& node,
                      const std::string& hash) {
  json::value pod = podTemplate;
  setLabel(pod, kRevisionHashLabel, hash);
  auto& spec = objectAt(pod.get_object(), "spec");
  auto& required = objectAt(objectAt(objectAt(spec, "affinity"), "nodeAffinity"),
                            "requiredDuringSchedulingIgnoredDuringExecution");
  const json::value byName =
      json::array{json::object{{"key", "metadata.name"}, {"operator", "In"}, {"values", {node}}}};
  auto& terms = arrayAt(required, "nodeSelectorTerms");
  if (terms.empty()) terms.push_back(json::object{});
  for (auto& term : terms) term.get_object()["matchFields"] = byName;
  auto& tolerations = arrayAt(spec, "tolerations");
  for (const auto& toleration : kTolerations)
    tolerations.push_back(json::object{
        {"key", toleration.key}, {"operator", "Exists"}, {"effect", toleration.effect}});
  return pod;
}

DaemonSetController::DaemonSetController(kube::Api& api, Executor& executor,
                                         kube::Informer<api::DaemonSet>& sets,
                                         kube::Informer<api::ControllerRevision>& revisions,
                                         kube::Informer<api::Node>& nodes, PodControl& pods)
    : api_(api),
      executor_(executor),
      sets_(sets),
      nodes_(nodes),
      pods_(pods),
      history_(api, revisions, kRevisionHashLabel),
      queue_(executor, "daemonset", [this](std::string key) { return sync(std::move(key)); }) {
  enqueueChanged(sets_, queue_);
  enqueueControllersOf(pods_.informer(), sets_, queue_);
  enqueueControllersOf(revisions, sets_, queue_);
  const auto addAll = [this] {
    for (const auto& set : sets_.objects()) queue_.add(api::keyOf(set->metadata).toString());
  };
  nodes_.addHandler({[addAll](const auto&) { addAll(); },
                     [addAll](const auto& before, const auto& after) {
                       if (before->metadata.labels != after->metadata.labels ||
                           before->spec.taints.size() != after->spec.taints.size())
                         addAll();
                     },
                     [addAll](const auto&) { addAll(); }});
}

Task<Result<>> DaemonSetController::sync(std::string key) {
  const SetPtr set = sets_.get(keyOfText(key));
  if (!set || set->metadata.deletionTimestamp || !nodes_.synced()) co_return Result<>{};
  if (!pods_.settled(set->metadata.uid)) co_return Result<>{};
  const Owner owner{api::DaemonSet::kType, set->metadata};
  auto claiming = pods_.claim(owner, set->spec.selector);
  auto claimed = co_await claiming;
  if (!claimed) co_return fail(std::move(claimed.error()));
  auto remembering = history_.lookUp({owner, set->spec.selector, set->spec.template_});
  auto revisions = co_await remembering;
  if (!revisions) co_return fail(std::move(revisions.error()));
  const std::string hash = history_.hashOf(*revisions->current);
  // Decoded as it will be for any node, so that the default tolerations count.
  const auto sample = api::decode<api::PodTemplateSpec>(daemonPod(set->spec.template_, "", hash));
  const auto plain = api::decode<api::PodTemplateSpec>(set->spec.template_);
  if (!sample) co_return fail(sample.error());
  if (!plain) co_return fail(plain.error());
  const api::RequiredNodeAffinity affinity(plain->spec);

  std::map<std::string, std::vector<PodPtr>> byNode;
  std::set<std::string> inUse{hash};
  std::set<std::string> leaving;  // nodes whose pod has to go before there is another
  for (auto& pod : *claimed) {
    if (const auto* used = api::findIn(pod->metadata.labels, kRevisionHashLabel))
      inUse.insert(*used);
    if (pod->metadata.deletionTimestamp)
      leaving.insert(targetOf(*pod));
    else
      byNode[targetOf(*pod)].push_back(std::move(pod));
  }

  api::DaemonSetStatus status;
  status.observedGeneration = set->metadata.generation;
  std::vector<PodPtr> toDelete;
  std::vector<std::string> toCreate;
  std::vector<PodPtr> outdated;
  const WallTime now = executor_.wallNow();
  const bool rolls = set->spec.updateStrategy.type != "OnDelete";
  const auto& rolling = set->spec.updateStrategy.rollingUpdate;
  const api::IntOrString none{};
  const int nodes = static_cast<int>(nodes_.size());
  const bool surges =
      rolls && rolling && resolveIntOrPercent(rolling->maxSurge.value_or(none), nodes, true) > 0;
  int surging = 0;  // nodes with two pods
  for (const auto& node : nodes_.objects()) {
    const auto fits = affinity.matches(node->metadata.labels, node->metadata.name);
    if (!fits || !*fits || !tolerates(sample->spec, node->spec.taints)) continue;
    ++status.desiredNumberScheduled;
    auto pods = byNode.extract(node->metadata.name);
    if (pods.empty()) {
      if (!leaving.contains(node->metadata.name)) toCreate.push_back(node->metadata.name);
      continue;
    }
    auto& here = pods.mapped();
    // One that has ended is replaced, and of several the oldest stays.
    std::ranges::sort(here, {}, [](const auto& pod) { return pod->metadata.creationTimestamp; });
    PodPtr old;
    PodPtr fresh;
    for (const auto& pod : here) {
      const auto* podHash = api::findIn(pod->metadata.labels, kRevisionHashLabel);
      PodPtr& place = podHash && *podHash == hash ? fresh : old;
      if (api::isTerminal(*pod) || (surges ? place != nullptr : old || fresh))
        toDelete.push_back(pod);
      else
        place = pod;
    }
    if (!old && !fresh) continue;
    ++status.currentNumberScheduled;
    const auto wait = [&](const PodPtr& pod) {
      const auto left = untilAvailable(*pod, set->spec.minReadySeconds, now);
      if (left && *left > Duration::zero()) queue_.addAfter(key, *left);
      return left;
    };
    const auto left = wait(old ? old : fresh);
    if (!old) ++status.updatedNumberScheduled;
    if (left) ++status.numberReady;
    if (left && *left <= Duration::zero()) ++status.numberAvailable;
    if (!old) continue;
    if (!fresh) {
      outdated.push_back(old);
    } else if (const auto freshLeft = wait(fresh); freshLeft && *freshLeft <= Duration::zero()) {
      toDelete.push_back(old);
    } else {
      ++surging;
    }
  }
  for (auto& [node, pods] : byNode) {
    status.numberMisscheduled += static_cast<std::int32_t>(pods.size());
    toDelete.insert(toDelete.end(), pods.begin(), pods.end());
  }
  status.numberUnavailable = status.desiredNumberScheduled - status.numberAvailable;
  if (rolls && !outdated.empty()) {
    // Those that do not work are no loss; of the others as many as may be unavailable, or have a
    // second pod beside them.
    const api::IntOrString one{1, "", false};
    const auto& limit =
        surges ? *rolling->maxSurge : (rolling ? rolling->maxUnavailable.value_or(one) : one);
    int room = std::max(resolveIntOrPercent(limit, status.desiredNumberScheduled, true), 1) -
               (surges ? surging : status.numberUnavailable);
    for (const auto& pod : outdated) {
      if (isReady(*pod) && room-- <= 0) continue;
      if (surges)
        toCreate.push_back(targetOf(*pod));
      else
        toDelete.push_back(pod);
    }
  }
  for (const auto& pod : toDelete) {
    auto removing = pods_.remove(owner, pod);
    auto removed = co_await removing;
    if (!removed) co_return removed;
  }
  for (const auto& node : toCreate) {
    auto creating = pods_.create(owner, daemonPod(set->spec.template_, node, hash));
    auto created = co_await creating;
    if (!created) co_return created;
  }
  auto trimming = history_.trim(std::move(revisions->known), std::move(inUse),
                                set->spec.revisionHistoryLimit.value_or(kDefaultHistory));
  auto trimmed = co_await trimming;
  if (!trimmed) co_return trimmed;
  auto reporting = report(set, status);
  co_return co_await reporting;
}

Task<Result<>> DaemonSetController::report(SetPtr set, api::DaemonSetStatus status) {
  if (status == set->status) co_return Result<>{};
  json::value patch = json::object{{"status",
                                    {{"currentNumberScheduled", status.currentNumberScheduled},
                                     {"numberMisscheduled", status.numberMisscheduled},
                                     {"desiredNumberScheduled", status.desiredNumberScheduled},
                                     {"numberReady", status.numberReady},
                                     {"observedGeneration", status.observedGeneration},
                                     {"updatedNumberScheduled", status.updatedNumberScheduled},
                                     {"numberAvailable", status.numberAvailable},
                                     {"numberUnavailable", status.numberUnavailable}}}};
  auto patching = patchIfThere(api_, api::DaemonSet::kType, api::keyOf(set->metadata),
                               std::move(patch), "status");
  co_return co_await patching;
}

}  // namespace koord::cluster
