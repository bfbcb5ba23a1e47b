#pragma once

// The scheduling framework's extension points. A plugin is a class that derives from Plugin and
// from the points it takes part in. All calls come from the scheduler's one thread.
//
// One attempt to place a pod runs PreFilter, Filter, (PostFilter when no node is left), PreScore,
// Score, Reserve, Permit; then, as a task of its own, PreBind, Bind, PostBind. Filter and Score see
// all nodes in question at once.
//
// What a plugin answers for a node either depends on
//  - a few things of the pod (its signature) and that node's own state only: such a plugin is
//  Signed.
//    Pods with the same signatures form a class; answers are kept per class and asked again only
//    for nodes that changed. PreFilter and PreScore of a Signed plugin run once per class.
//  - or on more than that (other nodes, other pods, time): then it is asked in every attempt.

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

// Fields of running pods that the scheduler drops from its copy unless a plugin needs them.
using PodFields = std::uint32_t;
namespace field {
inline constexpr PodFields kScheduledAt = 1;  // condition PodScheduled, if true
inline constexpr PodFields kTolerations = 1 << 1;
inline constexpr PodFields kNodeAffinity = 1 << 2;   // and the node selector
inline constexpr PodFields kVolumes = 1 << 3;        // also those that no other plugin looks at
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

class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string_view name() const = 0;
  virtual PodFields keeps() const { return 0; }
  // Where it has nothing to do for any pod of this one's shape (engine/pod_shapes.h), whatever the cluster
  // is like: where it would say Skip, or Success to Reserve and Permit. Asked once for a shape.
  virtual PluginPoints idleAt(const PodInfo& /*pod*/) const { return 0; }
};

class Signed {
 public:
  virtual ~Signed() = default;
  // Adds everything of the pod that the plugin's answers depend on.
  virtual void sign(const PodInfo& pod, Signature& signature) const = 0;
  // Whether what it adds for pods of the API that name no node follows from their shape alone
  // (engine/pod_shapes.h); one that is Changing says, besides, whether it does by now.
  virtual bool signsShape() const { return false; }
};

// A Signed plugin whose answers change without anything of the pod or the node. It is asked about that in every
// attempt, so all of it must be fast.
class Changing {
 public:
  virtual ~Changing() = default;
  // Of one that signs shapes: whether what it adds follows from them as things are.
  virtual bool shapesTell() const { return true; }
  // Rises when answers for nodes that have not changed may have (an image came to another node).
  virtual std::uint64_t epoch(const CycleState& /*state*/, const PodInfo& /*pod*/) const {
    return 0;
  }
  // Rises when what PreFilter said of the class may not hold any more (a quota was changed). What is
  // kept of nodes is dropped then, if the plugin has a Filter or Score as well.
  virtual std::uint64_t preFilterEpoch(const PodInfo& /*pod*/) const { return 0; }
};

// Lets some pods see parts of nodes as free that are taken for all others (node_view.h). Such a
// plugin must be Signed: which credits a pod may have is part of its signature. A node on which a
// credit changes has to be touched (Cluster::touch), which regranting does by itself.
class ViewPlugin {
 public:
  virtual ~ViewPlugin() = default;
  // Whether the pod can have credits anywhere. Must be fast: it is asked for every class of pods.
  virtual bool hasCredits(const PodInfo& pod) const = 0;
  // The nodes outside of which the pod has no credit, good until the next question; nullptr: it may
  // have some anywhere.
  virtual const NodeSet* creditNodes(const PodInfo& /*pod*/) const { return nullptr; }
  // Adds what the pod sees as free on the node; false when that is nothing.
  virtual bool addCredit(const PodInfo& pod, NodeId node, NodeCredit& credit) const = 0;
  // Pods on nodes that are not there for it as far as affinity and spreading are concerned: they
  // only keep its place. Asked of pods with credits, once per attempt.
  virtual std::vector<std::pair<NodeId, PodPtr>> hidden(const PodInfo& /*pod*/) const { return {}; }
};

// Whether the pod may enter the active queue at all. Anything but Success holds it back until an
// event that the plugin registered for. Must be fast.
class PreEnqueuePlugin {
 public:
  virtual ~PreEnqueuePlugin() = default;
  virtual Status preEnqueue(const PodInfo& pod) = 0;
};

// The order of the active queue. All profiles share one.
class QueueSortPlugin {
 public:
  virtual ~QueueSortPlugin() = default;
  virtual bool less(const QueuedPod& a, const QueuedPod& b) const = 0;
};

struct PreFilterResult {
  // Skip: Filter of this plugin is not called. A rejection is the verdict for all nodes; Unschedulable
  // with names is that for all others, where preemption may help.
  Status status;
  // Only these nodes come into question; absent = all.
  std::optional<std::vector<std::string>> nodeNames;
};
class PreFilterPlugin {
 public:
  virtual ~PreFilterPlugin() = default;
  virtual PreFilterResult preFilter(CycleState& state, const PodInfo& pod) = 0;
};

class FilterPlugin {
 public:
  virtual ~FilterPlugin() = default;
  // Rejects nodes; a status other than Success is an error and ends the attempt. Must judge by the
  // cluster as it is now, so that what-if changes are seen.
  virtual Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) = 0;
};

struct PostFilterResult {
  Status status;  // Success: the nomination is made, further plugins are not asked
  Nomination nomination;
  // Set by preemption: how many pods have to leave.
  std::optional<std::size_t> victims;
  // The rest of the answer takes time, and this is where it comes from; all else is not set then.
  // No other pod is scheduled meanwhile. The plugin must outlive the task.
  std::optional<Task<PostFilterResult>> later;
};

}  // namespace koord::scheduler

namespace koord::detail {

template <>
struct TaskPromise<scheduler::PostFilterResult>
    : SurvivingPromise<scheduler::PostFilterResult, TaskPromise<scheduler::PostFilterResult>> {
  void unhandled_exception() noexcept {
    value.emplace();
    value->status = scheduler::statusOfThrown();
  }
};

}  // namespace koord::detail

namespace koord::scheduler {

class PostFilterPlugin {
 public:
  virtual ~PostFilterPlugin() = default;
  virtual PostFilterResult postFilter(CycleState& state, const PodPtr& pod,
                                      const Diagnosis& diagnosis) = 0;
};

// Called after all PostFilter plugins, whatever they said, with what the attempt ends in.
class AfterPostFilterPlugin {
 public:
  virtual ~AfterPostFilterPlugin() = default;
  virtual void afterPostFilter(CycleState& state, const PodPtr& pod, const Status& status) = 0;
};

class PreScorePlugin {
 public:
  virtual ~PreScorePlugin() = default;
  // Skip: Score is not called. `nodes` are the feasible ones; empty for Signed plugins, whose
  // PreScore must not depend on them.
  virtual Status preScore(CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes) = 0;
};

enum class Normalization {
  None,     // scores are 0 to 100 as they come
  Highest,  // scores are not negative; the highest becomes 100
  Lowest,   // likewise, and 0 becomes 100
  Own,      // normalize() is called with the scores of all feasible nodes; not for Signed plugins
};

class ScorePlugin {
 public:
  virtual ~ScorePlugin() = default;
  // Fills scores[i] for nodes[i]; nodes are in ascending order. Other than Success is an error.
  virtual Status score(const CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes,
                       std::span<std::int64_t> scores) = 0;
  virtual Normalization normalization() const { return Normalization::None; }
  // Of a Signed plugin whose scores are not normalised: another such one of its profile that scores pods of this
  // one's class by the same rule; nullptr: none. Asked once for a class.
  virtual const ScorePlugin* sharesRule(const PodInfo& /*pod*/) const { return nullptr; }
  // Whether that one's scores are its own on all of these nodes: they are taken for its own then, and it is
  // not asked for them. Must cost much less than that.
  virtual bool sameScores(const CycleState& /*state*/, std::span<const NodeId> /*nodes*/) const {
    return false;
  }
  // Whether PreScore will return Skip for this pod, whichever nodes are feasible. When that holds
  // for all plugins that are not Signed, the best node is found without walking over the nodes.
  // Must be fast.
  virtual bool indifferent(const PodInfo& /*pod*/) { return false; }
  // Another way to ask a plugin that is not Signed, PreScore included: all of the nodes by their
  // normalised scores. nullopt: it is to be asked the usual way.
  virtual std::optional<NodeParts> scoreParts(const PodInfo& /*pod*/, const NodeSet& /*nodes*/) {
    return std::nullopt;
  }
  virtual Status normalize(const CycleState& /*state*/, const PodInfo& /*pod*/,
                           std::span<const NodeId> /*nodes*/, std::span<std::int64_t> /*scores*/) {
    return {};
  }
};

// Gives the pod, which is counted on the node by now, what else it needs there.
class ReservePlugin {
 public:
  virtual ~ReservePlugin() = default;
  // Grants in the cluster's ledgers (Cluster::regrant) are taken back with the pod.
  virtual Status reserve(CycleState& state, const PodPtr& pod, NodeId node) = 0;
  // Takes back what is not a grant. Idempotent, and also called when reserve was not (an earlier
  // plugin failed).
  virtual void unreserve(CycleState& /*state*/, const PodPtr& /*pod*/, NodeId /*node*/) {}
};

struct PermitResult {
  Status status;  // Wait: the pod waits until WaitingPod::allow, reject or the timeout
  Duration timeout{};
};
class PermitPlugin {
 public:
  virtual ~PermitPlugin() = default;
  virtual PermitResult permit(CycleState& state, const PodPtr& pod, NodeId node) = 0;
};

class PreBindPlugin {
 public:
  virtual ~PreBindPlugin() = default;
  // Skip: preBind has nothing to do for this pod.
  virtual Status preBindPreFlight(CycleState& /*state*/, const PodPtr& /*pod*/, NodeId /*node*/) {
    return {};
  }
  virtual Task<Status> preBind(CycleState& state, PodPtr pod, NodeId node) = 0;
};

class BindPlugin {
 public:
  virtual ~BindPlugin() = default;
  // Whether bind writes state.annotations(), too. Otherwise they have been written before.
  virtual bool writesAnnotations() const { return false; }
  // Whether it is about this unit at all; bind may still return Skip.
  virtual bool binds(const PodInfo& /*unit*/) const { return true; }
  // Skip: the next plugin is asked.
  virtual Task<Status> bind(CycleState& state, PodPtr pod, std::string nodeName) = 0;
};

class PostBindPlugin {
 public:
  virtual ~PostBindPlugin() = default;
  virtual void postBind(CycleState& state, const PodPtr& pod, const std::string& nodeName) = 0;
};

// Which events may make a pod schedulable that this plugin rejected. A plugin without it is asked
// again on every event.
class EnqueueExtensions {
 public:
  virtual ~EnqueueExtensions() = default;
  virtual std::vector<EventRegistration> eventsToRegister() const = 0;
};

}  // namespace koord::scheduler
