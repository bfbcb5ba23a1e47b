#pragma once

// Plugins of the node resource controller. Each turns what is known of a node into values for a few
// resources, labels or annotations of the Node object, and writes them into a copy of it; the
// controller writes what changed. Plugins are pure: no state, no I/O, called on the controller's
// executor.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/core.h"
#include "api/device.h"
#include "api/slo.h"
#include "api/topology.h"
#include "base/result.h"
#include "manager/common/ratio_config.h"
#include "model/colocation_strategy.h"

namespace koord::manager {

// Everything that is known of a node in one reconcile.
struct NodeView {
  const model::ColocationStrategy& strategy;  // the node's own
  const api::Node& node;
  const api::NodeMetric& metric;                          // empty when there is none
  std::span<const std::shared_ptr<const api::Pod>> pods;  // bound to the node
  WallTime now;
  // What others say of the node; null when there is none. Of a kind that has not been read yet nothing
  // is known, and what the node has of it stays.
  const api::Device* device = nullptr;
  bool devicesKnown = false;
  const api::NodeResourceTopology* topology = nullptr;
  bool topologiesKnown = false;
  // Null while there is no configuration that can be used.
  const CpuNormalization* normalization = nullptr;
  const Amplification* amplification = nullptr;
};

// One calculated value. Reset means that the node must not offer the resource now.
struct ResourceItem {
  std::string name;
  Quantity amount;
  bool reset = false;
  std::string message;  // how the value came about, for people
  // Of the node, instead of an amount; an item with these is named after its plugin.
  api::StringMap labels = {};
  api::StringMap annotations = {};
};

// The values of one round by resource name.
using ResourceTable = std::map<std::string, ResourceItem, std::less<>>;

class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string_view name() const = 0;

  // False for what a node has whether or not co-location is enabled on it.
  virtual bool ofColocation() const { return true; }
  // The values for this round. An error drops the plugin's values: what the node has stays.
  virtual Result<std::vector<ResourceItem>> calculate(const NodeView& view) const = 0;
  // The same, for plugins that look at what those before them worked out.
  virtual Result<std::vector<ResourceItem>> calculateAfter(const ResourceTable& earlier,
                                                           const NodeView& view) const {
    (void)earlier;
    return calculate(view);
  }
  // The values while co-location is disabled on the node.
  virtual std::vector<ResourceItem> reset(std::string_view message) const = 0;
  // Writes the round's values into the copy of the node. On an error what was written so far
  // counts.
  virtual Result<> prepare(const ResourceTable& table, api::Node& copy) const = 0;
  // Whether the change from one to the other is worth a write of the status now.
  virtual bool needsWrite(const model::ColocationStrategy& strategy, const api::Node& before,
                          const api::Node& after) const = 0;
};

}  // namespace koord::manager
