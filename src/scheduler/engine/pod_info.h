#pragma once

// PodInfo: a pod as the engine needs it, computed once when the pod is observed. Immutable and
// shared.

#include <boost/container/small_vector.hpp>
#include <memory>
#include <string>

#include "api/pod.h"
#include "scheduler/engine/label_sets.h"
#include "scheduler/engine/pod_shapes.h"
#include "scheduler/engine/pod_terms.h"
#include "scheduler/engine/resources.h"

namespace koord::scheduler {

// A port on the host's network. Ports on 0.0.0.0 collide with the same port on any address.
struct HostPort {
  Symbol ip = 0;
  Symbol protocol = 0;
  std::int32_t port = 0;
  bool operator==(const HostPort&) const = default;
};

class UnitKind;  // framework/unit.h

struct PodInfo {
  std::shared_ptr<const api::Pod> pod;
  ShapeId shape = 0;
  std::int32_t priority = 0;
  bool beyond = false;             // requests more than kMaxAmount of a resource: it fits nowhere
  Resources request;               // what it uses on a node, never negative
  std::int64_t nonZeroCpu = 0;     // with 100 milli for each container that requests none,
  std::int64_t nonZeroMemory = 0;  // with 200 MiB likewise; used by scores
  boost::container::small_vector<HostPort, 1> ports;
  LabelSetPtr labelSet;                   // its namespace and labels
  std::shared_ptr<const PodTerms> terms;  // nullptr without pod (anti-)affinity
  UnitKind* kind = nullptr;  // of the object behind a unit that is not a Pod; usually nullptr

  const std::string& uid() const { return pod->metadata.uid; }
  std::string key() const { return pod->metadata.namespace_ + "/" + pod->metadata.name; }
};

using PodPtr = std::shared_ptr<const PodInfo>;

class Cluster;
PodPtr makePodInfo(Cluster& cluster, std::shared_ptr<const api::Pod> pod, UnitKind* kind = nullptr);
// The pod as the API shows it after its binding.
PodPtr placedOn(const PodInfo& pod, const std::string& node);

}  // namespace koord::scheduler
