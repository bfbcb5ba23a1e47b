#pragma once

// NodeLoad: the load of a node: what koordlet last measured, and the estimated usage of pods that
// were added since or are not in the measurement yet.
//
// For a pod with estimate e whose usage u was reported (or was not):
//   lacking   u is missing, or too recent to trust (the pod was added less than a reporting
//             interval before the report), or the estimate is forced for longer
//   delta     max(0, e - u) when lacking: what to add to the node's usage for it
// The usage of prod pods is the sum over the pods that are prod both in the report and by
// themselves. A prod pod that the report has in another class counts with its whole estimate.
//
// Sums are kept by adding pods and subtracting them, each exactly as it was added. When the report
// changes, all pods are added again. Cost: one look-up in the report per pod.

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
    std::int64_t estimated = 0;  // over all pods, the estimated usage
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
  // The age of a report counts from the node's time of measurement, but not from the future: a
  // clock that is ahead does not extend the validity of a report. `seen`: when it arrived.
  // `resources` must outlive this object.
  void setReport(const LoadResources& resources, std::shared_ptr<const LoadReport> report,
                 WallTime seen, bool prodIncludesSystem);
  void clear() { *this = {}; }

  void addPod(const PodInfo& pod, const AssignedLoad& load) { count(pod, load, 1); }
  void removePod(const PodInfo& pod, const AssignedLoad& load) { count(pod, load, -1); }
  // Valid as long as the load exists.
  LoadShare shareOf(const PodInfo& pod, const AssignedLoad& load) const;

  bool reported() const { return report_ != nullptr; }
  // Returns true if the report has measurements of the node.
  bool measured() const { return measured_; }
  // nullopt if the report does not say.
  std::optional<WallTime> updated() const { return updated_; }

  // The usage of the node by its pods, reported or estimated.
  const LoadAmounts& prodUsage() const { return prodUsage_; }
  const LoadAmounts& prodDelta() const { return prodDelta_; }
  const LoadAmounts& delta() const { return delta_; }
  const LoadAmounts& estimated() const { return estimated_; }
  const LoadAmounts& prod() const { return prod_; }  // prodUsage and prodDelta
  const LoadAmounts& all() const { return all_; }    // the measured usage and delta
  // With aggregated usage. If the duration is not reported, the next longer one is used; if there
  // is none, the sum of estimates. With `exact`, as upstream, only the duration itself is used.
  LoadAmounts aggregated(const Aggregation& wanted, bool exact = false) const;
  // Returns true if all answers are equal.
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

  // The members that are read most come first.
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
