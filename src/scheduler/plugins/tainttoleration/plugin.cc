#include "scheduler/plugins/tainttoleration/plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/container/small_vector.hpp>

#include "scheduler/engine/tolerations.h"
#include "scheduler/framework/signature.h"

namespace koord::scheduler {

namespace {

// Nodes have few distinct sets of taints: each is judged once.
template <class T>
class PerTaintSet {
 public:
  template <class F>
  T of(TaintSet set, F&& judge) {
    for (const auto& [known, answer] : known_)
      if (known == set) return answer;
    const T answer = judge();
    // A cluster where every node has its own taints gains nothing from a cache.
    if (known_.size() < 16) known_.emplace_back(set, answer);
    return answer;
  }

 private:
  boost::container::small_vector<std::pair<TaintSet, T>, 4> known_;
};

std::int64_t untoleratedPreferences(const Tolerations& tolerations,
                                    const api::List<api::Taint>& taints) {
  std::int64_t count = 0;
  for (const auto& taint : taints) {
    if (taint.effect != "PreferNoSchedule") continue;
    if (!tolerations.tolerate(taint)) ++count;
  }
  return count;
}

}  // namespace

void TaintToleration::sign(const PodInfo& pod, Signature& signature) const {
  signTolerations(pod.pod->spec, signature);
}

Status TaintToleration::filter(const CycleState&, const PodInfo& pod, NodeFilter& nodes) {
  if (cluster_.tainted().empty()) return {};
  const Tolerations tolerations(pod.pod->spec.tolerations);
  PerTaintSet<bool> tolerated;
  VerdictId rejection = kPasses;
  const auto taintSets = cluster_.taintSets();
  nodes.forEachIn(cluster_.tainted(), [&](NodeId node) {
    const TaintSet set = taintSets[node];
    if (tolerated.of(set, [&] { return tolerations.tolerateAll(cluster_.taints(set)); })) return;
    if (rejection == kPasses) {
      rejection =
          nodes.rejection(Code::UnschedulableAndUnresolvable, {"node(s) had untolerated taint(s)"});
    }
    nodes.reject(node, rejection);
  });
  return {};
}

Status TaintToleration::preScore(CycleState&, const PodInfo&, std::span<const NodeId>) {
  return {};
}

Status TaintToleration::score(const CycleState&, const PodInfo& pod, std::span<const NodeId> nodes,
                              std::span<std::int64_t> scores) {
  const Tolerations tolerations(pod.pod->spec.tolerations);
  PerTaintSet<std::int64_t> counts;
  const auto taintSets = cluster_.taintSets();
  std::ranges::fill(scores, 0);
  cluster_.tainted().forEachOf(nodes, [&](std::size_t n) {
    const TaintSet set = taintSets[nodes[n]];
    scores[n] =
        counts.of(set, [&] { return untoleratedPreferences(tolerations, cluster_.taints(set)); });
  });
  return {};
}

std::vector<EventRegistration> TaintToleration::eventsToRegister() const {
  return {
      {EventResource::Node, action::kAdd | action::kUpdateNodeTaint, "",
       [](const PodInfo& pod, const ClusterEvent& event) {
         const auto& tolerations = pod.pod->spec.tolerations;
         const bool before = event.oldNode && toleratesAll(tolerations, event.oldNode->spec.taints);
         const bool now = event.newNode && toleratesAll(tolerations, event.newNode->spec.taints);
         return !before && now ? Hint::Queue : Hint::Skip;
       }},
      {EventResource::Pod, action::kUpdatePodToleration, "",
       [](const PodInfo& pod, const ClusterEvent& event) {
         return event.newPod && event.newPod->uid() == pod.uid() ? Hint::Queue : Hint::Skip;
       }}};
}

std::string TaintToleration::remedyFor(const PodInfo& pod, NodeId node) const {
  std::vector<std::string> taints;
  for (const api::Taint& taint : cluster_.node(node).object->spec.taints) {
    if (taint.effect == "PreferNoSchedule" || tolerates(pod.pod->spec.tolerations, taint)) continue;
    taints.push_back(fmt::format("{}{}{}:{}", taint.key, taint.value.empty() ? "" : "=",
                                 taint.value, taint.effect));
  }
  return fmt::format("tolerate {}", fmt::join(taints, ", "));
}

}  // namespace koord::scheduler
