#pragma once

// Scheduler: takes pods from the queue one by one, finds a node for each, and binds them in the
// background.
//
// It is fed with pods and nodes by whoever runs it (informers.h, or a test) and writes through the
// Api: bindings, pod conditions, events. All state comes from what it is fed, so it can be killed
// and started at any moment: unbound pods are simply new. A pod is counted on its node from the
// moment the node is chosen (assumed) until the API shows the binding or the binding has failed for
// certain.
//
// One actor: everything runs on the executor's thread.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "scheduler/core/attempt_monitor.h"
#include "scheduler/core/decision_log.h"
#include "scheduler/core/placement.h"
#include "scheduler/core/self_check.h"
#include "scheduler/framework/audit.h"
#include "scheduler/framework/known_pods.h"
#include "scheduler/framework/observer.h"
#include "scheduler/framework/transforms.h"
#include "scheduler/queue/scheduling_queue.h"

namespace koord::scheduler {

struct SchedulerOptions {
  SchedulerConfiguration configuration;
  Duration maxUnschedulable = std::chrono::minutes(5);
  std::uint64_t seed = 1;
  net::HttpTransport* http = nullptr;  // the way to extenders, when there are some; must outlive
  std::vector<std::string> controllerPlugins{
      "*"};  // whose controllers run (framework/controller.h)
  // Feature gates, and flags of plugins, that are on.
  std::set<std::string, std::less<>> gates{"DynamicSchedulerCheck"};
  AttemptMonitor::Options monitor;
  WorkloadAudit* audit = nullptr;  // who follows every workload; must outlive
};

class Scheduler {
 public:
  // The error lists every problem of the configuration, one per line.
  static Result<std::unique_ptr<Scheduler>> create(SchedulerOptions options,
                                                   const Registry& registry, Executor& executor,
                                                   kube::Api* api, Observer* observer = nullptr);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // --- What the cluster looks like. Calls with the same object twice are harmless.
  using PodObject = std::shared_ptr<const api::Pod>;
  using NodeObject = std::shared_ptr<const api::Node>;
  void podAdded(const PodObject& pod) { unitAdded(pod, nullptr); }
  void podUpdated(const PodObject& before, const PodObject& after) {
    unitUpdated(before, after, nullptr);
  }
  void podDeleted(const PodObject& pod);
  void nodeAdded(const NodeObject& node);
  void nodeUpdated(const NodeObject& before, const NodeObject& after);
  void nodeDeleted(const NodeObject& node);
  Stores& stores() { return shared_.stores; }
  // What the plugins of any profile need of running pods.
  PodFields podFieldsKept() const;
  // What is to be read differently in pods; informers do that, as they do transformNode.
  PodTransforms podTransforms() const;

  // Begins to schedule, and runs the controllers of plugins, once the state is complete (and this
  // process leads).
  void start();
  // Stops taking pods from the queue, and the controllers; bindings under way go on.
  void stop();
  std::size_t bindingsUnderWay() const { return bindings_.size(); }

  // --- For services and tests.
  const Cluster& cluster() const { return shared_.cluster; }
  SchedulingQueue& queue() { return *queue_; }
  const SchedulingQueue& queue() const { return *queue_; }
  const DecisionLog& decisions() const { return decisions_; }
  const std::map<std::string, std::unique_ptr<ProfileRuntime>, std::less<>>& profiles() const {
    return profiles_;
  }
  // The pending pod of that name, or nullptr.
  PodPtr pending(const api::ObjectKey& key) const;
  const std::unordered_map<std::string, PodPtr>& pendingPods() const { return pending_; }  // by uid
  PodPtr describe(const PodObject& pod) { return makePodInfo(shared_.cluster, pod); }
  struct Debug {
    int topScores = 0;            // print a table of this many best nodes for every pod
    bool filterFailures = false;  // a line for every node that rejects a pod
    bool diagnosis = false;  // a document about every failed attempt, written when there is time
    bool diagnosisAtOnce = false;  // ... or before the next pod is scheduled
    int diagnosisQueue = 1000;     // documents that may wait; more are dropped
  };
  Debug& debug() { return debug_; }
  const SchedulerConfiguration& configuration() const { return options_.configuration; }
  // How long the oldest attempt of each profile has been going on.
  std::map<std::string, Duration> oldestAttempts() const { return monitor_.oldest(); }

 private:
  // Placing pods is much faster than writing down where they go. So many writes keep the API server
  // busy; further pods are better off in the queue, where they cost less.
  static constexpr std::size_t kMaxBinding = 128;

  Scheduler(SchedulerOptions options, Executor& executor, kube::Api* api, Observer* observer);

  // scheduler.cc
  void wake();
  void pump();
  void scheduleNext(QueuedPod pod);
  // The beginning of an attempt; nullptr when the pod is not to be scheduled.
  std::unique_ptr<Attempt> beginAttempt(QueuedPod pod);
  void scheduleOne(std::unique_ptr<Attempt> attempt);
  // For metrics and the debugging log.
  void recordSearch(Attempt& attempt, const SearchResult& result);
  // Tells the metrics how long an extension point took whose plugins may wait for answers.
  void observeExtensionPoint(const Attempt& attempt, std::string_view point, Code code,
                             SteadyTime since);
  // Assumes the pod on the node and runs Reserve and Permit; files the failure where that fails.
  bool assumeAndReserve(Attempt& attempt, NodeId node);
  // Ends the scheduling cycle: the next pod may come.
  void endCycle();
  // The attempt found no node.
  Task<void> endCycleWithFailure(std::unique_ptr<Attempt> attempt, SearchResult result);
  // Runs PostFilter plugins (preemption) for a pod that was rejected, then files the failure. With a
  // promise they are not asked: it is what they would have come to.
  Task<void> handleSearchFailure(Attempt& attempt, SearchResult result,
                                 std::optional<Nomination> promise = std::nullopt);
  Task<Nomination> runPostFilter(Attempt& attempt, SearchResult& result);
  PostFilterResult askPostFilter(const Extension<PostFilterPlugin>& plugin, Attempt& attempt,
                                 const Diagnosis& diagnosis);

  // auditing.cc
  void startAudit();
  // What a PostFilter plugin said, of which the most telling is told.
  struct PreemptionNote;
  void note(PreemptionNote& note, const PodInfo& pod, const PostFilterResult& answer) const;
  void tell(const PreemptionNote& note, const PodInfo& pod) const;

  // controllers.cc
  void startControllers();

  // debugging.cc
  void printScores(Attempt& attempt);
  void logFilterFailures(Attempt& attempt, const SearchResult& result);
  void dumpDiagnosis(const Attempt& attempt, const Diagnosis& diagnosis);

  // extender_cycle.cc
  Task<void> scheduleWithExtenders(std::unique_ptr<Attempt> attempt);
  // A search in which extenders have a say; the attempt's pod may be gone when it ends.
  Task<SearchResult> searchWithExtenders(Attempt& attempt, SearchScope scope);
  // False when the pod of the attempt was deleted or assigned while something was waited for.
  bool stillNeedsNode(const Attempt& attempt) const;
  Task<Result<ExtenderVerdicts>> askExtenders(Attempt& attempt, const NodeSet& nodes);

  // group_cycle.cc
  struct Member;
  void scheduleGroup(std::unique_ptr<Attempt> first);
  Task<void> placeGroup(std::string group, std::vector<Member> members);
  Task<Status> tryGroup(const std::string& group, std::vector<Member>& members);
  Task<Status> tryDomain(const std::string& group, std::vector<Member>& members,
                         std::span<const PodPtr> pods, const GroupDomain* domain);
  static void noteGroup(const std::string& group, std::vector<Member>& members,
                        const Member* cause);
  static Status refusePlan(const std::string& group, std::vector<Member>& members,
                           std::span<const PodPtr> pods, GroupPlan plan);
  Task<void> tryMember(Member& member, const SearchScope& scope, Placement& placement);
  // What is left of a refused group when the member that it failed for has been dealt with.
  struct GroupEnd {
    bool askPostFilters = true;
    // Those of the others: where they were placed as well, when victims leave for the one that failed; as
    // they are, when the try says nothing of them; or none, when nobody leaves.
    enum class Promises { Made, Stay, End } promises = Promises::End;
    std::shared_ptr<GroupBinding> together;  // those that are let go to be bound
  };
  Task<void> finishMember(Member& member, const Status& verdict, GroupEnd end);
  Nomination promiseTo(const Member& member, GroupEnd::Promises promises) const;
  GroupEnd::Promises promisesAfter(const std::vector<Member>& members, const Member* cause) const;
  static Cluster::PodsOnNodes placesOf(const std::vector<Member>& members);
  void observeMembers(const std::vector<Member>& members, const Status& verdict);

  // binding.cc
  Task<void> bindingCycle(std::unique_ptr<Attempt> attempt);
  // Whether the pod, which may have waited for long, is still to be bound, and by this profile. Skip:
  // it is gone.
  Status recheckBeforeBind(const Attempt& attempt) const;
  // Finds out whose PreBind will run.
  Status runPreBindPreFlight(Attempt& attempt);
  // For metrics, of a pod that was placed with its group.
  void bindingEnded(const Attempt& attempt, bool bound);
  Task<Status> waitForPermit(std::string uid);
  Task<Status> preBind(Attempt& attempt);
  // For binders that do not write annotations themselves.
  Task<Status> annotateBeforeBind(Attempt& attempt);
  Task<Status> bind(Attempt& attempt);
  // After a bind that did not succeed: what the API says of the pod. Asks until there is an answer.
  enum class BindOutcome { Bound, Unbound, Gone, Elsewhere };
  Task<BindOutcome> confirmBinding(Attempt& attempt);
  // Forgets the assumed pod and files the failure.
  void handleBindingError(Attempt& attempt, const Status& status);
  // The pod is gone, or somebody else's to bind: forgets it without a report.
  void abandonBinding(Attempt& attempt, std::string_view why);
  void giveUpBinding(const std::string& uid);
  // Whether a binding of it was, and has not ended; until then there is no other attempt.
  bool givenUp(const std::string& uid) const;
  void releaseIfDeleted(const Attempt& attempt);
  void handleBindingSuccess(Attempt& attempt);

  // failure.cc
  // The pod was assumed on a node and is forgotten again: files that and wakes others for the room.
  void handlePlacementFailure(Attempt& attempt, const Status& status);
  bool groupIsPromised(const Attempt& attempt) const;
  // A plugin rejects the pod as a whole: on the node that was found, or with its group. nodes: how
  // many of them its message counts.
  void handleRejection(Attempt& attempt, const Status& status, const Nomination& nomination,
                       std::size_t nodes = 1);
  // Puts the pod back into the queue, says why in event, condition and log, keeps its nomination.
  void handleSchedulingFailure(Attempt& attempt, const Status& status, Diagnosis* diagnosis,
                               const Nomination& nomination);
  void event(ProfileRuntime& profile, const PodPtr& pod, std::string_view type,
             std::string_view reason, std::string_view action, const std::string& note);

  // handlers.cc
  class Units;
  std::unique_ptr<UnitFeed> makeUnits();
  void unitAdded(const PodObject& unit, UnitKind* kind);
  void unitUpdated(const PodObject& before, const PodObject& after, UnitKind* kind);
  bool responsible(const api::Pod& pod) const;
  void otherSeen(const PodPtr& pod);
  void otherGone(const PodPtr& pod);
  void pendingAdded(const PodPtr& pod);
  void pendingUpdated(const PodPtr& before, const PodPtr& after);
  void pendingGone(const PodPtr& pod, bool deleted);
  void assignedSeen(const PodPtr& before, const PodPtr& after);
  void assignedGone(const PodObject& pod);
  class HandlingTimer;
  void watchStores();
  // Tells the queue of something that the scheduler began to deal with at `since`.
  void notify(const ClusterEvent& event, SteadyTime since);
  // Moves pods of the queue that this may help.
  void notifyPodEvent(EventResource resource, Actions actions, const PodPtr& before,
                      const PodPtr& after, const std::function<bool(const PodInfo&)>& affects = {});
  // An assumed pod, never seen as bound, has left its node.
  void notifyAssumedPodGone(const PodInfo& pod, const std::string& node,
                            const std::function<bool(const PodInfo&)>& affects = {});

  SchedulerOptions options_;
  Executor& executor_;
  Observer* observer_;
  Shared shared_;
  std::unique_ptr<UnitFeed> units_;
  std::map<std::string, std::unique_ptr<ProfileRuntime>, std::less<>> profiles_;
  std::unique_ptr<SchedulingQueue> queue_;
  KnownPods::Waiting& pending_;  // unassigned pods of our profiles, by uid
  std::unordered_map<api::ObjectKey, std::string> pendingUids_;
  std::unordered_map<std::string, Attempt*> underWay_;  // binding cycles, by uid
  std::size_t binding_ = 0;                             // of these, in Bind
  SelfCheck selfCheck_;
  AttemptMonitor monitor_;
  DecisionLog decisions_;
  Debug debug_;
  int diagnosesWaiting_ = 0;
  bool running_ = false;
  std::uint64_t attempts_ = 0;
  bool pumping_ = false;
  bool cycling_ = false;  // a scheduling cycle waits for an answer; the next one has to wait for it
  TaskGroup cycles_;
  TaskGroup bindings_;
  TaskGroup reports_;
  std::unique_ptr<TaskGroup> controllers_;  // while running
  // Cleared on destruction: posted callbacks look at it first.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace koord::scheduler
