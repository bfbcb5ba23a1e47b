#include "scheduler/app/instance.h"

#include "base/log.h"

namespace koord::scheduler {

Result<std::unique_ptr<Instance>> Instance::create(InstanceSettings settings,
                                                   const Registry& registry,
                                                   InstanceSurroundings surroundings) {
  settings.scheduler.audit = surroundings.auditor.get();
  settings.scheduler.http = surroundings.http;
  auto scheduler = Scheduler::create(std::move(settings.scheduler), registry, surroundings.executor,
                                     &surroundings.api, &surroundings.metrics);
  if (!scheduler) return fail(std::move(scheduler.error()));
  (*scheduler)->debug() = settings.debug;
  return std::unique_ptr<Instance>(new Instance(*std::move(scheduler), Random(settings.seed),
                                                std::move(settings.barrier),
                                                std::move(surroundings)));
}

Instance::Instance(std::unique_ptr<Scheduler> scheduler, Random random, SyncBarrierOptions barrier,
                   InstanceSurroundings surroundings)
    : auditor_(std::move(surroundings.auditor)),
      scheduler_(std::move(scheduler)),
      informers_(surroundings.api, surroundings.executor, *scheduler_, random.fork()),
      waits_(barrier.enabled && scheduler_->configuration().leaderElection.leaderElect),
      barrier_(surroundings.api, surroundings.executor, std::move(barrier),
               scheduler_->configuration().leaderElection.resourceName,
               [this](const api::ObjectKey& pod) { return informers_.versionOf(pod); }),
      explanations_(*scheduler_, surroundings.api, surroundings.executor),
      service_(*scheduler_, surroundings.metrics, surroundings.serving,
               serviceState(std::move(surroundings.service))),
      handler_(service_.handler()) {}

Instance::~Instance() = default;

ServiceState Instance::serviceState(ServiceState state) {
  state.leading = [this] { return leading_; };
  state.synced = [this] { return informers_.synced(); };
  if (auditor_) {
    state.auditMetrics = [this] { return auditor_->metrics(); };
    state.resetAudit = [this] { auditor_->resetMetrics(); };
  }
  return state;
}

void Instance::start() {
  informers_.start();
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
