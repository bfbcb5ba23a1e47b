#pragma once

// A pod as the descheduler keeps it: api::Pod without unneeded fields (containers, addresses,
// statuses of running containers), with fields that api::Pod lacks, and with facts for all plugins,
// computed once when the pod changes: there may be 150,000 pods. This copy is incomplete: code that
// copies a pod into a written object (the template of a Reservation) must read it from the API
// first.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/codec.h"
#include "api/pod.h"
#include "api/shape.h"
#include "model/priority.h"
#include "model/qos.h"

namespace koord::descheduler {

// Annotations of pods that only deschedulers use.
inline constexpr std::string_view kAnnotationEvict = "descheduler.alpha.kubernetes.io/evict";
inline constexpr std::string_view kAnnotationPreferNoEviction =
    "descheduler.alpha.kubernetes.io/prefer-no-eviction";
inline constexpr std::string_view kAnnotationDeletionCost =
    "controller.kubernetes.io/pod-deletion-cost";

// Facts about a pod in a few bytes, derived from the pod. They are stored beside it in arrays, so
// that a pass over all pods of the cluster does not dereference each pod.
struct PodFacts {
  enum Flag : std::uint32_t {
    Terminal = 1U << 0,      // Succeeded or Failed
    Failed = 1U << 1,        // Failed
    Terminating = 1U << 2,   // has a deletionTimestamp
    Ready = 1U << 3,         // condition Ready is True
    DaemonSet = 1U << 4,     // an owner is a DaemonSet
    Mirror = 1U << 5,        // annotation kubernetes.io/config.mirror
    Static = 1U << 6,        // annotation kubernetes.io/config.source, and not "api"
    Bare = 1U << 7,          // no owner at all
    LocalStorage = 1U << 8,  // a volume is a hostPath or an emptyDir
    Claims = 1U << 9,        // a volume is a PersistentVolumeClaim
    EvictMe = 1U << 10,     // annotation descheduler.alpha.kubernetes.io/evict: exempt from filters
    PreferStay = 1U << 11,  // annotation descheduler.alpha.kubernetes.io/prefer-no-eviction
    Gang = 1U << 12,        // belongs to a PodGroup or gang, by label or annotation
    AntiAffinity = 1U << 13,   // has required anti-affinity to pods
    Spread = 1U << 14,         // has topology spread constraints
    NodeRequired = 1U << 15,   // has required node affinity
    NodePreferred = 1U << 16,  // has preferred node affinity
    NodeSelected = 1U << 17,   // has a nodeSelector
    HasPriority = 1U << 18,    // spec.priority is set
    Waiting = 1U << 19,        // a container or init container waits or has ended
    Beyond = 1U << 20,         // a request exceeds 64 bits
  };
  std::uint32_t flags = 0;
  std::int32_t priority = 0;      // 0 when absent
  std::int32_t deletionCost = 0;  // annotation controller.kubernetes.io/pod-deletion-cost
  std::int32_t evictionCost = 0;  // annotation scheduling.koordinator.sh/eviction-cost
  std::int32_t restarts = 0;      // of containers, without init containers
  std::int32_t initRestarts = 0;
  model::PriorityClass priorityClass : 8 = model::PriorityClass::None;  // with what QoS says
  model::KubernetesQos kubernetesQos : 8 = model::KubernetesQos::BestEffort;
  model::Qos qos : 8 = model::Qos::None;
  std::uint32_t namespaceHash = 0;  // of its name; not unique
  std::uint32_t labelKeys = 0;      // labelKeyBit of each
  std::int64_t milliCpu = 0;        // requests
  std::int64_t memory = 0;          // bytes
  std::int64_t createdAt = 0;       // seconds since the epoch; 0 = unknown
  std::uint64_t key = 0;            // keyHash of namespace and name
  // Hash of namespace, owners and images: equal for copies of a pod. 0 = no owner.
  std::uint64_t signature = 0;

  bool is(Flag flag) const { return (flags & flag) != 0; }
};

inline std::uint64_t keyHash(std::string_view namespace_, std::string_view name) {
  return std::hash<api::ObjectKey>::of(namespace_, name);
}

// A pod without the bit does not have the label.
inline std::uint32_t labelKeyBit(std::string_view key) {
  return 1U << std::hash<std::string_view>{}(key) % 32;
}
inline std::uint32_t namespaceHash(std::string_view name) {
  return static_cast<std::uint32_t>(std::hash<std::string_view>{}(name));
}

struct Pod : api::Pod {
  PodFacts facts;
  // Requests for other resources than cpu and memory, by name: bytes for ephemeral-storage,
  // otherwise whole units.
  api::Map<std::int64_t> scalars;
  api::List<api::ContainerStatus> ephemeralContainerStatuses;
};
using PodPtr = std::shared_ptr<const Pod>;

// Recomputes the facts of a pod that was changed or created and is not slim yet. Facts about fields
// that api::Pod does not have (local volumes) stay unchanged.
void establishFacts(Pod& pod);
// Drops fields that no decision needs in addition to the facts. Conditions are optional.
void slim(Pod& pod, bool keepConditions);

// The pods of one node, by namespace and name, and the sum of the requests of those that are not
// terminal.
struct NodePods {
  struct Entry {
    PodPtr pod;
    PodFacts facts;
  };
  std::vector<Entry> entries;
  std::int64_t milliCpu = 0;
  std::int64_t memory = 0;
  api::Map<std::int64_t> scalars;
  std::int64_t running = 0;  // pods that are not terminal

  void add(PodPtr pod);
  void remove(const api::ObjectMeta& meta);
};

}  // namespace koord::descheduler

namespace koord::api {
template <>
Result<descheduler::Pod> decode<descheduler::Pod>(const json::value& document, Reading reading);
// No protobuf: pods are read as JSON, because only that distinguishes the kinds of volumes.
template <>
inline const Shape* shapeOf<descheduler::Pod>() {
  return nullptr;
}
}  // namespace koord::api
