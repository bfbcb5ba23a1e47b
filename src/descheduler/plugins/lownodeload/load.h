#pragma once

// The load of the nodes of a pool: their usage, their thresholds as amounts, and the resulting
// class.
//
//   usage      = of the system, the pods and host applications, by the NodeMetric;
//                "pods" = the number of the node's pods that are not terminal
//   prod usage = the same of pods of the class prod
//   threshold  = percent * allocatable, truncated; with deviation thresholds the percentages are
//                distances from the average of the pool's nodes
//   low        = not cordoned, and at most the low threshold of every resource
//   high       = more than the high threshold of any resource
//
// Resources are those with a threshold, and always memory. Amounts: milli-cores for cpu, whole
// units otherwise. Cost: resources times nodes, and one search per pod metric.

#include <cstdint>
#include <string>
#include <vector>

#include "descheduler/framework/load_report.h"
#include "descheduler/framework/nodes.h"
#include "descheduler/plugins/lownodeload/args.h"

namespace koord::descheduler {

// Upstream's test vectors contain its errors: tests compare with AsUpstream, programs use Ours. The
// errors are:
//   - A high threshold without a low one is ignored, and a low one without a high one means a high
//     one of 0; with deviation a low one of 0 disables the resource.
//   - Host applications do not count. On nodes with raw allocatable only cpu and memory count, and
//     the raw amounts are not reduced by the node's reservation.
//   - The usage of deleted or evicted pods counts until the next report: relieved nodes lose more
//     pods meanwhile.
//   - Targets are chosen, and their resources used, in the list's order, not the evictions' order.
enum class LoadRules { Ours, AsUpstream };

enum class LoadClass : std::uint8_t {
  Unknown,  // no NodeMetric, or an outdated one
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

// Usage of all pods, or of prod pods only: which usage is relieved.
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
  // Returns true for pods that are being moved: the report is older than their eviction.
  using IsBeingMoved = std::function<bool(const Pod& pod)>;

  // `nodes` must outlive this.
  PoolLoad(const NodePool& pool, std::vector<const NodeView*> nodes, const ReportOf& reportOf,
           Duration expiration, WallTime now, LoadRules rules, IsBeingMoved leaving = {});

  const std::vector<std::string>& resources() const { return resources_; }
  std::size_t size() const { return resources_.size(); }
  LoadRules rules() const { return rules_; }
  std::vector<NodeLoad>& nodes() { return nodes_; }  // all of the pool, by name
  std::vector<NodeLoad*> of(LoadClass loadClass);

  // The exceeded thresholds of the node for messages, with the configured percentages: "node cpu
  // usage(91.20%)>threshold(75.00%)", joined by commas.
  std::string excess(const NodeLoad& load, Scope scope) const;
  // The node's load for comparisons, by all pods or prod pods: 0 to 1000.
  std::int64_t score(const NodeLoad& load, Scope scope = Scope::All) const;

  // A pod's usage of the resources; 1 of "pods".
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
  IsBeingMoved isBeingMoved_;
  std::vector<std::string> resources_;  // by name
  std::vector<Percent> percent_;        // as configured, completed
  std::vector<NodeLoad> nodes_;
};

}  // namespace koord::descheduler
