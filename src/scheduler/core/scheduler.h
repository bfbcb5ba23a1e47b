#pragma once

// Scheduler: takes pods from the queue one by one, finds a node for each, and binds them in the
// background.
//
// Its owner (informers.h, or a test) delivers pods and nodes. It writes through the Api: bindings,
// pod conditions, events. All state follows from the delivered objects, so the process can be
// killed and restarted at any moment: unbound pods are new then. A pod counts on its node from the
// selection of the node (assumed) until the API shows the binding or the binding has definitely
// failed.
//
// Not thread-safe: everything runs on the executor's thread.

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
  bool selfCheck = true;               // off: for simulations, where its cost counts
  net::HttpTransport* http = nullptr;  // for extenders, if there are any; must outlive
  std::vector<std::string> controllerPlugins{
      "*"};  // whose controllers run (framework/controller.h)
  // Enabled feature gates and flags of plugins.
  std::set<std::string, std::less<>> gates{"DRAAdminAccess",
                                           "DRAConsumableCapacity",
                                           "DRADeviceBindingConditions",
                                           "DRADeviceTaints",
                                           "DRAExtendedResource",
                                           "DRAPartitionableDevices",
                                           "DRAPrioritizedList",
                                           "DRASchedulerFilterTimeout",
                                           "DRAResourceClaimDeviceStatus",
                                           "DynamicResourceAllocation",
                                           "DynamicSchedulerCheck"};
  AttemptMonitor::Options monitor;
  WorkloadAudit* audit = nullptr;  // receives the history of every workload; must outlive
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

  // --- The objects of the cluster. Repeated calls with the same object are harmless.
  using PodObject = std::shared_ptr<const api::Pod>;
  using NodeObject = std::shared_ptr<const api::Node>;
  void podAdded(const PodObject& pod) {
    if (hooks_.podChanging) hooks_.podChanging(nullptr, pod);
    unitAdded(pod, nullptr);
  }
  void podUpdated(const PodObject& before, const PodObject& after) {
    if (hooks_.podChanging) hooks_.podChanging(before, after);
    unitUpdated(before, after, nullptr);
  }
  void podDeleted(const PodObject& pod);
  void nodeAdded(const NodeObject& node);
  void nodeUpdated(const NodeObject& before, const NodeObject& after);
  void nodeDeleted(const NodeObject& node);
  Stores& stores() { return shared_.stores; }
  // The fields of running pods that the plugins of any profile need.
  PodFields podFieldsKept() const;
  // The conversions that informers apply to pods, in addition to transformNode for nodes.
  PodTransforms podTransforms() const;

  // Starts scheduling and the controllers of plugins. Call when all objects have been delivered and
  // this process leads.
  void start();
  // Stops taking pods from the queue, and the controllers. Running bindings continue.
  void stop();
  bool running() const { return running_; }
  std::size_t bindingsInFlight() const { return bindings_.size(); }

  // --- For services and tests.
  const Cluster& cluster() const { return shared_.cluster; }
  SchedulingQueue& queue() { return *queue_; }
  const SchedulingQueue& queue() const { return *queue_; }
  const DecisionLog& decisions() const { return decisions_; }
  const std::map<std::string, std::unique_ptr<ProfileRuntime>, std::less<>>& profiles() const {
    return profiles_;
  }
  // The pending pod of that name; nullptr if there is none.
  PodPtr pending(const api::ObjectKey& key) const;
  const std::unordered_map<std::string, PodPtr>& pendingPods() const { return pending_; }  // by uid
  PodPtr describe(const PodObject& pod) { return makePodInfo(shared_.cluster, pod); }
  struct Debug {
    int topScores = 0;             // prints a table of this many best nodes for every pod
    bool filterFailures = false;   // logs a line for every node that rejects a pod
    bool diagnosis = false;        // logs a document for every failed attempt, when idle
    bool diagnosisAtOnce = false;  // logs it before the next pod is scheduled
    int diagnosisQueue = 1000;     // maximum number of waiting documents; more are dropped
  };
  Debug& debug() { return debug_; }
  // For recordings and shadows. They must not change anything.
  struct Hooks {
    // Before a pod that was added, changed or deleted is counted; nullptr: it did not exist before,
    // or does not exist afterwards.
    std::function<void(const PodObject& before, const PodObject& after)> podChanging;
    std::function<void(const PodInfo& pod, int attempt)> attempting;  // before the search
    std::function<void(const std::string& pod, const Decision& decision)> decided;
  };
  Hooks& hooks() { return hooks_; }
  const SchedulerConfiguration& configuration() const { return options_.configuration; }
  // The age of the oldest attempt of each profile.
  std::map<std::string, Duration> oldestAttempts() const { return monitor_.oldest(); }

 private:
  // The maximum number of concurrent binds. Placing pods is much faster than binding them, and this
  // many writes keep the API server busy. Further pods cost less in the queue.
  static constexpr std::size_t kMaxBinding = 128;

  Scheduler(SchedulerOptions options, Executor& executor, kube::Api* api, Observer* observer);

  // scheduler.cc
  void wake();
  void pump();
  void scheduleNext(QueuedPod pod);
  // Begins an attempt; nullptr if the pod must not be scheduled.
  std::unique_ptr<Attempt> beginAttempt(QueuedPod pod);
  void scheduleOne(std::unique_ptr<Attempt> attempt);
  // For metrics and the debugging log.
  void recordSearch(Attempt& attempt, const SearchResult& result);
  // Reports the duration of an extension point whose plugins are asynchronous.
  void observeExtensionPoint(const Attempt& attempt, std::string_view point, Code code,
                             SteadyTime since);
  // Assumes the pod on the node and runs Reserve and Permit. Handles a failure and returns false.
  bool assumeAndReserve(Attempt& attempt, NodeId node);
  // Ends the scheduling cycle; the next pod may be scheduled.
  void endCycle();
  // Called when the attempt found no node.
  Task<void> endCycleWithFailure(std::unique_ptr<Attempt> attempt, SearchResult result);
  // Runs PostFilter plugins (preemption) for a rejected pod, then handles the failure. With a
  // `promise` they are not called: it replaces their nomination.
  Task<void> handleSearchFailure(Attempt& attempt, SearchResult result,
                                 std::optional<Nomination> promise = std::nullopt);
  Task<Nomination> runPostFilter(Attempt& attempt, SearchResult& result);
  PostFilterResult callPostFilter(const Extension<PostFilterPlugin>& plugin, Attempt& attempt,
                                  const Diagnosis& diagnosis);

  // auditing.cc
  void startAudit();
  // The results of PostFilter plugins; the most significant one is reported.
  struct PreemptionNote;
  void note(PreemptionNote& note, const PodInfo& pod, const PostFilterResult& answer) const;
  void auditPreemption(const PreemptionNote& note, const PodInfo& pod) const;

  // controllers.cc
  void startControllers();

  // debugging.cc
  void printScores(Attempt& attempt);
  void logFilterFailures(Attempt& attempt, const SearchResult& result);
  void dumpDiagnosis(const Attempt& attempt, const Diagnosis& diagnosis);

  // extender_cycle.cc
  Task<void> scheduleWithExtenders(std::unique_ptr<Attempt> attempt);
  // A search with extenders. The attempt's pod may be deleted before it ends.
  Task<SearchResult> searchWithExtenders(Attempt& attempt, SearchScope scope);
  // False if the attempt's pod was deleted or assigned during an asynchronous call.
  bool stillNeedsNode(const Attempt& attempt) const;
  Task<Result<ExtenderVerdicts>> callExtenders(Attempt& attempt, const NodeSet& nodes);

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

  // group_cycle_search.cc
  // Looks for other nodes for the members of a group that were refused in the domain; nullptr: all
  // nodes. nullopt if there are none or not worth looking for: the members stay as they are.
  Task<std::optional<Status>> searchDomain(const std::string& group, std::vector<Member>& members,
                                           const GroupDomain* domain);
  class MembersToPlace;
  bool isWorthSearching(const std::vector<Member>& members) const;
  Task<Status> judgeFound(const std::string& group, std::vector<Member>& members,
                          const GroupDomain* domain, Placement& placement);
  // How to finish the members of a rejected group after the member that failed.
  struct GroupEnd {
    bool runPostFilters = true;
    // Nominations of the other members. Made: where they were placed, because victims of the failed
    // member terminate. Waits: the same, but those whose own victims still terminate keep theirs,
    // because the group waits for victims of an earlier attempt. Keep: unchanged, because the next
    // attempt may not meet the same refusal by Reserve or Permit, or the same error. End: cleared,
    // because there are no victims.
    enum class Nominations { Made, Waits, Keep, End } nominations = Nominations::End;
    std::shared_ptr<GroupBinding> together;  // members whose bindings begin
  };
  Task<void> finishMember(Member& member, const Status& verdict, GroupEnd end);
  Nomination nominationFor(const Member& member, GroupEnd::Nominations nominations) const;
  GroupEnd::Nominations nominationsAfter(const std::vector<Member>& members,
                                         const Member* cause) const;
  static Cluster::PodsOnNodes placesOf(const std::vector<Member>& members);
  void observeMembers(const std::vector<Member>& members, const Status& verdict);

  // binding.cc
  Task<void> bindingCycle(std::unique_ptr<Attempt> attempt);
  // Checks that the pod, which may have waited for long, must still be bound by this profile. Skip:
  // it is gone.
  Status recheckBeforeBind(const Attempt& attempt) const;
  // Determines the plugins whose PreBind will run.
  Status runPreBindPreFlight(Attempt& attempt);
  // For metrics of a pod that was placed with its group.
  void bindingEnded(const Attempt& attempt, bool bound);
  Task<Status> waitForPermit(Attempt& attempt);
  Task<Status> preBind(Attempt& attempt);
  // For binders that do not write annotations.
  Task<Status> annotateBeforeBind(Attempt& attempt);
  Task<Status> bind(Attempt& attempt);
  // Reads the pod from the API after a failed bind. Retries until there is an answer.
  enum class BindOutcome { Bound, Unbound, Gone, Elsewhere };
  Task<BindOutcome> confirmBinding(Attempt& attempt);
  // Forgets the assumed pod and files the failure.
  void handleBindingError(Attempt& attempt, const Status& status);
  // The pod is gone or belongs to another scheduler: forgets it without a report.
  void abandonBinding(Attempt& attempt, std::string_view why);
  void dropBinding(const std::string& uid);
  // Returns true if a given-up binding of the pod is still running. No other attempt starts until
  // it ends.
  bool isAbandoned(const std::string& uid) const;
  void releaseIfDeleted(const Attempt& attempt);
  void handleBindingSuccess(Attempt& attempt);

  // failure.cc
  // Handles the failure of a pod that was assumed and is forgotten; wakes other pods, because its
  // resources are free.
  void handlePlacementFailure(Attempt& attempt, const Status& status);
  bool groupIsNominated(const Attempt& attempt) const;
  void recordDecision(const PodInfo& pod, Decision decision);
  // A plugin rejected the pod on its node, or with its group. nodes: the number of nodes in the
  // message.
  void handleRejection(Attempt& attempt, const Status& status, const Nomination& nomination,
                       std::size_t nodes = 1);
  // Puts the pod back into the queue, reports the reason in event, condition and log, and keeps its
  // nomination.
  void handleSchedulingFailure(Attempt& attempt, const Status& status, Diagnosis* diagnosis,
                               const Nomination& nomination);
  void event(ProfileRuntime& profile, const PodPtr& pod, std::string_view type,
             std::string_view reason, std::string_view action, const std::string& note);

  // handlers.cc
  class Units;
  std::unique_ptr<UnitFeed> makeUnits();
  void unitAdded(const PodObject& unit, UnitKind* kind);
  void unitUpdated(const PodObject& before, const PodObject& after, UnitKind* kind);
  bool isResponsibleFor(const api::Pod& pod) const;
  void onUnassignedPod(const PodPtr& pod);
  void onUnassignedPodDeleted(const PodPtr& pod);
  void pendingAdded(const PodPtr& pod);
  void pendingUpdated(const PodPtr& before, const PodPtr& after);
  void pendingGone(const PodPtr& pod, bool deleted);
  void onAssignedPod(const PodPtr& before, const PodPtr& after);
  void onAssignedPodDeleted(const PodObject& pod);
  class HandlingTimer;
  void watchStores();
  // Passes an event to the queue. `since`: when the scheduler began to handle it.
  void notify(const ClusterEvent& event, SteadyTime since);
  // Moves pods in the queue that this event may help.
  void notifyPodEvent(EventResource resource, Actions actions, const PodPtr& before,
                      const PodPtr& after, const std::function<bool(const PodInfo&)>& affects = {});
  void notifyNominationEnded(const PodPtr& pod);
  // An assumed pod, whose binding was never observed, has left its node.
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
  std::unordered_map<std::string, Attempt*> inFlight_;  // binding cycles, by uid
  std::size_t binding_ = 0;                             // of these, those in Bind
  SelfCheck selfCheck_;
  AttemptMonitor monitor_;
  DecisionLog decisions_;
  Debug debug_;
  Hooks hooks_;
  int diagnosesWaiting_ = 0;
  bool running_ = false;
  std::uint64_t attempts_ = 0;
  bool pumping_ = false;
  bool cycleRunning_ = false;  // a scheduling cycle waits for an answer; the next one waits for it
  TaskGroup cycles_;
  TaskGroup bindings_;
  TaskGroup reports_;
  std::unique_ptr<TaskGroup> controllers_;  // while running
  // Set to false on destruction: posted callbacks check it first.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace koord::scheduler
