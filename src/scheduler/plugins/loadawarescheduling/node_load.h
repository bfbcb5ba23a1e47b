#pragma once

// NodeLoad: how loaded a node is: what koordlet last measured on it, and, for pods that came since
// or are not in the measurement yet, what they are estimated to use.
//
// For a pod with estimate e whose usage u was reported (or was not):
//   lacking   u is missing, or too young to trust (the pod came less than a reporting interval
//             before the report), or the estimate is forced for longer
//   delta     max(0, e - u) when lacking: what to add to the node's usage for it
// Usage of prod pods is the sum of what is reported of pods that are prod, by the report and by
// themselves; a prod pod that the report calls otherwise counts with its whole estimate.
//
// Sums are kept by adding pods to them and taking pods away, each exactly as it was added; the
// report, once it changes, is followed by adding all pods anew. Costs: a pod, one look-up in the report.

#include <algorithm>
#include <memory>

#include "scheduler/plugins/loadawarescheduling/estimator.h"
#include "scheduler/plugins/loadawarescheduling/node_metrics.h"
#include "scheduler/plugins/loadawarescheduling/node_settings.h"

namespace koord::scheduler {

// What one pod adds to a node's load.
class LoadShare {
 public:
  // Of one resource.
  struct Amounts {
    std::int64_t prodUsage = 0;
    std::int64_t estimated = 0;  // of what all pods are estimated to use
    std::int64_t delta = 0;
    std::int64_t prodDelta = 0;
  };
  Amounts of(std::size_t resource) const {
    const std::int64_t estimate = estimate_[resource];
    const std::int64_t usage = reported_ ? usage_[resource] : 0;
    const std::int64_t delta = lacking_ ? std::max<std::int64_t>(0, estimate - usage) : 0;
    return {.prodUsage = active_ ? usage : 0,
            .estimated = estimate,
            .delta = delta,
            .prodDelta = !prod_                  ? 0
                         : reported_ && !active_ ? estimate
                                                 : delta};
  }

 private:
  friend class NodeLoad;
  explicit LoadShare(const AssignedLoad& load) : estimate_(load.estimate()), prod_(load.prod) {}
  const LoadAmounts& estimate_;
  LoadAmounts usage_;  // if reported
  bool prod_;
  bool reported_ = false;
  bool active_ = false;  // as prod
  bool lacking_ = false;
};

class NodeLoad {
 public:
  // How old a report is counts from when the node says it measured, but not from the future: a
  // clock that is ahead does not make a report good for longer. `seen`: when it came. `resources`
  // must outlive it.
  void setReport(const LoadResources& resources, std::shared_ptr<const LoadReport> report,
                 WallTime seen, bool prodIncludesSystem);
  void clear() { *this = {}; }

  void addPod(const PodInfo& pod, const AssignedLoad& load) { count(pod, load, 1); }
  void removePod(const PodInfo& pod, const AssignedLoad& load) { count(pod, load, -1); }
  // Good as long as the load is there.
  LoadShare shareOf(const PodInfo& pod, const AssignedLoad& load) const;

  bool reported() const { return report_ != nullptr; }
  // Whether the report has measurements of the node in it.
  bool measured() const { return measured_; }
  // nullopt: the report does not say.
  std::optional<WallTime> updated() const { return updated_; }

  // What the node's pods are taken to use of it.
  const LoadAmounts& prodUsage() const { return prodUsage_; }
  const LoadAmounts& prodDelta() const { return prodDelta_; }
  const LoadAmounts& delta() const { return delta_; }
  const LoadAmounts& estimated() const { return estimated_; }
  const LoadAmounts& prod() const { return prod_; }  // prodUsage and prodDelta
  const LoadAmounts& all() const { return all_; }    // what is measured, and delta
  // By aggregated usage. Of a span that is not reported, the next longer one is taken; where there
  // is none, the sum of estimates. With `exact`, as upstream, only the span itself is.
  LoadAmounts aggregated(const Aggregation& wanted, bool exact = false) const;
  // Whether an answer of any kind differs.
  bool sameAnswers(const NodeLoad& other) const;

 private:
  struct Aggregate {
    std::string type;
    Duration span{};
    LoadAmounts usage;
    bool operator==(const Aggregate&) const = default;
  };
  void readAggregates(const LoadResources& resources, const api::NodeMetricInfo& info);
  void count(const PodInfo& pod, const AssignedLoad& load, int sign);
  const LoadAmounts* usageOver(const Aggregation& wanted, bool exact) const;

  // What is asked for most stands first.
  bool measured_ = false;
  std::optional<WallTime> updated_;
  LoadAmounts all_;
  LoadAmounts prod_;
  Duration interval_{};
  LoadAmounts usage_;
  std::vector<Aggregate> aggregates_;
  std::shared_ptr<const LoadReport> report_;
  const LoadResources* resources_ = nullptr;
  LoadAmounts prodUsage_;
  LoadAmounts prodDelta_;
  LoadAmounts delta_;
  LoadAmounts estimated_;
};

}  // namespace koord::scheduler
