#pragma once

// Cluster events that may make a waiting pod schedulable, and the registrations of plugins for them
// (queueing hints).

#include <any>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/core.h"
#include "scheduler/engine/pod_info.h"
#include "scheduler/framework/object_kind.h"

namespace koord::scheduler {

using Actions = std::uint32_t;
namespace action {
inline constexpr Actions kAdd = 1;
inline constexpr Actions kDelete = 1 << 1;
inline constexpr Actions kUpdateNodeAllocatable = 1 << 2;
inline constexpr Actions kUpdateNodeLabel = 1 << 3;
inline constexpr Actions kUpdateNodeTaint = 1 << 4;
inline constexpr Actions kUpdateNodeCondition = 1 << 5;
inline constexpr Actions kUpdateNodeAnnotation = 1 << 6;
inline constexpr Actions kUpdatePodLabel = 1 << 7;
inline constexpr Actions kUpdatePodScaleDown = 1 << 8;
inline constexpr Actions kUpdatePodToleration = 1 << 9;
inline constexpr Actions kUpdatePodSchedulingGatesEliminated = 1 << 10;
inline constexpr Actions kUpdateOther = 1 << 11;
inline constexpr Actions kUpdateNodeDeclaredFeature = 1 << 12;
inline constexpr Actions kUpdatePodGeneratedResourceClaim = 1 << 13;
inline constexpr Actions kUpdate = ((1 << 14) - 1) & ~(kAdd | kDelete);
inline constexpr Actions kAll = kAdd | kDelete | kUpdate;
}  // namespace action

// One event. It may be kept for a while, so it owns its objects.
struct ClusterEvent {
  EventResource resource = EventResource::Wildcard;
  Actions actions = 0;
  std::string customResource;
  // The object before and after; only those of the resource are set.
  PodPtr oldPod;
  PodPtr newPod;
  std::shared_ptr<const api::Node> oldNode;
  std::shared_ptr<const api::Node> newNode;
  std::any oldObject;  // std::shared_ptr<const T> of the resource's T
  std::any newObject;
  // Only the status of a waiting pod differs. We write it ourselves after every failure, so plugins
  // that register for every event do not get this one: the pod would wake itself in a loop.
  bool statusOnly = false;
  // A waiting member of a group lost its nominated node. The pods that this wakes wait until their
  // backoff ends, even if nothing else is ready: otherwise groups that nominate nodes in turn would
  // wake each other in a loop.
  bool nominationEnded = false;
  // A wildcard event applies to this pod only; "" = to all.
  std::string targetUid;
  std::string name;  // for wildcards: "UnschedulableTimeout", "ForceActivate", ...

  // The object before and after; nullptr if it did not exist or is of another type.
  template <class T>
  std::shared_ptr<const T> before() const {
    const auto* object = std::any_cast<std::shared_ptr<const T>>(&oldObject);
    return object ? *object : nullptr;
  }
  template <class T>
  std::shared_ptr<const T> after() const {
    const auto* object = std::any_cast<std::shared_ptr<const T>>(&newObject);
    return object ? *object : nullptr;
  }

  static ClusterEvent wildcard(std::string name, std::string targetUid = {}) {
    ClusterEvent event;
    event.name = std::move(name);
    event.targetUid = std::move(targetUid);
    return event;
  }
};

// The event for a change of an object. Of before and after, one may be nullptr.
template <class T>
ClusterEvent eventOf(const ObjectKind& kind, const std::shared_ptr<const T>& before,
                     const std::shared_ptr<const T>& after) {
  ClusterEvent event;
  event.resource = kind.event.value_or(EventResource::Wildcard);
  event.customResource = kind.customResource;
  event.actions = !before ? action::kAdd : !after ? action::kDelete : action::kUpdate;
  if (before) event.oldObject = before;
  if (after) event.newObject = after;
  return event;
}

// The name in metrics and logs: "AssignedPodDelete", "NodeUpdateNodeTaint".
std::string labelOf(const ClusterEvent& event);

enum class Hint : std::uint8_t { Skip, Queue };

struct EventRegistration {
  EventResource resource = EventResource::Wildcard;
  Actions actions = 0;
  std::string customResource;
  // Whether the event may make this pod, which the plugin rejected, schedulable. Empty = always
  // Queue.
  std::function<Hint(const PodInfo& pod, const ClusterEvent& event)> hint;
};

bool matches(const EventRegistration& registration, const ClusterEvent& event);

// The changes between two versions, as separate actions; empty if no relevant field differs. A pod
// always yields at least the generic update.
std::vector<Actions> nodeActions(const api::Node& before, const api::Node& after);
std::vector<Actions> podActions(const PodInfo& before, const PodInfo& after);
// Returns true if nothing except the status differs. False if the API server does not maintain
// metadata.generation.
bool onlyStatusDiffers(const api::Pod& before, const api::Pod& after);

}  // namespace koord::scheduler
