#include "scheduler/plugins/coscheduling/network/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace koord::scheduler {

namespace {

std::unexpected<Error> refuse(std::size_t index, std::string_view field, const std::string& what) {
  return fail(ErrorCode::Invalid,
              fmt::format("spec.networkTopologySpec[{}].{}: {}", index, field, what));
}

// The index of the entry that describes a layer, by name.
Result<std::map<std::string, std::size_t>> entriesOf(const api::ClusterNetworkTopologySpec& spec) {
  std::map<std::string, std::size_t> entries;
  for (std::size_t i = 0; i < spec.networkTopologySpec.size(); ++i) {
    const api::NetworkTopologyLayer& layer = spec.networkTopologySpec[i];
    if (layer.topologyLayer.empty())
      return refuse(i, "topologyLayer", "Required value: the name of the layer");
    if (layer.topologyLayer == kClusterLayer)
      return refuse(
          i, "topologyLayer",
          fmt::format("Invalid value: \"{}\": is implicit and must not be listed", kClusterLayer));
    if (!entries.emplace(layer.topologyLayer, i).second)
      return refuse(i, "topologyLayer",
                    fmt::format("Duplicate value: \"{}\"", layer.topologyLayer));
    if (layer.topologyLayer != kNodeLayer && layer.labelKey.empty())
      return refuse(i, "labelKey", "Required value: the node label of the layer");
  }
  return entries;
}

}  // namespace

std::optional<std::size_t> NetworkLayers::levelOf(std::string_view layer) const {
  const auto it = std::ranges::find(list, layer, &NetworkLayer::name);
  if (it == list.end()) return std::nullopt;
  return static_cast<std::size_t>(it - list.begin());
}

Result<NetworkLayers> layersOf(const api::ClusterNetworkTopologySpec& spec) {
  const auto entries = entriesOf(spec);
  if (!entries) return fail(entries.error());
  NetworkLayers layers;
  std::string next(kNodeLayer);
  for (std::size_t below = 0; !next.empty() && next != kClusterLayer;) {
    const auto entry = entries->find(next);
    if (entry == entries->end()) {
      if (layers.list.empty())
        return fail(ErrorCode::Invalid,
                    fmt::format("spec.networkTopologySpec: Required value: {}", kNodeLayer));
      return refuse(below, "parentTopologyLayer", fmt::format("Not found: \"{}\"", next));
    }
    if (layers.list.size() == entries->size())
      return refuse(below, "parentTopologyLayer",
                    fmt::format("Invalid value: \"{}\": is a layer below it", next));
    below = entry->second;
    const api::NetworkTopologyLayer& layer = spec.networkTopologySpec[below];
    layers.list.push_back({layer.topologyLayer, {layer.labelKey.begin(), layer.labelKey.end()}});
    next = layer.parentTopologyLayer;
  }
  for (const auto& [name, index] : *entries)
    if (std::ranges::find(layers.list, name, &NetworkLayer::name) == layers.list.end())
      return refuse(index, "topologyLayer",
                    fmt::format("Invalid value: \"{}\": {} is not below it", name, kNodeLayer));
  layers.list.push_back({std::string(kClusterLayer), {}});
  std::ranges::reverse(layers.list);
  return layers;
}

}  // namespace koord::scheduler
