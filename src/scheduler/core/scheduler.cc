#include "scheduler/core/scheduler.h"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/core/preemption_note.h"
#include "scheduler/framework/tentative.h"

namespace koord::scheduler {

namespace {

// After this much work the scheduling loop yields to informers and replies.
constexpr Duration kSlice = std::chrono::milliseconds(2);
constexpr int kPodsPerSlice = 256;
// Timing every plugin in every attempt would cost more than some plugins.
constexpr std::uint64_t kSampleEvery = 10;

}  // namespace

Scheduler::Scheduler(SchedulerOptions options, Executor& executor, kube::Api* api,
                     Observer* observer)
    : options_(std::move(options)),
      executor_(executor),
      observer_(observer),
      shared_(executor, api),
      pending_(shared_.known.ours_),
      selfCheck_(executor, shared_.cluster, observer),
      monitor_(executor, options_.monitor, observer) {}

Scheduler::~Scheduler() {
  *alive_ = false;
  if (shared_.audit) shared_.audit->groupOf = nullptr;
}

Result<std::unique_ptr<Scheduler>> Scheduler::create(SchedulerOptions options,
                                                     const Registry& registry, Executor& executor,
                                                     kube::Api* api, Observer* observer) {
  std::unique_ptr<Scheduler> scheduler(new Scheduler(std::move(options), executor, api, observer));
  Scheduler& self = *scheduler;
  const SchedulerConfiguration& configuration = self.options_.configuration;
  self.shared_.activate = [&self](const std::vector<PodPtr>& pods) { self.queue_->activate(pods); };
  self.shared_.requeue = [&self](const std::vector<PodPtr>& pods) { self.queue_->requeue(pods); };
  self.shared_.notify = [&self](const ClusterEvent& event) {
    self.notify(event, self.executor_.steadyNow());
  };
  self.shared_.pending = [&self](const api::ObjectKey& key) { return self.pending(key); };
  self.shared_.observer = observer;
  self.shared_.gates = self.options_.gates;
  self.startAudit();
  self.shared_.podUnits.transforms = self.podTransforms();
  self.units_ = self.makeUnits();
  self.shared_.units = self.units_.get();
  Random random(self.options_.seed);
  std::vector<std::string> errors;
  if (!configuration.extenders.empty() && self.options_.http) {
    self.shared_.extenders =
        std::make_unique<Extenders>(configuration.extenders, *self.options_.http, executor, errors);
  }
  SchedulingQueue::Profiles profiles;
  std::string queueSort;
  for (const ProfileConfig& config : configuration.profiles) {
    auto runtime = std::make_unique<ProfileRuntime>(self.shared_, config, registry,
                                                    configuration.percentageOfNodesToScore,
                                                    random.fork(), errors);
    const auto& sort = runtime->profile().queueSort;
    const std::string sortName = sort.empty() ? "" : sort.front().name;
    if (queueSort.empty()) queueSort = sortName;
    if (sortName != queueSort)
      errors.push_back(config.path + ".plugins.queueSort: has to match for all profiles");
    profiles[config.schedulerName] = &runtime->profile();
    self.profiles_[config.schedulerName] = std::move(runtime);
  }
  if (!errors.empty())
    return koord::fail(ErrorCode::Invalid, fmt::format("{}", fmt::join(errors, "\n")));
  const QueueOptions queueOptions{std::chrono::seconds(configuration.podInitialBackoffSeconds),
                                  std::chrono::seconds(configuration.podMaxBackoffSeconds),
                                  self.options_.maxUnschedulable};
  self.queue_ = std::make_unique<SchedulingQueue>(executor, queueOptions, std::move(profiles),
                                                  self.shared_.nominator, [&self] { self.wake(); });
  self.watchStores();
  self.queue_->observer = observer;
  return scheduler;
}

PodFields Scheduler::podFieldsKept() const {
  PodFields fields = 0;
  for (const auto& [name, runtime] : profiles_)
    for (const auto& plugin : runtime->profile().plugins) fields |= plugin->requiredPodFields();
  return fields;
}

PodTransforms Scheduler::podTransforms() const {
  return PodTransforms::of([this](std::string_view gate) { return options_.gates.contains(gate); });
}

void Scheduler::start() {
  running_ = true;
  startControllers();
  queue_->start();
  if (options_.selfCheck) selfCheck_.start();
  monitor_.start();
  wake();
}

void Scheduler::stop() {
  running_ = false;
  controllers_.reset();
}

void Scheduler::wake() {
  if (!running_ || pumping_ || cycleRunning_) return;
  pumping_ = true;
  executor_.post([this, alive = alive_] {
    if (*alive) pump();
  });
}

void Scheduler::pump() {
  pumping_ = false;
  if (!running_) return;
  const SteadyTime until = executor_.steadyNow() + kSlice;
  for (int n = 0; n < kPodsPerSlice && binding_ < kMaxBinding; ++n) {
    auto pod = queue_->pop();
    if (!pod) return;
    scheduleNext(*std::move(pod));
    if (cycleRunning_) return;
    if (executor_.steadyNow() > until) break;
  }
  if (binding_ < kMaxBinding) wake();
}

void Scheduler::scheduleNext(QueuedPod pod) {
  auto attempt = beginAttempt(std::move(pod));
  if (!attempt) return;
  const QueuedPod& first = attempt->pod;
  if (first.group.empty() || !first.profile->groups->together(*first.info))
    return scheduleOne(std::move(attempt));
  scheduleGroup(std::move(attempt));
}

std::unique_ptr<Attempt> Scheduler::beginAttempt(QueuedPod pod) {
  const auto found = profiles_.find(pod.info->pod->spec.schedulerName);
  if (found != profiles_.end() && pod.info->pod->metadata.deletionTimestamp) {
    event(*found->second, pod.info, "Warning", "FailedScheduling", "Scheduling",
          "skip schedule deleting pod: " + pod.info->key());
  } else if (found != profiles_.end() && !shared_.cluster.findPod(pod.uid())) {
    auto attempt = std::make_unique<Attempt>();
    attempt->pod = std::move(pod);
    attempt->profile = found->second.get();
    attempt->started = executor_.steadyNow();
    attempt->sample = attempts_++ % kSampleEvery == 0;
    monitor_.begin(attempt->watch, attempt->pod.info, found->first);
    attempt->timer = AttemptTimer(observer_, executor_, found->first, attempt->sample);
    if (hooks_.attempting) hooks_.attempting(*attempt->pod.info, attempt->pod.attempts);
    if (shared_.audit) shared_.audit->attempted(*attempt->pod.info);
    return attempt;
  }
  queue_->done(pod.uid());
  return nullptr;
}

void Scheduler::scheduleOne(std::unique_ptr<Attempt> attempt) {
  cycleRunning_ = true;
  if (shared_.extenders && shared_.extenders->concerns(*attempt->pod.info->pod))
    return cycles_.spawn(scheduleWithExtenders(std::move(attempt)));
  SearchResult result =
      attempt->profile->search().find(attempt->state, attempt->pod.info, {}, attempt->timer);
  recordSearch(*attempt, result);
  if (!result.status.ok())
    return cycles_.spawn(endCycleWithFailure(std::move(attempt), std::move(result)));
  cycleRunning_ = false;
  if (assumeAndReserve(*attempt, result.node)) bindings_.spawn(bindingCycle(std::move(attempt)));
}

void Scheduler::endCycle() {
  cycleRunning_ = false;
  wake();
}

void Scheduler::recordSearch(Attempt& attempt, const SearchResult& result) {
  attempt.evaluated = result.evaluated;
  attempt.feasible = result.feasible;
  if (debug_.filterFailures) logFilterFailures(attempt, result);
  if (!observer_) return;
  observer_->algorithm(executor_.steadyNow() - attempt.started);
  observer_->searched(result.evaluated, result.feasible);
}

void Scheduler::observeExtensionPoint(const Attempt& attempt, std::string_view point, Code code,
                                      SteadyTime since) {
  if (!observer_) return;
  observer_->extensionPoint(point, code, attempt.profile->profile().schedulerName,
                            executor_.steadyNow() - since);
}

Task<void> Scheduler::endCycleWithFailure(std::unique_ptr<Attempt> attempt, SearchResult result) {
  auto concluding = handleSearchFailure(*attempt, std::move(result));
  co_await concluding;
  endCycle();
}

Task<void> Scheduler::handleSearchFailure(Attempt& attempt, SearchResult result,
                                          std::optional<Nomination> promise) {
  Nomination nomination;
  const bool rejected = result.status.rejected() && result.diagnosis.totalNodes > 0;
  if (rejected) {
    if (promise) {
      nomination = *std::move(promise);
    } else {
      auto runHandler = runPostFilter(attempt, result);
      nomination = co_await runHandler;
    }
    result.status = Status::unschedulable(result.diagnosis.message());
    if (debug_.diagnosis) dumpDiagnosis(attempt, result.diagnosis);
  } else {
    nomination = {true, ""};
  }
  attempt.keptNomination = !nomination.override;
  for (auto* plugin : attempt.profile->profile().afterPostFilter)
    guarded(observer_, "after PostFilter", "AfterPostFilter",
            [&] { plugin->afterPostFilter(attempt.state, attempt.pod.info, result.status); });
  handleSchedulingFailure(attempt, result.status, rejected ? &result.diagnosis : nullptr,
                          nomination);
}

// Resources for one member come in addition to those of the others, so these stay on their nodes
// while a plugin searches. A plugin that preempts for the whole group handles all of them itself.
PostFilterResult Scheduler::callPostFilter(const Extension<PostFilterPlugin>& plugin,
                                           Attempt& attempt, const Diagnosis& diagnosis) {
  const Profile& profile = attempt.profile->profile();
  std::optional<Cluster::Transaction> whatIf;
  if (!attempt.membersWithNode.empty() && plugin.name != profile.groupsName) {
    whatIf.emplace(shared_.cluster);
    for (const auto& [node, member] : attempt.membersWithNode) {
      if (!shared_.cluster.assume(member, node)) continue;
      for (TentativePlugin* granting : profile.offers<TentativePlugin>())
        (void)granting->grant(member, node);
    }
  }
  return plugin.point->postFilter(attempt.state, attempt.pod.info, diagnosis);
}

Task<Nomination> Scheduler::runPostFilter(Attempt& attempt, SearchResult& result) {
  Nomination nomination;
  const auto& plugins = attempt.profile->profile().postFilter;
  if (plugins.empty()) nomination = {true, ""};
  std::vector<std::string> reasons;
  PreemptionNote preemption;
  const SteadyTime since = executor_.steadyNow();
  Code code = Code::Unschedulable;
  for (const auto& plugin : plugins) {
    PostFilterResult answer = guarded(observer_, plugin.name, "PostFilter", [&] {
      return callPostFilter(plugin, attempt, result.diagnosis);
    });
    if (answer.later) {
      result.diagnosis.keepVerdicts();  // services read it while the task runs
      auto later = *std::move(answer.later);
      answer = co_await later;
    }
    const bool isLast =
        !answer.status.rejected() || answer.status.code == Code::UnschedulableAndUnresolvable;
    // What plugins before the last one could not do does not matter.
    if (isLast) reasons.clear();
    std::ranges::copy(answer.status.reasons(), std::back_inserter(reasons));
    if (answer.nomination.override) nomination = answer.nomination;
    if (observer_ && answer.victims) observer_->preemption(*answer.victims);
    note(preemption, *attempt.pod.info, answer);
    code = answer.status.code;
    if (isLast) break;
  }
  if (!plugins.empty()) observeExtensionPoint(attempt, "PostFilter", code, since);
  result.diagnosis.postFilterMessage = fmt::format("{}", fmt::join(reasons, ", "));
  auditPreemption(preemption, *attempt.pod.info);
  co_return nomination;
}

// A pod without a group is a placement of one.
bool Scheduler::assumeAndReserve(Attempt& attempt, NodeId node) {
  if (debug_.topScores > 0) printScores(attempt);
  Placement placement(shared_);
  const Status status = placement.assumeAndReserve(attempt, node);
  if (status.ok()) {
    placement.commit();
  } else {
    // The reverted placement was not visible to other pods: none must be woken.
    handleRejection(attempt, status, {true, ""});
  }
  return status.ok();
}

}  // namespace koord::scheduler
