#include "scheduler/app/instance.h"

#include "base/log.h"
#include "scheduler/engine/run_guarded.h"

namespace koord::scheduler {

Result<std::unique_ptr<Instance>> Instance::create(InstanceSettings settings,
                                                   const Registry& registry,
                                                   InstanceSurroundings surroundings) {
  settings.scheduler.audit = surroundings.auditor.get();
  settings.scheduler.http = surroundings.http;
  std::unique_ptr<ReadOnlyApi> readOnly;
  if (!settings.shadow.incumbent.empty())
    readOnly = std::make_unique<ReadOnlyApi>(surroundings.api);
  kube::Api* api = readOnly ? readOnly.get() : &surroundings.api;
  auto scheduler = Scheduler::create(std::move(settings.scheduler), registry, surroundings.executor,
                                     api, &surroundings.metrics);
  if (!scheduler) return fail(std::move(scheduler.error()));
  (*scheduler)->debug() = settings.debug;
  return std::unique_ptr<Instance>(new Instance(*std::move(scheduler), std::move(readOnly),
                                                std::move(settings), std::move(surroundings)));
}

Instance::Instance(std::unique_ptr<Scheduler> scheduler, std::unique_ptr<ReadOnlyApi> readOnly,
                   InstanceSettings settings, InstanceSurroundings surroundings)
    : auditor_(std::move(surroundings.auditor)),
      readOnly_(std::move(readOnly)),
      scheduler_(std::move(scheduler)),
      shadow_(readOnly_ ? std::make_unique<Shadow>(std::move(settings.shadow), *scheduler_,
                                                   surroundings.executor, *readOnly_)
                        : nullptr),
      api_(readOnly_ ? *readOnly_ : surroundings.api),
      informers_(api_, surroundings.executor, *scheduler_, Random(settings.seed).fork(),
                 shadow_ ? Shadow::kPodFields : PodFields{0}),
      waits_(settings.barrier.enabled && scheduler_->configuration().leaderElection.leaderElect),
      barrier_(api_, surroundings.executor, std::move(settings.barrier),
               scheduler_->configuration().leaderElection.resourceName,
               [this](const api::ObjectKey& pod) { return informers_.versionOf(pod); }),
      explanations_(*scheduler_, api_, surroundings.executor),
      service_(*scheduler_, surroundings.metrics, surroundings.serving,
               serviceState(std::move(surroundings.service))),
      handler_(service_.handler()) {
  if (shadow_ || !surroundings.history) return;
  scheduler_->hooks().podChanging = [history = surroundings.history](const auto& before,
                                                                     const auto& after) {
    runGuarded("the history of runs", "a change of a pod",
               [&] { history->podChanging(before, after); });
  };
}

Instance::~Instance() = default;

ServiceState Instance::serviceState(ServiceState state) {
  state.leading = [this] { return leading_ || (shadow_ && informers_.synced()); };
  state.synced = [this] { return informers_.synced(); };
  if (shadow_) {
    state.shadowReport = [this] { return shadow_->report(); };
    state.shadowMetrics = [this] { return shadow_->metricsText(); };
  }
  if (auditor_) {
    state.auditMetrics = [this] { return auditor_->metrics(); };
    state.resetAudit = [this] { auditor_->resetMetrics(); };
  }
  return state;
}

void Instance::start() {
  informers_.start();
  if (shadow_) informers_.onSynced([this] { shadow_->start(); });
}

void Instance::lead() {
  leading_ = true;
  informers_.onSynced([this] {
    if (waits_) return tasks_.spawn(passBarrier());
    schedule();
  });
}

Task<void> Instance::passBarrier() {
  auto passing = barrier_.pass();
  co_await passing;
  schedule();
}

void Instance::schedule() {
  if (stopping_) return;
  log::info("scheduling {} nodes; profiles: {}", scheduler_->cluster().liveCount(),
            scheduler_->profiles().size());
  scheduler_->start();
  explanations_.start();
}

void Instance::stop() {
  stopping_ = true;
  scheduler_->stop();
}

void Instance::handle(net::ServerRequest request, std::shared_ptr<net::Responder> to) {
  handler_(std::move(request), std::move(to));
}

recording::DecisionText textOf(const std::string& pod, const Decision& decision) {
  return {pod, decision.attempt, decision.result, decision.node,
          decision.result == "scheduled" ? std::string() : decision.message};
}

}  // namespace koord::scheduler
