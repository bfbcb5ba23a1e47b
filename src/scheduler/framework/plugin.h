#pragma once

// The scheduling framework's extension points. A plugin is a class that derives from Plugin and
// from the points that it takes part in. All calls come from the scheduler's one thread.
//
// One attempt to place a pod runs PreFilter, Filter, (PostFilter if no node is left), PreScore,
// Score, Reserve, Permit. PreBind, Bind and PostBind follow in a task of their own. Filter and
// Score get all nodes in question at once.
//
// A plugin's answer for a node depends on either
//  - a few properties of the pod (its signature) and that node's own state only: the plugin is
//    Signed. Pods with equal signatures form a class. Answers are kept per class and computed again
//    only for nodes that changed. PreFilter and PreScore of a Signed plugin run once per class.
//  - or on more (other nodes, other pods, time): the plugin is called in every attempt.

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "scheduler/engine/node_parts.h"
#include "scheduler/framework/cycle_state.h"
#include "scheduler/framework/events.h"
#include "scheduler/framework/node_filter.h"
#include "scheduler/framework/nominator.h"
#include "scheduler/framework/queued_pod.h"
#include "scheduler/framework/signature.h"
#include "scheduler/framework/status.h"

namespace koord::scheduler {

class Diagnosis;

// Fields of running pods. The scheduler drops them from its copy unless a plugin needs them.
using PodFields = std::uint32_t;
namespace field {
inline constexpr PodFields kScheduledAt = 1;  // condition PodScheduled, if true
inline constexpr PodFields kTolerations = 1 << 1;
inline constexpr PodFields kNodeAffinity = 1 << 2;   // and the node selector
inline constexpr PodFields kVolumes = 1 << 3;        // also volumes that no other plugin reads
inline constexpr PodFields kInitializedAt = 1 << 4;  // condition Initialized, if true
}  // namespace field

// A set of points of an attempt.
using PluginPoints = std::uint32_t;
namespace when {
inline constexpr PluginPoints kPreFilter = 1;
inline constexpr PluginPoints kPlan = 1 << 1;
inline constexpr PluginPoints kReserve = 1 << 2;
inline constexpr PluginPoints kPermit = 1 << 3;
inline constexpr PluginPoints kPreBind = 1 << 4;
inline constexpr PluginPoints kPreEnqueue = 1 << 5;
}  // namespace when

// The base of every plugin. One object per profile.
class Plugin {
 public:
  virtual ~Plugin() = default;
  // The name in configurations, messages and metrics.
  virtual std::string_view name() const = 0;
  // The fields of running pods that the plugin reads.
  virtual PodFields requiredPodFields() const { return 0; }
  // The points where the plugin has nothing to do for any pod of this pod's shape
  // (engine/pod_shapes.h), in any state of the cluster: it would return Skip, or Success at Reserve
  // and Permit. Called once per shape.
  virtual PluginPoints skippedPoints(const PodInfo& /*pod*/) const { return 0; }
};

// A plugin whose answer for a node follows from the pod's signature and the node's state.
class Signed {
 public:
  virtual ~Signed() = default;
  // Adds every property of the pod that the plugin's answers depend on.
  virtual void sign(const PodInfo& pod, Signature& signature) const = 0;
  // Returns true if everything that sign() adds for a pod of the API without a node name follows
  // from the pod's shape (engine/pod_shapes.h). For a Changing plugin, shapeStillDetermines() must
  // hold, too.
  virtual bool shapeDeterminesSignature() const { return false; }
};

// A Signed plugin whose answers can change although the pod and the node do not. All its functions
// are called in every attempt and must be fast.
class Changing {
 public:
  virtual ~Changing() = default;
  // For a plugin with shapeDeterminesSignature(): returns true if what sign() adds currently
  // follows from the shape.
  virtual bool shapeStillDetermines() const { return true; }
  // Rises when answers for unchanged nodes may have changed (another node has pulled an image).
  virtual std::uint64_t epoch(const CycleState& /*state*/, const PodInfo& /*pod*/) const {
    return 0;
  }
  // Rises when the PreFilter result of the class may have changed (a quota was changed). The kept
  // results for nodes are dropped then, if the plugin has a Filter or Score.
  virtual std::uint64_t preFilterEpoch(const PodInfo& /*pod*/) const { return 0; }
};

// Shows some pods parts of nodes as free that are used for all other pods (node_view.h). The plugin
// must be Signed: the credits that a pod may have are part of its signature. When a credit on a
// node changes, the plugin must call Cluster::touch; Cluster::regrant does so itself.
class ViewPlugin {
 public:
  virtual ~ViewPlugin() = default;
  // Returns true if the pod can have credits on any node. Called for every class of pods; must be
  // fast.
  virtual bool hasCredits(const PodInfo& pod) const = 0;
  // The nodes on which the pod may have credits, valid until the next call; nullptr if any node may
  // have some.
  virtual const NodeSet* creditNodes(const PodInfo& /*pod*/) const { return nullptr; }
  // Adds what the pod sees as free on the node. Returns false if there is nothing to add.
  virtual bool addCredit(const PodInfo& pod, NodeId node, NodeCredit& credit) const = 0;
  // Pods on nodes that affinity and spreading ignore for this pod, because they only reserve
  // resources for it. Called once per attempt, for pods with credits.
  virtual std::vector<std::pair<NodeId, PodPtr>> hidden(const PodInfo& /*pod*/) const { return {}; }
};

// Decides whether a pod may enter the active queue. A result other than Success keeps it out until
// an event that the plugin registered for. Must be fast.
class PreEnqueuePlugin {
 public:
  virtual ~PreEnqueuePlugin() = default;
  virtual Status preEnqueue(const PodInfo& pod) = 0;
};

// The order of the active queue. All profiles share one.
class QueueSortPlugin {
 public:
  virtual ~QueueSortPlugin() = default;
  // Returns true if a is scheduled before b. Must be a strict weak order.
  virtual bool less(const QueuedPod& a, const QueuedPod& b) const = 0;
};

struct PreFilterResult {
  // Skip: this plugin's Filter is not called. A rejection holds for all nodes. Unschedulable with
  // nodeNames holds for all nodes that are not named; preemption may help there.
  Status status;
  // Only these nodes are considered; absent = all.
  std::optional<std::vector<std::string>> nodeNames;
};
class PreFilterPlugin {
 public:
  virtual ~PreFilterPlugin() = default;
  // Called at the start of an attempt, or once per class for a Signed plugin. Checks the pod as a
  // whole, and stores in `state` what its Filter needs.
  virtual PreFilterResult preFilter(CycleState& state, const PodInfo& pod) = 0;
};

class FilterPlugin {
 public:
  virtual ~FilterPlugin() = default;
  // Rejects nodes through `nodes`. A status other than Success is an error and ends the attempt.
  // Must judge by the current state of the cluster, which includes the changes of a simulation.
  virtual Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) = 0;
};

struct PostFilterResult {
  Status status;  // Success: the pod is nominated; further plugins are not called
  Nomination nomination;
  // Set by preemption: the number of victims.
  std::optional<std::size_t> victims;
  // If set, the task returns the result and the other fields are ignored. No other pod is scheduled
  // until it ends. The plugin must outlive the task.
  std::optional<Task<PostFilterResult>> later;
};

}  // namespace koord::scheduler

namespace koord::detail {

template <>
struct TaskPromise<scheduler::PostFilterResult>
    : SurvivingPromise<scheduler::PostFilterResult, TaskPromise<scheduler::PostFilterResult>> {
  void unhandled_exception() noexcept {
    value.emplace();
    value->status = scheduler::statusFromException();
  }
};

}  // namespace koord::detail

namespace koord::scheduler {

class PostFilterPlugin {
 public:
  virtual ~PostFilterPlugin() = default;
  // Called when no node passed the filters. Tries to make the pod schedulable, e.g. by preemption.
  // After Unschedulable the next plugin is called; any other status is the result.
  virtual PostFilterResult postFilter(CycleState& state, const PodPtr& pod,
                                      const Diagnosis& diagnosis) = 0;
};

// Called with the final status of an attempt that found no node, after the PostFilter plugins if
// they ran.
class AfterPostFilterPlugin {
 public:
  virtual ~AfterPostFilterPlugin() = default;
  virtual void afterPostFilter(CycleState& state, const PodPtr& pod, const Status& status) = 0;
};

class PreScorePlugin {
 public:
  virtual ~PreScorePlugin() = default;
  // Skip: Score is not called. `nodes` are the feasible nodes. For Signed plugins they are empty,
  // because PreScore must not depend on them.
  virtual Status preScore(CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes) = 0;
};

enum class Normalization {
  None,     // scores are already 0 to 100
  Highest,  // scores are not negative; the highest becomes 100
  Lowest,   // likewise, and 0 becomes 100
  Own,      // normalize() is called with the scores of all feasible nodes; not for Signed plugins
};

class ScorePlugin {
 public:
  virtual ~ScorePlugin() = default;
  // Fills scores[i] for nodes[i]. Nodes are in ascending order. A result other than Success is an
  // error.
  virtual Status score(const CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes,
                       std::span<std::int64_t> scores) = 0;
  // How the scores become 0 to 100. Must be constant.
  virtual Normalization normalization() const { return Normalization::None; }
  // For a Signed plugin without normalization: returns another such plugin of the profile that
  // scores pods of this class by the same rule; nullptr if there is none. Called once per class.
  virtual const ScorePlugin* scoreAlias(const PodInfo& /*pod*/) const { return nullptr; }
  // Returns true if the scores of scoreAlias()'s plugin equal this plugin's scores on all these
  // nodes. They are used then and score() is not called. Must cost much less than score().
  virtual bool scoresEqualAlias(const CycleState& /*state*/,
                                std::span<const NodeId> /*nodes*/) const {
    return false;
  }
  // Returns true if PreScore will return Skip for this pod, whichever nodes are feasible. If this
  // holds for all plugins that are not Signed, the best node is found without visiting all nodes.
  // Must be fast.
  virtual bool willSkipScore(const PodInfo& /*pod*/) { return false; }
  // For plugins that are not Signed, instead of PreScore and Score: the nodes grouped by normalised
  // score. nullopt: PreScore and Score are called.
  virtual std::optional<NodeParts> scoreParts(const PodInfo& /*pod*/, const NodeSet& /*nodes*/) {
    return std::nullopt;
  }
  // Called after score() for Normalization::Own: changes the scores to 0 to 100.
  virtual Status normalize(const CycleState& /*state*/, const PodInfo& /*pod*/,
                           std::span<const NodeId> /*nodes*/, std::span<std::int64_t> /*scores*/) {
    return {};
  }
};

// Allocates what the pod needs on its node beyond its requests. The pod is already counted there.
class ReservePlugin {
 public:
  virtual ~ReservePlugin() = default;
  // Grants in the cluster's ledgers (Cluster::regrant) are released with the pod.
  virtual Status reserve(CycleState& state, const PodPtr& pod, NodeId node) = 0;
  // Releases everything that is not a grant. Must be idempotent; also called if reserve was not
  // called because an earlier plugin failed.
  virtual void unreserve(CycleState& /*state*/, const PodPtr& /*pod*/, NodeId /*node*/) {}
};

struct PermitResult {
  Status status;  // Wait: the pod waits until WaitingPod::allow, reject or the timeout
  Duration timeout{};
};
class PermitPlugin {
 public:
  virtual ~PermitPlugin() = default;
  // Called after Reserve. Success continues with binding, Wait delays it, a rejection reverts the
  // reservation.
  virtual PermitResult permit(CycleState& state, const PodPtr& pod, NodeId node) = 0;
};

class PreBindPlugin {
 public:
  virtual ~PreBindPlugin() = default;
  // Skip: preBind has nothing to do for this pod.
  virtual Status preBindPreFlight(CycleState& /*state*/, const PodPtr& /*pod*/, NodeId /*node*/) {
    return {};
  }
  // Prepares the node for the pod, e.g. its volumes. Anything but Success ends the attempt.
  virtual Task<Status> preBind(CycleState& state, PodPtr pod, NodeId node) = 0;
};

class BindPlugin {
 public:
  virtual ~BindPlugin() = default;
  // Returns true if bind also writes state.annotations(). Otherwise they are written before bind.
  virtual bool writesAnnotations() const { return false; }
  // Returns true if the plugin handles units of this kind; bind may still return Skip.
  virtual bool binds(const PodInfo& /*unit*/) const { return true; }
  // Skip: the next plugin is called.
  virtual Task<Status> bind(CycleState& state, PodPtr pod, std::string nodeName) = 0;
};

class PostBindPlugin {
 public:
  virtual ~PostBindPlugin() = default;
  // Called after the pod was bound.
  virtual void postBind(CycleState& state, const PodPtr& pod, const std::string& nodeName) = 0;
};

// The events that may make a pod schedulable that this plugin rejected. A plugin without this
// interface is asked on every event.
class EnqueueExtensions {
 public:
  virtual ~EnqueueExtensions() = default;
  virtual std::vector<EventRegistration> eventsToRegister() const = 0;
};

}  // namespace koord::scheduler
