#include "scheduler/plugins/imagelocality/plugin.h"

#include <algorithm>

namespace koord::scheduler {

namespace {

constexpr std::int64_t kMiB = 1024 * 1024;
constexpr std::int64_t kLeast = 23 * kMiB;
constexpr std::int64_t kMaxPerContainer = 1000 * kMiB;

template <class F>
void forEachImage(const PodInfo& pod, F&& fn) {
  const api::PodSpec& spec = pod.pod->spec;
  for (const auto& container : spec.initContainers) fn(container.image);
  for (const auto& container : spec.containers) fn(container.image);
  for (const auto& volume : spec.volumes) {
    const json::object* const source = volume.image.if_object();
    const json::value* const reference = source ? source->if_contains("reference") : nullptr;
    if (reference && reference->is_string()) fn(std::string_view(reference->get_string()));
  }
}

}  // namespace

void ImageLocality::sign(const PodInfo& pod, Signature& signature) const {
  signature.add(static_cast<std::int64_t>(pod.pod->spec.initContainers.size()));
  signature.add(static_cast<std::int64_t>(pod.pod->spec.containers.size()));
  std::int64_t images = 0;
  forEachImage(pod, [&](std::string_view image) {
    ++images;
    signature.add(image);
  });
  signature.add(images);
}

std::uint64_t ImageLocality::epoch(const CycleState&, const PodInfo& pod) const {
  std::uint64_t epoch = 0;
  bool spread = false;
  forEachImage(pod, [&](std::string_view image) {
    const auto symbol = cluster_.symbols().find(normalizedImageName(image));
    if (!symbol) return;
    const ImageSpread found = cluster_.imageSpread(*symbol);
    epoch = epoch * 1000003 + found.version;
    spread |= found.nodes > 0;
  });
  // The share of all nodes that have an image matters only if there is such an image.
  return spread ? epoch * 1000003 + cluster_.nodesVersion() + 1 : epoch;
}

Status ImageLocality::score(const CycleState&, const PodInfo& pod, std::span<const NodeId> nodes,
                            std::span<std::int64_t> scores) {
  std::ranges::fill(scores, 0);
  bool any = false;
  const auto total = static_cast<double>(cluster_.liveCount());
  forEachImage(pod, [&](std::string_view image) {
    const auto symbol = cluster_.symbols().find(normalizedImageName(image));
    if (!symbol) return;
    const std::uint32_t holders = cluster_.imageSpread(*symbol).nodes;
    if (holders == 0) return;
    any = true;
    const double share = static_cast<double>(holders) / total;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const auto& images = cluster_.node(nodes[n]).images;
      const auto it = std::ranges::lower_bound(images, *symbol, {}, &NodeImage::image);
      if (it != images.end() && it->image == *symbol)
        scores[n] += static_cast<std::int64_t>(static_cast<double>(it->size) * share);
    }
  });
  if (!any) return {};
  // Images of volumes count in the sum, but not in the maximum.
  const api::PodSpec& spec = pod.pod->spec;
  const auto containers =
      static_cast<std::int64_t>(spec.initContainers.size() + spec.containers.size());
  const std::int64_t most = kMaxPerContainer * std::max<std::int64_t>(containers, 1);
  for (std::int64_t& score : scores)
    score = 100 * (std::clamp(score, kLeast, most) - kLeast) / (most - kLeast);
  return {};
}

}  // namespace koord::scheduler
