#include "scheduler/app/app.h"

#include <fmt/format.h>

#include <filesystem>
#include <tuple>

#include "api/core.h"
#include "base/file.h"
#include "base/log.h"
#include "base/virtual_loop.h"
#include "kube/client.h"
#include "kube/events.h"
#include "kube/http_api.h"
#include "kube/leader_election.h"
#include "kube/secure_serving.h"
#include "net/http_client.h"
#include "net/serving.h"
#include "net/tls.h"
#include "scheduler/app/feature_gates.h"
#include "scheduler/auditor/auditor.h"
#include "scheduler/core/informers.h"
#include "scheduler/services/explanation_writer.h"
#include "scheduler/services/http_service.h"

namespace koord::scheduler {

namespace {

class App final : public RunningScheduler {
 public:
  App(kube::Component& component, std::unique_ptr<Metrics> metrics,
      std::unique_ptr<Auditor> auditor, std::unique_ptr<Scheduler> scheduler, net::MetricsPage page,
      std::vector<std::pair<std::string, std::string>> flags, bool openDebugFlags,
      SyncBarrierOptions barrier)
      : component_(component),
        metrics_(std::move(metrics)),
        auditor_(std::move(auditor)),
        scheduler_(std::move(scheduler)),
        events_(component.api(), component.executor(),
                scheduler_->configuration().profiles.front().schedulerName,
                component.random().fork()),
        informers_(component.api(), component.executor(), *scheduler_, component.random().fork()),
        waits_(barrier.enabled && scheduler_->configuration().leaderElection.leaderElect),
        barrier_(component.api(), component.executor(), std::move(barrier),
                 scheduler_->configuration().leaderElection.resourceName,
                 [this](const api::ObjectKey& pod) { return informers_.versionOf(pod); }),
        explanations_(*scheduler_, component.api(), component.executor()),
        service_(
            *scheduler_, *metrics_, component.executor(),
            {.leading = [this] { return leading_; },
             .unhealthy = [this] { return unhealthy(); },
             .synced = [this] { return informers_.synced(); },
             .stopping = [this] { return stopping_; },
             .clientMetrics =
                 [this] { return component_.metrics()->text(component_.executor().steadyNow()); },
             .auditMetrics = [this] { return auditor_ ? auditor_->metrics() : ""; },
             .resetAudit =
                 [this] {
                   if (auditor_) auditor_->resetMetrics();
                 },
             .page = std::move(page),
             .flags = std::move(flags),
             .openDebugFlags = openDebugFlags}) {}

  Result<> serve(const Flags& flags) {
    if (flags.port != 0) {
      net::ServerOptions options;
      options.listen = fmt::format("{}:{}", flags.address, flags.port);
      if (auto server = listen(std::move(options), service_.handler()); !server)
        return fail(std::move(server.error()));
    }
    if (flags.secure.port == 0) return {};
    auto secure = kube::SecureServing::start(component_, flags.secure, service_.handler());
    if (!secure) return fail(std::move(secure.error()));
    secure_ = *std::move(secure);
    return {};
  }

  Scheduler& scheduler() override { return *scheduler_; }

  void start() {
    const kube::ElectionConfig& election = scheduler_->configuration().leaderElection;
    if (!election.leaderElect) {
      informers_.start();
      lead();
      return;
    }
    if (!scheduler_->configuration().delayCacheUntilActive) informers_.start();
    kube::LeaderElectionOptions options = kube::electionOptions(election);
    options.identity = kube::makeIdentity(component_.random());
    options.metrics = component_.metrics();
    if (secure_)
      options.annotations = [this] {
        return std::map<std::string, std::string>{
            {kube::kServingCertificate, secure_->certificate()}};
      };
    elector_ = std::make_unique<kube::LeaderElector>(
        component_.api(), component_.executor(), options, component_.random().fork(),
        [this, identity = options.identity] {
          notify(identity + " became leader");
          if (scheduler_->configuration().delayCacheUntilActive) informers_.start();
          lead();
        },
        [this] {
          log::error("leader election lost");
          scheduler_->stop();
          component_.exit(1);
        });
    elector_->start();
  }

  void stop(Callback done) override {
    if (std::exchange(stopping_, true)) return;  // second signal: the first one ends it
    scheduler_->stop();
    // Running bindings get a moment; the next leader finds unfinished ones in the API.
    drain(50, std::move(done));
  }
  // It may be interrupted.
  ~App() override { component_.executor().cancel(draining_); }

 private:
  Result<net::HttpServer*> listen(net::ServerOptions options, net::HttpServer::Handler handler) {
    auto server =
        net::HttpServer::start(component_.executor(), std::move(options), std::move(handler));
    if (!server) return fail(std::move(server.error()));
    log::info("serving on {}", (*server)->address());
    servers_.push_back(*std::move(server));
    return servers_.back().get();
  }

  // An event about the lease.
  void notify(const std::string& what) {
    const kube::ElectionConfig& election = scheduler_->configuration().leaderElection;
    api::ObjectMeta lease;
    lease.namespace_ = election.resourceNamespace;
    lease.name = election.resourceName;
    events_.record(kube::referenceTo(api::Lease::kType, lease), "Normal", "LeaderElection", what);
  }

  // The lease has expired, and the election has not noticed yet.
  std::string unhealthy() const {
    if (!leading_ || !elector_ || elector_->leading()) return {};
    return "failed election to renew leadership on lease " +
           scheduler_->configuration().leaderElection.resourceName;
  }

  void lead() {
    leading_ = true;
    informers_.onSynced([this] {
      if (waits_) return tasks_.spawn(passBarrier());
      schedule();
    });
  }
  Task<void> passBarrier() {
    auto passing = barrier_.pass();
    co_await passing;
    if (!stopping_) schedule();
  }
  void schedule() {
    log::info("scheduling {} nodes; profiles: {}", scheduler_->cluster().liveCount(),
              scheduler_->profiles().size());
    scheduler_->start();
    explanations_.start();
  }

  void drain(int left, Callback done) {
    if (left == 0 || scheduler_->bindingsInFlight() == 0) {
      if (!elector_) return done();
      elector_->release([done = std::make_shared<Callback>(std::move(done))] { (*done)(); });
      return;
    }
    draining_ = component_.executor().runAfter(
        std::chrono::milliseconds(100),
        [this, left, done = std::make_shared<Callback>(std::move(done))] {
          drain(left - 1, std::move(*done));
        });
  }

  kube::Component& component_;
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<Auditor> auditor_;  // nullptr if disabled
  std::unique_ptr<Scheduler> scheduler_;
  kube::EventRecorder events_;
  Informers informers_;
  const bool waits_;  // for the last leader's writes
  SyncBarrier barrier_;
  bool leading_ = false;
  bool stopping_ = false;
  ExplanationWriter explanations_;
  HttpService service_;
  std::unique_ptr<kube::SecureServing> secure_;
  std::vector<std::unique_ptr<net::HttpServer>> servers_;
  std::unique_ptr<kube::LeaderElector> elector_;
  TimerId draining_ = 0;
  TaskGroup tasks_;
};

}  // namespace

Result<std::unique_ptr<RunningScheduler>> startScheduler(kube::Component& component,
                                                         const Flags& flags,
                                                         SchedulerOptions options,
                                                         const Registry& registry) {
  net::MetricsPage page{{flags.version, "", ""},
                        featuresOf(flags.gates),
                        {flags.disabledMetrics.begin(), flags.disabledMetrics.end()}};
  auto metrics = std::make_unique<Metrics>();
  auto auditor =
      flags.audit.enabled ? std::make_unique<Auditor>(component.executor(), flags.audit) : nullptr;
  options.audit = auditor.get();
  for (const std::string& warning : options.configuration.warnings)
    log::warn("--config {}: {}", flags.config, warning);
  log::info("random seed {}", options.seed);
  if (!options.configuration.extenders.empty()) options.http = &component.http();
  auto scheduler = Scheduler::create(std::move(options), registry, component.executor(),
                                     &component.api(), metrics.get());
  if (!scheduler) return fail(std::move(scheduler.error()));
  (*scheduler)->debug() = flags.debug;
  SyncBarrierOptions barrier = flags.barrier;
  barrier.enabled = flags.gates.enabled("SyncBarrier");
  auto app = std::make_unique<App>(component, std::move(metrics), std::move(auditor),
                                   *std::move(scheduler), std::move(page), flags.shown,
                                   flags.openDebugFlags, std::move(barrier));
  if (auto serving = app->serve(flags); !serving) return fail(std::move(serving.error()));
  app->start();
  return app;
}

Result<std::string> describeConfiguration(SchedulerOptions options, const Registry& registry) {
  VirtualLoop loop;
  const auto scheduler = Scheduler::create(std::move(options), registry, loop, nullptr);
  if (!scheduler) return fail(scheduler.error());
  std::string text;
  for (const auto& [name, profile] : (*scheduler)->profiles())
    text += fmt::format("# {}\n{}", name, describePlugins(profile->profile()));
  return text;
}

}  // namespace koord::scheduler
