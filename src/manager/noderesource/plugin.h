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
#include "api/slo.h"
#include "base/result.h"
#include "model/colocation_strategy.h"

namespace koord::manager {

// Everything that is known of a node in one reconcile.
struct NodeView {
  const model::ColocationStrategy& strategy;  // the node's own
  const api::Node& node;
  const api::NodeMetric& metric;                          // empty when there is none
  std::span<const std::shared_ptr<const api::Pod>> pods;  // bound to the node
  WallTime now;
};

// One calculated value. Reset means that the node must not offer the resource now.
struct ResourceItem {
  std::string name;
  Quantity amount;
  bool reset = false;
  std::string message;  // how the value came about, for people
};

// The values of one round by resource name.
using ResourceTable = std::map<std::string, ResourceItem, std::less<>>;

class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string_view name() const = 0;

  // The values for this round. An error drops the plugin's values: what the node has stays.
  virtual Result<std::vector<ResourceItem>> calculate(const NodeView& view) const = 0;
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
