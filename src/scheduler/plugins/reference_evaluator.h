#pragma once

// A slow, simple evaluation of the default plugins' rules on every node, from the rules and from
// API objects alone. Tests compare the engine with it.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "api/core.h"
#include "api/selector.h"
#include "model/pod_requests.h"

namespace koord::scheduler::testing {

// The state of the cluster as API objects.
struct Model {
  std::map<std::string, std::shared_ptr<const api::Node>> nodes;
  std::map<std::string, std::shared_ptr<const api::Pod>> pods;  // bound, by uid
  std::map<std::string, api::StringMap> namespaces;             // their labels
  // Pending pods with a nominated node, by the node's name.
  std::map<std::string, std::vector<std::shared_ptr<const api::Pod>>> nominated;
  std::set<std::string> nominatedOnly;  // uids of those in `pods` that are only nominated
  using Rule =
      std::function<std::vector<std::string>(const Model&, const api::Pod&, const api::Node&)>;
  Rule volumes;  // why volumes keep a pod from a node; without it volumes are ignored
  // --- For plugins beyond Kubernetes' own.
  std::vector<Rule> rules;  // why a node is rejected
  // Why the pod may not run on this node, no matter what is free; "" if it may.
  std::function<std::string(const Model&, const api::Pod&, const api::Node&)> admit;
  // Returns true if two pods are placed together: their nominations do not exclude each other.
  std::function<bool(const api::Pod&, const api::Pod&)> sameGroup;
  // The part of the amount used on a node that does not count for this pod, because it is counted
  // twice or reserved for this pod. For "pods": the number.
  std::function<std::int64_t(const Model&, const api::Pod&, const api::Node&, const std::string&)>
      given;
  // The part of a pod's requests that does not count because other pods are counted for it.
  std::function<std::int64_t(const Model&, const api::Pod&, const std::string&)> covered;
  // The uid of the pod whose requests it takes over if it goes to the node, and the amount; uid "":
  // none.
  std::function<std::pair<std::string, std::int64_t>(const Model&, const api::Pod&,
                                                     const api::Node&, const std::string&)>
      takesOver;
  // Why a node cannot be a candidate, no matter which pods are evicted.
  std::vector<Rule> excluding;
  // Returns true if affinity and spreading of the first pod ignore the second one.
  std::function<bool(const Model&, const api::Pod&, const api::Pod&)> hidden;
  // Returns true if no pod can preempt the pod.
  std::vector<std::function<bool(const api::Pod&)>> staying;
  // Returns true if only the plugin can decide about a node that the rules above accept.
  std::vector<std::function<bool(const Model&, const api::Pod&, const api::Node&)>> undecided;
  bool isUndecided(const api::Pod& pod, const api::Node& node) const {
    return std::ranges::any_of(undecided, [&](const auto& each) { return each(*this, pod, node); });
  }
  // True if plugins score that the plain evaluation does not know: totals are not those of nodes.
  bool scoredByOthers = false;
  // Adds to the totals of nodes.
  std::function<void(const Model&, const api::Pod&, struct Outcome&)> score;
};

struct Outcome {
  std::set<std::string> feasible;
  std::map<std::string, std::vector<std::string>> reasons;  // by node
  std::map<std::string, std::int64_t> totals;               // of feasible nodes
};

inline bool plainTolerates(const api::Pod& pod, const api::Taint& taint) {
  for (const auto& t : pod.spec.tolerations) {
    if (!t.effect.empty() && t.effect != taint.effect) continue;
    if (!t.key.empty() && t.key != taint.key) continue;
    if (t.operator_ == "Exists" || t.value == taint.value) return true;
  }
  return false;
}

inline std::int64_t amountIn(const api::ResourceList& list, const std::string& name) {
  const auto it = list.find(name);
  if (it == list.end()) return 0;
  return name == "cpu" ? it->second.milliValue() : it->second.value();
}

class Reference {
 public:
  Reference(const Model& model, const api::Pod& pod) : model_(model), pod_(pod) {
    const auto& affinity = pod.spec.affinity;
    addUp();
    for (const auto& [name, node] : model_.nodes) {
      auto reasons = judgeNominated(*node);
      if (reasons.empty()) reasons = judge(*node);
      if (reasons.empty()) {
        outcome_.feasible.insert(name);
      } else {
        outcome_.reasons[name] = std::move(reasons);
      }
    }
    std::map<std::string, std::int64_t> taints, preferred;
    for (const auto& name : outcome_.feasible) {
      const api::Node& node = *model_.nodes.at(name);
      outcome_.totals[name] = leastAllocated(node) + balanced(node) + images(node);
      taints[name] = 0;
      for (const auto& taint : node.spec.taints)
        if (taint.effect == "PreferNoSchedule" && !plainTolerates(pod_, taint)) ++taints[name];
      preferred[name] = 0;
      if (affinity && affinity->nodeAffinity) {
        for (const auto& term :
             affinity->nodeAffinity->preferredDuringSchedulingIgnoredDuringExecution) {
          if (api::NodeTerm::compile(term.preference)->matches(node.metadata.labels, name))
            preferred[name] += term.weight;
        }
      }
    }
    const auto most = [](const auto& values) {
      std::int64_t max = 0;
      for (const auto& [name, value] : values) max = std::max(max, value);
      return max;
    };
    const std::int64_t mostTaints = most(taints), mostPreferred = most(preferred);
    for (const auto& name : outcome_.feasible) {
      outcome_.totals[name] += 3 * (mostTaints == 0 ? 100 : 100 - 100 * taints[name] / mostTaints);
      if (mostPreferred > 0) outcome_.totals[name] += 2 * (100 * preferred[name] / mostPreferred);
    }
    scorePodAffinity();
    scoreSpread();
    if (model_.score) model_.score(model_, pod_, outcome_);
  }
  const Outcome& outcome() const { return outcome_; }

  // Why one node is rejected; empty if it is feasible.
  static std::vector<std::string> judgeOn(const Model& model, const api::Pod& pod,
                                          const std::string& node) {
    const Reference one(model, pod, OneNode{});
    auto reasons = one.judgeNominated(*model.nodes.at(node));
    return reasons.empty() ? one.judge(*model.nodes.at(node)) : reasons;
  }

 private:
  struct OneNode {};
  Reference(const Model& model, const api::Pod& pod, OneNode) : model_(model), pod_(pod) {
    addUp();
  }
  void addUp() {
    addUpAffinity();
    for (const auto& constraint : pod_.spec.topologySpreadConstraints)
      if (constraint.whenUnsatisfiable == "DoNotSchedule") hard_.push_back(spreadOf(constraint));
  }

  // With the pods nominated to the node that have at least the same priority.
  std::vector<std::string> judgeNominated(const api::Node& node) const {
    const auto nominated = model_.nominated.find(node.metadata.name);
    if (nominated == model_.nominated.end()) return {};
    Model then = model_;
    then.nominated.clear();
    for (const auto& other : nominated->second) {
      if (other->spec.priority.value_or(0) < pod_.spec.priority.value_or(0) ||
          other->metadata.uid == pod_.metadata.uid ||
          (model_.sameGroup && model_.sameGroup(pod_, *other)))
        continue;
      auto there = std::make_shared<api::Pod>(*other);
      there->spec.nodeName = node.metadata.name;
      then.pods[other->metadata.uid] = std::move(there);
      then.nominatedOnly.insert(other->metadata.uid);
    }
    if (then.pods.size() == model_.pods.size()) return {};
    Reference later(then, pod_, OneNode{});
    // PreFilter skips InterPodAffinity if it has nothing to check when the attempt begins, and
    // kube-scheduler does not run it again when it adds nominated pods.
    later.skipsAffinity_ =
        keptAway_.empty() && required(pod_, false).empty() && required(pod_, true).empty();
    return later.judge(node);
  }

  bool sees(const api::Pod& other) const {
    return !model_.hidden || !model_.hidden(model_, pod_, other);
  }
  template <class F>
  void forEachPodOn(const api::Node& node, F&& fn) const {
    for (const auto& [uid, pod] : model_.pods)
      if (pod->spec.nodeName == node.metadata.name) fn(*pod);
  }

  std::int64_t usedOf(const api::Node& node, const std::string& name) const {
    std::int64_t used = 0;
    forEachPodOn(node,
                 [&](const api::Pod& pod) { used += amountIn(model::podRequests(pod), name); });
    return withoutGiven(node, name, used);
  }
  std::int64_t withoutGiven(const api::Node& node, const std::string& name,
                            std::int64_t used) const {
    if (!model_.given) return used;
    return std::max<std::int64_t>(used - model_.given(model_, pod_, node, name), 0);
  }

  std::vector<std::string> judge(const api::Node& node) const {
    if (model_.admit)
      if (std::string why = model_.admit(model_, pod_, node); !why.empty()) return {std::move(why)};
    for (const auto& rule : model_.excluding)
      if (auto why = rule(model_, pod_, node); !why.empty()) return why;
    if (node.spec.unschedulable &&
        !plainTolerates(pod_, {"node.kubernetes.io/unschedulable", "", "NoSchedule", {}})) {
      return {"node(s) were unschedulable"};
    }
    for (const auto& taint : node.spec.taints)
      if (taint.effect != "PreferNoSchedule" && !plainTolerates(pod_, taint))
        return {"node(s) had untolerated taint(s)"};
    if (!api::RequiredNodeAffinity(pod_.spec)
             .matches(node.metadata.labels, node.metadata.name)
             .value_or(false))
      return {"node(s) didn't match Pod's node affinity/selector"};
    bool portTaken = false;
    forEachPodOn(node, [&](const api::Pod& other) {
      for (const auto& a : other.spec.containers[0].ports)
        for (const auto& b : pod_.spec.containers[0].ports) portTaken |= a.hostPort == b.hostPort;
    });
    if (portTaken) return {"node(s) didn't have free ports for the requested pod ports"};
    std::vector<std::string> reasons;
    std::int64_t count = 0;
    forEachPodOn(node, [&](const api::Pod&) { ++count; });
    count = withoutGiven(node, "pods", count);
    if (count + 1 > amountIn(node.status.allocatable, "pods"))
      reasons.emplace_back("Too many pods");
    const auto requests = model::podRequests(pod_);
    for (const char* name : {"cpu", "memory", "kubernetes.io/batch-cpu"}) {
      const std::int64_t wanted = amountIn(requests, name);
      if (wanted > 0 && wanted > amountIn(node.status.allocatable, name) - usedOf(node, name))
        reasons.push_back(std::string("Insufficient ") + name);
    }
    for (const auto& rule : model_.rules)
      if (reasons.empty()) reasons = rule(model_, pod_, node);
    if (reasons.empty() && model_.volumes) reasons = model_.volumes(model_, pod_, node);
    if (reasons.empty()) reasons = judgeSpread(node);
    if (reasons.empty()) reasons = judgePodAffinity(node);
    return reasons;
  }

  // --- Pod affinity and anti-affinity.
  using Terms = api::List<api::PodAffinityTerm>;
  using Weighted = api::List<api::WeightedPodAffinityTerm>;
  using PerValue =
      std::map<std::pair<std::string, std::string>, std::int64_t>;  // by label key and value

  static const api::PodAffinity& part(const api::Pod& pod, bool anti) {
    static const api::PodAffinity kNone;
    if (!pod.spec.affinity) return kNone;
    const auto& found = anti ? pod.spec.affinity->podAntiAffinity : pod.spec.affinity->podAffinity;
    return found ? *found : kNone;
  }
  static const Terms& required(const api::Pod& pod, bool anti) {
    return part(pod, anti).requiredDuringSchedulingIgnoredDuringExecution;
  }
  static const Weighted& preferred(const api::Pod& pod, bool anti) {
    return part(pod, anti).preferredDuringSchedulingIgnoredDuringExecution;
  }
  bool isAbout(const api::Pod& owner, const api::PodAffinityTerm& term,
               const api::Pod& other) const {
    const std::string& there = other.metadata.namespace_;
    bool here = std::ranges::find(term.namespaces, there) != term.namespaces.end();
    if (term.namespaceSelector) {
      const auto labels = model_.namespaces.find(there);
      here |= api::Selector::compile(*term.namespaceSelector)
                  ->matches(labels == model_.namespaces.end() ? api::StringMap{} : labels->second);
    } else if (term.namespaces.empty()) {
      here = there == owner.metadata.namespace_;
    }
    return here && api::Selector::compile(term.labelSelector)->matches(other.metadata.labels);
  }
  // Adds to the label pair of the node that the pod is on.
  void note(PerValue& counts, const api::Pod& at, const std::string& key,
            std::int64_t amount) const {
    const auto& labels = model_.nodes.at(at.spec.nodeName)->metadata.labels;
    if (const auto* value = api::findIn(labels, key)) counts[{key, *value}] += amount;
  }
  void addUpAffinity() {
    for (const auto& [uid, other] : model_.pods) {
      if (!sees(*other)) continue;
      const auto& wanted = required(pod_, false);
      const bool all = !wanted.empty() && std::ranges::all_of(wanted, [&](const auto& term) {
        return isAbout(pod_, term, *other);
      });
      if (all)
        for (const auto& term : wanted) note(near_, *other, term.topologyKey, 1);
      for (const auto& term : required(pod_, true))
        if (isAbout(pod_, term, *other)) note(apart_, *other, term.topologyKey, 1);
      for (const auto& term : required(*other, true))
        if (isAbout(*other, term, pod_)) note(keptAway_, *other, term.topologyKey, 1);
    }
  }
  std::vector<std::string> judgePodAffinity(const api::Node& node) const {
    if (skipsAffinity_) return {};
    const auto countAt = [&](const PerValue& counts, const std::string& key) {
      const auto* value = api::findIn(node.metadata.labels, key);
      const auto it = value ? counts.find({key, *value}) : counts.end();
      return it == counts.end() ? 0 : it->second;
    };
    const Terms& wanted = required(pod_, false);
    const bool first = near_.empty() && std::ranges::all_of(wanted, [&](const auto& term) {
                         return isAbout(pod_, term, pod_);
                       });
    for (const auto& term : wanted) {
      if (!api::findIn(node.metadata.labels, term.topologyKey) ||
          (countAt(near_, term.topologyKey) == 0 && !first)) {
        return {"node(s) didn't match pod affinity rules"};
      }
    }
    for (const auto& term : required(pod_, true))
      if (countAt(apart_, term.topologyKey) > 0)
        return {"node(s) didn't match pod anti-affinity rules"};
    for (const auto& [key, value] : node.metadata.labels)
      if (countAt(keptAway_, key) > 0)
        return {"node(s) didn't satisfy existing pods anti-affinity rules"};
    return {};
  }
  void scorePodAffinity() {
    PerValue sums;
    for (const auto& [uid, other] : model_.pods) {
      if (!sees(*other)) continue;
      for (const bool anti : {false, true}) {
        const std::int64_t sign = anti ? -1 : 1;
        for (const auto& [weight, term] : preferred(pod_, anti))
          if (isAbout(pod_, term, *other)) note(sums, *other, term.topologyKey, sign * weight);
        for (const auto& [weight, term] : preferred(*other, anti))
          if (isAbout(*other, term, pod_)) note(sums, *other, term.topologyKey, sign * weight);
      }
      for (const auto& term : required(*other, false))
        if (isAbout(*other, term, pod_)) note(sums, *other, term.topologyKey, 1);
    }
    std::map<std::string, std::int64_t> raw;
    for (const auto& name : outcome_.feasible) {
      raw[name] = 0;
      for (const auto& label : model_.nodes.at(name)->metadata.labels)
        if (const auto it = sums.find({label.first, label.second}); it != sums.end())
          raw[name] += it->second;
    }
    if (raw.empty()) return;
    const auto [least, most] =
        std::ranges::minmax_element(raw, {}, [](const auto& entry) { return entry.second; });
    const auto range = static_cast<double>(most->second - least->second);
    for (const auto& [name, score] : raw) {
      if (range > 0) {
        outcome_.totals[name] +=
            2 *
            static_cast<std::int64_t>(100 * (static_cast<double>(score - least->second) / range));
      }
    }
  }

  // --- Spreading.
  struct Spread {
    const api::TopologySpreadConstraint* constraint;
    api::Selector selector;
    std::map<std::string, std::int64_t> counts;  // by value; of the domains that count
  };
  std::int64_t matchingOn(const api::Node& node, const api::Selector& selector) const {
    std::int64_t count = 0;
    forEachPodOn(node, [&](const api::Pod& other) {
      count += other.metadata.namespace_ == pod_.metadata.namespace_ &&
               !other.metadata.deletionTimestamp && selector.matches(other.metadata.labels) &&
               sees(other);
    });
    return count;
  }
  bool hasAllKeys(const api::Node& node, std::string_view action) const {
    return std::ranges::all_of(pod_.spec.topologySpreadConstraints, [&](const auto& constraint) {
      return constraint.whenUnsatisfiable != action ||
             api::findIn(node.metadata.labels, constraint.topologyKey);
    });
  }
  bool isEligible(const api::Node& node, const api::TopologySpreadConstraint& constraint) const {
    if (!hasAllKeys(node, constraint.whenUnsatisfiable)) return false;
    if (constraint.nodeAffinityPolicy.value_or("Honor") == "Honor" &&
        !api::RequiredNodeAffinity(pod_.spec)
             .matches(node.metadata.labels, node.metadata.name)
             .value_or(false)) {
      return false;
    }
    return constraint.nodeTaintsPolicy.value_or("Ignore") == "Ignore" ||
           std::ranges::all_of(node.spec.taints, [&](const auto& taint) {
             return taint.effect == "PreferNoSchedule" || plainTolerates(pod_, taint);
           });
  }
  Spread spreadOf(const api::TopologySpreadConstraint& constraint) const {
    Spread spread{&constraint, *api::Selector::compile(constraint.labelSelector), {}};
    for (const auto& [name, node] : model_.nodes)
      if (isEligible(*node, constraint))
        spread.counts[*api::findIn(node->metadata.labels, constraint.topologyKey)] +=
            matchingOn(*node, spread.selector);
    return spread;
  }
  std::vector<std::string> judgeSpread(const api::Node& node) const {
    for (const auto& [constraint, selector, counts] : hard_) {
      const auto* value = api::findIn(node.metadata.labels, constraint->topologyKey);
      if (!value)
        return {"node(s) didn't match pod topology spread constraints (missing required label)"};
      std::int64_t least = counts.empty() ? 0 : counts.begin()->second;
      for (const auto& [domain, count] : counts) least = std::min(least, count);
      if (static_cast<std::int64_t>(counts.size()) < constraint->minDomains.value_or(1)) least = 0;
      const auto here = counts.find(*value);
      const std::int64_t skew = (here == counts.end() ? 0 : here->second) +
                                (selector.matches(pod_.metadata.labels) ? 1 : 0) - least;
      if (skew > constraint->maxSkew)
        return {"node(s) didn't match pod topology spread constraints"};
    }
    return {};
  }
  void scoreSpread() {
    std::map<std::string, double> raw;
    bool any = false;
    for (const auto& constraint : pod_.spec.topologySpreadConstraints) {
      if (constraint.whenUnsatisfiable != "ScheduleAnyway") continue;
      any = true;
      const Spread spread = spreadOf(constraint);
      const bool host = constraint.topologyKey == "kubernetes.io/hostname";
      std::set<std::string> domains;
      for (const auto& name : outcome_.feasible) {
        const api::Node& node = *model_.nodes.at(name);
        if (hasAllKeys(node, "ScheduleAnyway"))
          domains.insert(host ? name : *api::findIn(node.metadata.labels, constraint.topologyKey));
      }
      const double weight = std::log(static_cast<double>(domains.size()) + 2);
      for (const auto& name : outcome_.feasible) {
        const api::Node& node = *model_.nodes.at(name);
        if (!hasAllKeys(node, "ScheduleAnyway")) continue;
        const auto it =
            spread.counts.find(*api::findIn(node.metadata.labels, constraint.topologyKey));
        const std::int64_t pods = host                        ? matchingOn(node, spread.selector)
                                  : it == spread.counts.end() ? 0
                                                              : it->second;
        raw[name] += static_cast<double>(pods) * weight + (constraint.maxSkew - 1);
      }
    }
    if (!any) return;
    std::int64_t least = INT64_MAX, most = 0;
    for (const auto& [name, score] : raw) {
      least = std::min<std::int64_t>(least, std::llround(score));
      most = std::max<std::int64_t>(most, std::llround(score));
    }
    for (const auto& [name, score] : raw)
      outcome_.totals[name] +=
          2 * (most == 0 ? 100 : 100 * (most + least - std::llround(score)) / most);
  }

  std::int64_t leastAllocated(const api::Node& node) const {
    std::int64_t sum = 0, weights = 0;
    for (const bool cpu : {true, false}) {
      const std::int64_t all = amountIn(node.status.allocatable, cpu ? "cpu" : "memory");
      if (all == 0) continue;
      api::Pod alone = pod_;
      alone.spec.resources = {};  // resources of the whole pod do not count here
      const auto own = model::podTotals(alone);
      std::int64_t others = 0;
      forEachPodOn(node, [&](const api::Pod& other) {
        const auto totals = model::podTotals(other);
        others += cpu ? totals.nonZeroMilliCpu : totals.nonZeroMemory;
      });
      const std::int64_t used = (cpu ? own.nonZeroMilliCpu : own.nonZeroMemory) +
                                withoutGiven(node, cpu ? "cpu" : "memory", others);
      sum += used > all ? 0 : (all - used) * 100 / all;
      ++weights;
    }
    return weights == 0 ? 0 : sum / weights;
  }

  std::int64_t balanced(const api::Node& node) const {
    const auto requests = model::podRequests(pod_);
    if (amountIn(requests, "cpu") == 0 && amountIn(requests, "memory") == 0) return 0;
    std::vector<double> fractions;
    for (const char* name : {"cpu", "memory"}) {
      const std::int64_t all = amountIn(node.status.allocatable, name);
      if (all == 0) continue;
      const auto used = static_cast<double>(usedOf(node, name) + amountIn(requests, name));
      fractions.push_back(std::min(1.0, used / static_cast<double>(all)));
    }
    if (fractions.size() < 2) return 100;
    return static_cast<std::int64_t>((1 - std::abs(fractions[0] - fractions[1]) / 2) * 100);
  }

  std::int64_t images(const api::Node& node) const {
    const std::string_view wanted = pod_.spec.containers[0].image;
    const auto sizeOn = [&](const api::Node& other) -> std::int64_t {
      for (const auto& image : other.status.images)
        if (image.names[0] == wanted) return image.sizeBytes;
      return 0;
    };
    if (wanted.empty() || sizeOn(node) == 0) return 0;
    std::int64_t holders = 0;
    for (const auto& [name, other] : model_.nodes) holders += sizeOn(*other) > 0;
    const double share = static_cast<double>(holders) / static_cast<double>(model_.nodes.size());
    const auto sum = static_cast<std::int64_t>(static_cast<double>(sizeOn(node)) * share);
    constexpr std::int64_t kMiB = 1 << 20;
    return 100 * (std::clamp(sum, 23 * kMiB, 1000 * kMiB) - 23 * kMiB) / (977 * kMiB);
  }

  const Model& model_;
  const api::Pod& pod_;
  PerValue near_, apart_, keptAway_;
  bool skipsAffinity_ = false;
  std::vector<Spread> hard_;
  Outcome outcome_;
};

inline std::string plainMessage(const Model& model, const Outcome& outcome) {
  std::map<std::string, int> counts;
  for (const auto& [node, reasons] : outcome.reasons)
    for (const auto& reason : reasons) ++counts[reason];
  std::vector<std::string> parts;
  for (const auto& [reason, count] : counts) parts.push_back(std::to_string(count) + " " + reason);
  std::ranges::sort(parts);
  return fmt::format("0/{} nodes are available: {}.", model.nodes.size(), fmt::join(parts, ", "));
}

}  // namespace koord::scheduler::testing
