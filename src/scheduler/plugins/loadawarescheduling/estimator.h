#pragma once

// Estimator: estimates how much of a node a pod will use before its usage is measured, and for how
// long the estimate has precedence over the measurement.

#include <array>

#include "scheduler/engine/pod_info.h"
#include "scheduler/plugins/loadawarescheduling/amounts.h"

namespace koord::scheduler {

inline constexpr std::string_view kAnnotationLoadFactors =
    "scheduling.koordinator.sh/load-estimated-scaling-factors";
inline constexpr std::string_view kAnnotationSecondsAfterScheduled =
    "scheduling.koordinator.sh/load-estimated-seconds-after-pod-scheduled";
inline constexpr std::string_view kAnnotationSecondsAfterInitialized =
    "scheduling.koordinator.sh/load-estimated-seconds-after-initialized";

// The estimated load of a pod on its node.
struct AssignedLoad {
  std::shared_ptr<const LoadAmounts> estimated;  // of all pods of its shape; never nullptr
  WallTime since{};                              // when the pod was scheduled
  std::optional<WallTime> forced;  // until then the estimate has precedence over the measurement
  bool prod = false;               // by the pod's own priority class

  const LoadAmounts& estimate() const { return *estimated; }
  bool operator==(const AssignedLoad& other) const {
    return (estimated == other.estimated || *estimated == *other.estimated) &&
           since == other.since && forced == other.forced && prod == other.prod;
  }
};

class Estimator {
 public:
  struct Settings {
    LoadAwareSchedulingArgs::ByResource factors;  // percent of the request or limit
    std::optional<std::int64_t> secondsAfterScheduled;
    std::optional<std::int64_t> secondsAfterInitialized;
    bool customizable = false;  // annotations of pods may override them
    bool operator==(const Settings&) const = default;
  };
  static Settings settingsOf(const LoadAwareSchedulingArgs& args);

  Estimator(const LoadResources& resources, Settings settings);

  struct Estimate {
    LoadAmounts amounts;
    bool prod = false;
  };
  // The larger of the limit and the request of the resource for the pod's priority class (batch-cpu
  // for batch pods), times the factor, and at most the limit; a default if the pod has neither.
  Estimate estimate(const api::Pod& pod) const;
  // The same, computed once for all pods of a shape. Valid until the next call with another pod.
  const Estimate& estimateOf(const PodInfo& pod) const { return known(pod).estimate; }
  // `placed`: when it was assigned to its node, unless its status says so.
  AssignedLoad assigned(const PodInfo& pod, WallTime placed) const;
  // Returns true if a pod of this shape was certainly assigned the same load before.
  bool stays(const PodInfo& pod, const AssignedLoad& before) const;

 private:
  // The resource that pods of a priority class request in place of the given one, and the default
  // amount without a request. "": the class has no such resource.
  struct Named {
    std::string_view name;
    std::int64_t guess = 0;
  };
  static constexpr std::size_t kClasses = 5;

  std::int64_t factorOf(std::size_t resource, const json::object* custom) const;
  json::value customFactors(const api::Pod& pod) const;
  // Returns true if the estimates of some pods have precedence over the measurement.
  bool forces() const {
    return settings_.customizable || settings_.secondsAfterInitialized ||
           settings_.secondsAfterScheduled;
  }
  std::optional<WallTime> forcedUntil(const api::Pod& pod, WallTime since) const;
  std::int64_t secondsFor(const api::Pod& pod, std::string_view annotation,
                          const std::optional<std::int64_t>& usual) const;

  const LoadResources& resources_;
  Settings settings_;
  LoadAmounts factors_;
  // By resource.
  std::vector<std::array<Named, kClasses>> names_;
  std::vector<bool> known_;  // to the arguments
  struct Known {
    Estimate estimate;
    std::shared_ptr<const LoadAmounts> shared;
  };
  const Known& known(const PodInfo& pod) const;
  mutable ByShape<Known> estimates_;
};

// When the pod was scheduled, if its status says so.
std::optional<WallTime> scheduledAt(const api::Pod& pod);

}  // namespace koord::scheduler
