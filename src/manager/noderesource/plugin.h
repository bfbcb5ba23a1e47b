#pragma once

// Plugins of the node resource controller. Each computes values for a few resources, labels or
// annotations of the Node object from the node's data, and writes them into a copy of it; the
// controller writes the changes. Plugins are pure: no state, no I/O, called on the controller's
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

// The data of a node in one reconcile.
struct NodeView {
  const model::ColocationStrategy& strategy;  // the node's own
  const api::Node& node;
  const api::NodeMetric& metric;                          // empty if there is none
  std::span<const std::shared_ptr<const api::Pod>> pods;  // bound to the node
  WallTime now;
  // Other objects of the node; nullptr if there is none. While a kind has not been read yet, the
  // node's values of it stay.
  const api::Device* device = nullptr;
  bool devicesKnown = false;
  const api::NodeResourceTopology* topology = nullptr;
  bool topologiesKnown = false;
  // nullptr while there is no valid configuration.
  const CpuNormalization* normalization = nullptr;
  const Amplification* amplification = nullptr;
};

// One calculated value. Reset means that the node must not offer the resource now.
struct ResourceItem {
  std::string name;
  Quantity amount;
  bool reset = false;
  std::string message;  // how the value was calculated, for operators
  // Labels and annotations of the node, instead of an amount; such an item has its plugin's name.
  api::StringMap labels = {};
  api::StringMap annotations = {};
};

// The values of one round by resource name.
using ResourceTable = std::map<std::string, ResourceItem, std::less<>>;

class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string_view name() const = 0;

  // Returns false for values that do not depend on whether co-location is enabled on the node.
  virtual bool ofColocation() const { return true; }
  // The values for this round. On an error the node's values of this plugin stay.
  virtual Result<std::vector<ResourceItem>> calculate(const NodeView& view) const = 0;
  // The same, for plugins that depend on the results of earlier plugins.
  virtual Result<std::vector<ResourceItem>> calculateAfter(const ResourceTable& earlier,
                                                           const NodeView& view) const {
    (void)earlier;
    return calculate(view);
  }
  // The values while co-location is disabled on the node.
  virtual std::vector<ResourceItem> reset(std::string_view message) const = 0;
  // Writes the round's values into the copy of the node. On an error the values written so far
  // count.
  virtual Result<> prepare(const ResourceTable& table, api::Node& copy) const = 0;
  // Returns true if the change is large enough to write the status now.
  virtual bool needsWrite(const model::ColocationStrategy& strategy, const api::Node& before,
                          const api::Node& after) const = 0;
};

}  // namespace koord::manager
