#pragma once

// The workload of a pod, as far as run times are concerned: pods of one workload do the same work,
// so the earlier ones say how long the later ones run.

#include <compare>
#include <optional>
#include <string>

#include "api/pod.h"

namespace koord::scheduler::forecast {

struct Workload {
  std::string namespace_;
  std::string kind;  // of the controller; PodGroup, or Pod for a pod without one
  std::string name;  // without the part that differs from run to run

  auto operator<=>(const Workload&) const = default;
  std::string text() const;  // "Job team-a/train"
};

// The name without the last part if that is generated: a number, as CronJobs and scripts append it,
// or the five characters of generateName. So all Jobs of a CronJob are one workload.
std::string stableName(std::string_view name);

// The gang of the pod, by its labels, annotations or scheduling group; "" if it is in none.
std::string gangOf(const api::Pod& pod);

// By the controller, else by the gang, else by the pod's own name. nullopt: the pod does not end by
// itself, because its restartPolicy is Always.
std::optional<Workload> workloadOf(const api::Pod& pod);

}  // namespace koord::scheduler::forecast
