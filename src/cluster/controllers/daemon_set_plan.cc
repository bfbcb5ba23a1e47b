#include "cluster/controllers/daemon_set_plan.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/selector.h"
#include "cluster/controllers/node_lifecycle.h"
#include "cluster/controllers/rollout.h"

namespace koord::cluster {

namespace {

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

// The node of a pod, also before the scheduler has bound it.
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

// All taints that keep pods off a node, or only those that evict them.
enum class Taints { All, NoExecute };

bool toleratesAll(const api::PodSpec& spec, const api::List<api::Taint>& taints, Taints which) {
  return std::ranges::all_of(taints, [&](const api::Taint& taint) {
    return taint.effect == "PreferNoSchedule" ||
           (which == Taints::NoExecute && taint.effect != "NoExecute") ||
           std::ranges::any_of(spec.tolerations, [&](const api::Toleration& toleration) {
             return tolerates(toleration, taint);
           });
  });
}

// The update strategy and its limits.
struct Strategy {
  Strategy(const api::DaemonSetSpec& spec, int nodes)
      : rolls(spec.updateStrategy.type != "OnDelete") {
    const auto& rolling = spec.updateStrategy.rollingUpdate;
    const api::IntOrString none{};
    const api::IntOrString one{1, "", false};
    const auto surge = rolling ? rolling->maxSurge.value_or(none) : none;
    surges = rolls && resolveIntOrPercent(surge, nodes, true) > 0;
    limit = surges ? surge : (rolling ? rolling->maxUnavailable.value_or(one) : one);
  }

  bool rolls;              // outdated pods are replaced automatically
  bool surges;             // the new pod is created before the old one is deleted
  api::IntOrString limit;  // of nodes without an available pod, or with two
};

// Visits the nodes one by one and collects the plan.
class Planner {
 public:
  Planner(const api::DaemonSet& set, const std::string& hash, Strategy strategy, WallTime now)
      : set_(set), hash_(hash), strategy_(std::move(strategy)), now_(now) {
    plan_.status.observedGeneration = set.metadata.generation;
  }

  // A node that must have a pod; `here` has the oldest pod first.
  void visit(const std::string& node, const std::vector<PodPtr>& here, bool terminating) {
    auto& status = plan_.status;
    ++status.desiredNumberScheduled;
    if (here.empty()) {
      if (!terminating) plan_.create.push_back(node);
      return;
    }
    ++status.currentNumberScheduled;
    const auto [old, fresh] = chooseKept(node, here);
    if (!old && !fresh) return;
    const auto left = timeUntilAvailableAgain(old ? old : fresh);
    if (!old) ++status.updatedNumberScheduled;
    if (left) ++status.numberReady;
    if (left && *left <= Duration::zero()) ++status.numberAvailable;
    if (!old) return;
    if (!fresh) {
      outdated_.push_back(old);
    } else if (const auto freshLeft = timeUntilAvailableAgain(fresh);
               freshLeft && *freshLeft <= Duration::zero()) {
      plan_.remove.push_back(old);
    } else {
      ++surging_;
    }
  }

  // Pods on a node that must not have any, or that does not exist. They stay if the only reason is
  // a NoSchedule taint.
  void misscheduled(const std::vector<PodPtr>& pods, bool stay) {
    plan_.status.numberMisscheduled += static_cast<std::int32_t>(pods.size());
    if (!stay) plan_.remove.insert(plan_.remove.end(), pods.begin(), pods.end());
  }

  DaemonPlan finish() && {
    auto& status = plan_.status;
    status.numberUnavailable = status.desiredNumberScheduled - status.numberAvailable;
    if (strategy_.rolls) replaceOutdated();
    return std::move(plan_);
  }

 private:
  struct Kept {
    PodPtr old;
    PodPtr fresh;
  };
  // An ended pod is replaced; of several the oldest stays. With surge, one of each template may
  // stay.
  // of each template.
  Kept chooseKept(const std::string& node, const std::vector<PodPtr>& here) {
    Kept kept;
    for (const auto& pod : here) {
      if (api::isTerminal(*pod)) {
        plan_.ended.emplace_back(node, pod);
        continue;
      }
      const auto* podHash = api::findIn(pod->metadata.labels, kDaemonHashLabel);
      PodPtr& place = podHash && *podHash == hash_ ? kept.fresh : kept.old;
      if (strategy_.surges ? place != nullptr : kept.old || kept.fresh)
        plan_.remove.push_back(pod);
      else
        place = pod;
    }
    return kept;
  }

  std::optional<Duration> timeUntilAvailableAgain(const PodPtr& pod) {
    const auto left = timeUntilAvailable(*pod, set_.spec.minReadySeconds, now_);
    if (left && *left > Duration::zero())
      plan_.again = std::min(plan_.again.value_or(*left), *left);
    return left;
  }

  // Pods that are not ready can be deleted at once; of the others as many as may be unavailable, or
  // may have a second pod next to them.
  void replaceOutdated() {
    const auto& status = plan_.status;
    int room =
        std::max(resolveIntOrPercent(strategy_.limit, status.desiredNumberScheduled, true), 1) -
        (strategy_.surges ? surging_ : status.numberUnavailable);
    for (const auto& pod : outdated_) {
      if (isReady(*pod) && room-- <= 0) continue;
      if (strategy_.surges)
        plan_.create.push_back(targetOf(*pod));
      else
        plan_.remove.push_back(pod);
    }
  }

  const api::DaemonSet& set_;
  const std::string& hash_;
  Strategy strategy_;
  WallTime now_;
  DaemonPlan plan_;
  std::vector<PodPtr> outdated_;  // the only pods of their nodes
  int surging_ = 0;               // nodes with two pods
};

}  // namespace

json::value daemonPod(const json::value& podTemplate, const std::string& node,
                      const std::string& hash) {
  json::value pod = podTemplate;
  setLabel(pod, kDaemonHashLabel, hash);
  auto& spec = objectAt(pod.get_object(), "spec");
  auto& required = objectAt(objectAt(objectAt(spec, "affinity"), "nodeAffinity"),
                            "requiredDuringSchedulingIgnoredDuringExecution");
  const json::value byName =
      json::array{json::object{{"key", "metadata.name"}, {"operator", "In"}, {"values", {node}}}};
  auto& terms = arrayAt(required, "nodeSelectorTerms");
  if (terms.empty()) terms.push_back(json::object{});
  for (auto& term : terms) {
    if (!term.is_object()) term = json::object{};  // null is treated as empty
    term.get_object()["matchFields"] = byName;
  }
  auto& tolerations = arrayAt(spec, "tolerations");
  for (const auto& toleration : kTolerations)
    tolerations.push_back(json::object{
        {"key", toleration.key}, {"operator", "Exists"}, {"effect", toleration.effect}});
  return pod;
}

DaemonPods sortByNode(std::vector<PodPtr> pods) {
  DaemonPods sorted;
  for (auto& pod : pods) {
    if (const auto* used = api::findIn(pod->metadata.labels, kDaemonHashLabel))
      sorted.hashes.insert(*used);
    if (pod->metadata.deletionTimestamp)
      sorted.terminating.insert(targetOf(*pod));
    else
      sorted.byNode[targetOf(*pod)].push_back(std::move(pod));
  }
  for (auto& [node, here] : sorted.byNode)
    std::ranges::sort(here, {}, [](const auto& pod) { return pod->metadata.creationTimestamp; });
  return sorted;
}

Result<DaemonPlan> planDaemons(const api::DaemonSet& set, const std::string& hash, DaemonPods pods,
                               const Nodes& nodes, WallTime now) {
  // Decoded in the form for a node, with the default tolerations.
  const auto sample = api::decode<api::PodTemplateSpec>(daemonPod(set.spec.template_, "", hash));
  const auto plain = api::decode<api::PodTemplateSpec>(set.spec.template_);
  if (!sample) return fail(sample.error());
  if (!plain) return fail(plain.error());
  const api::RequiredNodeAffinity affinity(plain->spec);

  Planner planner(set, hash, Strategy(set.spec, static_cast<int>(nodes.size())), now);
  for (const auto& node : nodes) {
    const auto& name = node->metadata.name;
    const auto fits = affinity.matches(node->metadata.labels, name);
    if (!fits || !*fits || !toleratesAll(sample->spec, node->spec.taints, Taints::NoExecute))
      continue;
    const auto found = pods.byNode.extract(name);
    const auto here = found ? found.mapped() : std::vector<PodPtr>{};
    if (toleratesAll(sample->spec, node->spec.taints, Taints::All))
      planner.visit(name, here, pods.terminating.contains(name));
    else
      planner.misscheduled(here, true);
  }
  for (const auto& [node, rest] : pods.byNode) planner.misscheduled(rest, false);
  return std::move(planner).finish();
}

}  // namespace koord::cluster
