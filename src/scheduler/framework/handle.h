#pragma once

// Handle: what the scheduler offers its plugins. One per profile.

#include <memory>
#include <string_view>
#include <vector>

#include "scheduler/engine/cluster.h"
#include "scheduler/framework/known_pods.h"
#include "scheduler/framework/nominator.h"
#include "scheduler/framework/shared_states.h"
#include "scheduler/framework/stores.h"
#include "scheduler/framework/unit.h"
#include "scheduler/framework/waiting_pods.h"

namespace koord::kube {
class Api;
class EventRecorder;
}  // namespace koord::kube

namespace koord::scheduler {

class Extenders;
class NodeSearch;
class Observer;
struct Profile;

class Handle {
 public:
  virtual ~Handle() = default;
  virtual Cluster& cluster() = 0;
  virtual Executor& executor() = 0;
  virtual Nominator& nominator() = 0;
  virtual WaitingPods& waitingPods() = 0;
  virtual Stores& stores() = 0;
  virtual KnownPods& knownPods() = 0;
  virtual SharedStates& shared() = 0;
  // The profile, with what its other plugins offer (Profile::offers). Not while plugins are made.
  virtual const Profile& profile() const = 0;
  // The search of this profile, to run filters again. Only during an attempt.
  virtual NodeSearch& search() = 0;
  // The way in for units that are no Pods, and what stands behind a unit.
  virtual UnitFeed& units() = 0;
  virtual UnitKind& kindOf(const PodInfo& unit) = 0;
  // A source of its own for every caller, from the scheduler's seed.
  virtual Random random() = 0;
  // The pod of that name that waits for a node; nullptr when there is none.
  virtual PodPtr pendingPod(const api::ObjectKey& /*key*/) { return nullptr; }
  // Moves these pods to the active queue when they are waiting elsewhere in it.
  virtual void activate(const std::vector<PodPtr>& pods) = 0;
  // Tells waiting pods of something that a plugin alone knows of (a quota has room again), as if the
  // API had: plugins that registered for it are asked whether it helps. Not from within an attempt.
  virtual void notify(const ClusterEvent& /*event*/) {}
  // nullptr when the engine runs without an API (benchmarks, what-if questions).
  virtual kube::Api* api() = 0;
  virtual kube::EventRecorder* events() = 0;
  // nullptr when nobody counts.
  virtual Observer* observer() { return nullptr; }
  // nullptr when the configuration has none.
  virtual Extenders* extenders() { return nullptr; }
  // Whether this feature gate is on.
  virtual bool enabled(std::string_view /*gate*/) const { return false; }
};

}  // namespace koord::scheduler
