#pragma once

// The load of the nodes of a pool: what they use, what their thresholds are in amounts, and what class that puts
// them in.
//
//   usage      = what the system and the pods used (and host applications), by the NodeMetric;
//                "pods" = how many pods that are not terminal the node has
//   prod usage = the same of pods of the class prod
//   threshold  = the whole part of percent * allocatable; with deviation thresholds the percentages are distances
//                from the average of the pool's nodes
//   low        = not cordoned, and of no resource more than the low threshold
//   high       = of some resource more than the high threshold
//
// A resource is looked at when some threshold names it; memory always. Amounts: thousandths of a core for cpu,
// whole units otherwise. Cost: resources times nodes, and one search per pod metric.

#include <cstdint>
#include <string>
#include <vector>

#include "descheduler/framework/load_report.h"
#include "descheduler/framework/nodes.h"
#include "descheduler/plugins/lownodeload/args.h"

namespace koord::descheduler {

// Where upstream is mistaken, its golden vectors are: tests compare with its rules, programs use ours.
//   - A high threshold without a low one is lost there, and a low one without a high one means a high one of 0;
//     with deviation a low one of 0 switches the resource off.
//   - Host applications are not counted, nor resources other than cpu and memory where the node says its raw
//     allocatable, which is not reduced by what the node keeps for itself.
//   - What pods used counts after they are gone, or evicted, until the next report: nodes that were cured give
//     away more pods meanwhile.
//   - Whether a pod fits somewhere is found out, and its room taken, in the order of the list rather than in that
//     of evictions.
enum class LoadRules { Ours, AsUpstream };

enum class LoadClass : std::uint8_t {
  Unknown,  // no NodeMetric, or one that is too old
  Appropriate,
  Low,
  High,
  ProdLow,
  ProdHigh,
  BothLow,
};

using Amounts = std::vector<std::int64_t>;  // by resource

struct NodeLoad {
  const NodeView* view = nullptr;
  std::shared_ptr<const LoadReport> report;
  LoadClass loadClass = LoadClass::Unknown;
  Amounts allocatable;
  Amounts usage;
  Amounts prodUsage;
  Amounts low;
  Amounts high;
  Amounts prodLow;
  Amounts prodHigh;
  std::int64_t pods = 0;
  std::int64_t prodPods = 0;

  bool known() const { return report != nullptr; }
  const std::string& name() const { return view->name(); }
};

// Usage of all pods, or of prod pods alone: what a relief of nodes is about.
enum class Scope { All, Prod };
inline Amounts& usageOf(NodeLoad& load, Scope scope) {
  return scope == Scope::All ? load.usage : load.prodUsage;
}
inline const Amounts& usageOf(const NodeLoad& load, Scope scope) {
  return scope == Scope::All ? load.usage : load.prodUsage;
}
inline const Amounts& highOf(const NodeLoad& load, Scope scope) {
  return scope == Scope::All ? load.high : load.prodHigh;
}
bool isOver(const NodeLoad& load, Scope scope);

class PoolLoad {
 public:
  using ReportOf = std::function<std::shared_ptr<const LoadReport>(const std::string& node)>;
  // Pods that are on their way to somewhere else: a report is older than their eviction.
  using Leaving = std::function<bool(const Pod& pod)>;

  // `nodes` must outlive this.
  PoolLoad(const NodePool& pool, std::vector<const NodeView*> nodes, const ReportOf& reportOf,
           Duration expiration, WallTime now, LoadRules rules, Leaving leaving = {});

  const std::vector<std::string>& resources() const { return resources_; }
  std::size_t size() const { return resources_.size(); }
  LoadRules rules() const { return rules_; }
  std::vector<NodeLoad>& nodes() { return nodes_; }  // all of the pool, by name
  std::vector<NodeLoad*> of(LoadClass loadClass);

  // What is over of the node, for people, with the percentages that were configured: "node cpu
  // usage(91.20%)>threshold(75.00%)", joined by commas.
  std::string excess(const NodeLoad& load, Scope scope) const;
  // How loaded the node is, by all pods or those of prod, for comparing nodes: 0 to 1000.
  std::int64_t score(const NodeLoad& load, Scope scope = Scope::All) const;

  // A pod's usage of the resources; its share of "pods" is 1.
  Amounts podAmounts(const LoadReport::Usage& usage) const;
  const Weights& weights() const { return pool_.weights; }

 private:
  struct Percent {
    double low, high, prodLow, prodHigh;
  };
  void chooseResources();
  void completeThresholds();
  void measure(NodeLoad& load);
  void limit(const std::vector<Percent>& percent);
  std::vector<Percent> averages() const;
  void classify(NodeLoad& load) const;
  std::int64_t allocatableOf(const api::Node& node, const std::string& resource) const;

  const NodePool& pool_;
  LoadRules rules_;
  Leaving leaving_;
  std::vector<std::string> resources_;  // by name
  std::vector<Percent> percent_;        // as configured, completed
  std::vector<NodeLoad> nodes_;
};

}  // namespace koord::descheduler
