#pragma once

// Estimator: how much of a node a pod will use, before anybody has measured it, and for how long
// that estimate counts for more than what is measured.

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

// What a pod is taken to load its node with.
struct AssignedLoad {
  std::shared_ptr<const LoadAmounts> estimated;  // of all pods of its shape; never nullptr
  WallTime since{};                              // when it was placed
  std::optional<WallTime> forced;  // until then the estimate counts, whatever is measured
  bool prod = false;               // by its own priority class

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
    bool customizable = false;  // pods may say otherwise, in annotations
    bool operator==(const Settings&) const = default;
  };
  static Settings settingsOf(const LoadAwareSchedulingArgs& args);

  Estimator(const LoadResources& resources, Settings settings);

  struct Estimate {
    LoadAmounts amounts;
    bool prod = false;
  };
  // By the larger of limit and request of what the pod's priority class asks for (batch-cpu for
  // batch pods), times the factor, and at most the limit; a guess where neither is given.
  Estimate estimate(const api::Pod& pod) const;
  // The same, worked out once for all pods of a shape. Good until another pod is asked about.
  const Estimate& estimateOf(const PodInfo& pod) const { return known(pod).estimate; }
  // `placed`: when it came to its node, unless its status says so.
  AssignedLoad assigned(const PodInfo& pod, WallTime placed) const;
  // Whether that is what a pod of this one's shape was assigned before; false: perhaps.
  bool stays(const PodInfo& pod, const AssignedLoad& before) const;

 private:
  // What pods of a priority class ask for where others ask for the resource, and what counts where
  // they ask for none of it. "": they have no such thing.
  struct Named {
    std::string_view name;
    std::int64_t guess = 0;
  };
  static constexpr std::size_t kClasses = 5;

  std::int64_t factorOf(std::size_t resource, const json::object* custom) const;
  json::value customFactors(const api::Pod& pod) const;
  // Whether some pods' estimates count for more than what is measured.
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

// When the pod was placed, if its status says so.
std::optional<WallTime> scheduledAt(const api::Pod& pod);

}  // namespace koord::scheduler
