#pragma once

// Handle: the scheduler's services for its plugins. One per profile.

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
  // The profile, which has the interfaces that its other plugins offer (Profile::offers). Not
  // available in plugin constructors.
  virtual const Profile& profile() const = 0;
  // The search of this profile, to run filters again. Valid only during an attempt.
  virtual NodeSearch& search() = 0;
  // units() takes in units that are not Pods; kindOf() returns the kind of the object behind a
  // unit.
  virtual UnitFeed& units() = 0;
  virtual UnitKind& kindOf(const PodInfo& unit) = 0;
  // A separate random source for each call, derived from the scheduler's seed.
  virtual Random random() = 0;
  // The pending pod of that name; nullptr if there is none.
  virtual PodPtr pendingPod(const api::ObjectKey& /*key*/) { return nullptr; }
  // Moves these pods to the active queue if they wait in another part of the queue.
  virtual void activate(const std::vector<PodPtr>& pods) = 0;
  // The same, but a pod that is backing off is moved when its backoff ends.
  virtual void requeue(const std::vector<PodPtr>& pods) = 0;
  // Publishes an event that only a plugin knows of (a quota has free resources again), as if it
  // came from the API: the hints of plugins that registered for it are evaluated. Must not be
  // called within an attempt.
  virtual void notify(const ClusterEvent& /*event*/) {}
  // nullptr if the engine runs without an API server (benchmarks, simulations).
  virtual kube::Api* api() = 0;
  virtual kube::EventRecorder* events() = 0;
  // nullptr if no metrics are kept.
  virtual Observer* observer() { return nullptr; }
  // nullptr if the configuration has none.
  virtual Extenders* extenders() { return nullptr; }
  // Returns true if this feature gate is enabled.
  virtual bool enabled(std::string_view /*gate*/) const { return false; }
};

}  // namespace koord::scheduler
