#include "descheduler/plugins/gpudefragmentation/pod_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "api/codec.h"

namespace koord::descheduler {

namespace {

// What limits the choice of nodes, as text.
std::string constraintsOf(const Pod& pod) {
  api::PodSpec only;
  only.nodeSelector = pod.spec.nodeSelector;
  only.affinity = pod.spec.affinity;
  only.tolerations = pod.spec.tolerations;
  return toJson(api::encode(only));
}

std::string requestKey(const Pod& pod) {
  const PodDemand demand = demandOf(pod);
  return fmt::format("{} {} {} {} {} {}", demand.milliCpu, demand.memory, demand.gpu.count,
                     demand.gpu.percent, demand.gpu.bytes, constraintsOf(pod));
}

}  // namespace

PodDemand demandOf(const Pod& pod) {
  return {pod.facts.milliCpu, pod.facts.memory, gpuRequestOf(pod)};
}

void PodKinds::add(std::string key, const PodPtr& pod) {
  const auto [known, added] = byKey_.try_emplace(key, list_.size());
  if (added) {
    list_.push_back(
        {std::move(key), {pod}, {demandOf(*pod), pod->facts.priority, 1}, NodeDemand(*pod)});
    return;
  }
  PodKind& kind = list_[known->second];
  kind.pods.push_back(pod);
  ++kind.waiting.count;
  kind.waiting.priority = std::min(kind.waiting.priority, pod->facts.priority);
}

std::vector<PodKind> waitingKinds(std::vector<PodPtr> pods) {
  std::ranges::sort(pods, {}, [](const PodPtr& pod) {
    return std::tuple(-static_cast<std::int64_t>(pod->facts.priority), pod->facts.createdAt,
                      api::keyOf(pod->metadata));
  });
  PodKinds kinds;
  for (const PodPtr& pod : pods) {
    const std::string copies =
        pod->facts.signature != 0 ? std::to_string(pod->facts.signature) : pod->metadata.uid;
    kinds.add(fmt::format("{} {} {}", pod->facts.priority, copies, requestKey(*pod)), pod);
  }
  return kinds.take();
}

std::vector<PodKind> typicalKinds(std::span<const NodeView* const> nodes, std::size_t most) {
  if (most == 0) return {};
  PodKinds all;
  for (const NodeView* node : nodes)
    for (const auto& entry : node->pods->entries)
      if (!entry.facts.is(PodFacts::Terminal) && !entry.facts.is(PodFacts::Gang) &&
          gpuRequestOf(*entry.pod).count > 0)
        all.add(requestKey(*entry.pod), entry.pod);
  std::vector<PodKind> kinds = all.take();
  std::ranges::stable_sort(kinds, std::ranges::greater{},
                           [](const PodKind& kind) { return kind.waiting.count; });
  if (kinds.size() > most)
    kinds.erase(kinds.begin() + static_cast<std::ptrdiff_t>(most), kinds.end());
  for (PodKind& kind : kinds) {
    kind.waiting.count = 1;
    kind.waiting.typical = true;
  }
  return kinds;
}

}  // namespace koord::descheduler
