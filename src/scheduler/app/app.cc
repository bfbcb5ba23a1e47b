#include "scheduler/app/app.h"

#include <fmt/format.h>

#include "api/core.h"
#include "base/log.h"
#include "base/virtual_loop.h"
#include "kube/events.h"
#include "kube/leader_election.h"
#include "kube/secure_serving.h"
#include "net/http_client.h"
#include "net/serving.h"
#include "scheduler/app/feature_gates.h"
#include "scheduler/app/recording_ring.h"
#include "scheduler/forecast/past_runs.h"
#include "scheduler/oracle/service.h"

namespace koord::scheduler {

namespace {

class App final : public RunningScheduler {
 public:
  App(kube::Component& component, const Flags& flags)
      : component_(component),
        page_{{flags.version, "", ""},
              featuresOf(flags.gates),
              {flags.disabledMetrics.begin(), flags.disabledMetrics.end()}},
        flags_(flags.shown),
        audit_(flags.audit),
        openDebugFlags_(flags.openDebugFlags) {}

  Result<> open(const Flags& flags, InstanceSettings settings, const Registry& registry) {
    extended_ = !settings.scheduler.configuration.extenders.empty();
    auto ring = RecordingRing::create(flags.recording, std::move(settings), flags.version, registry,
                                      component_.executor(), component_.random().fork(),
                                      [this] { return surroundings(); });
    if (!ring) return fail(std::move(ring.error()));
    ring_ = *std::move(ring);
    oracle_.emplace(component_.executor(), component_.api(), registry,
                    [this] { return subject(); });
    events_.emplace(component_.api(), component_.executor(),
                    instance().scheduler().configuration().profiles.front().schedulerName,
                    component_.random().fork());
    return {};
  }

  Result<> serve(const Flags& flags) {
    if (flags.port != 0) {
      net::ServerOptions options;
      options.listen = fmt::format("{}:{}", flags.address, flags.port);
      if (auto server = listen(std::move(options), handler()); !server)
        return fail(std::move(server.error()));
    }
    if (flags.secure.port == 0) return {};
    auto secure = kube::SecureServing::start(component_, flags.secure, guardedHandler());
    if (!secure) return fail(std::move(secure.error()));
    secure_ = *std::move(secure);
    return {};
  }

  Scheduler& scheduler() override { return instance().scheduler(); }
  void handle(net::ServerRequest request, std::shared_ptr<net::Responder> to) override {
    ring_->handle(std::move(request), std::move(to));
  }
  oracle::Seam& seam() override { return ring_->seam(); }
  const InstanceSettings& settings() const override { return ring_->settings(); }

  void start() {
    if (settings().shadow.incumbent.empty()) tasks_.spawn(learnPastRuns());
    const kube::ElectionConfig& election = instance().scheduler().configuration().leaderElection;
    if (!election.leaderElect) {
      ring_->start();
      if (settings().shadow.incumbent.empty()) lead();
      return;
    }
    if (!instance().scheduler().configuration().delayCacheUntilActive) ring_->start();
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
          if (instance().scheduler().configuration().delayCacheUntilActive) ring_->start();
          lead();
        },
        [this] {
          log::error("leader election lost");
          ring_->stop();
          component_.exit(1);
        });
    elector_->start();
  }

  void stop(Callback done) override {
    if (std::exchange(stopping_, true)) return;  // second signal: the first one ends it
    ring_->stop();
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
    const kube::ElectionConfig& election = instance().scheduler().configuration().leaderElection;
    api::ObjectMeta lease;
    lease.namespace_ = election.resourceNamespace;
    lease.name = election.resourceName;
    events_->record(kube::referenceTo(api::Lease::kType, lease), "Normal", "LeaderElection", what);
  }

  // The lease has expired, and the election has not noticed yet.
  std::string unhealthy() const {
    if (!leading_ || !elector_ || elector_->leading()) return {};
    return "failed election to renew leadership on lease " +
           instance().scheduler().configuration().leaderElection.resourceName;
  }

  void lead() {
    leading_ = true;
    ring_->lead();
  }

  void drain(int left, Callback done) {
    if (left == 0 || instance().scheduler().bindingsInFlight() == 0) {
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

  Instance& instance() { return ring_->instance(); }
  const Instance& instance() const { return ring_->instance(); }

  net::HttpServer::Handler handler() {
    return [this](net::ServerRequest request, std::shared_ptr<net::Responder> to) {
      handle(std::move(request), std::move(to));
    };
  }
  kube::RequestGuard::CallerHandler guardedHandler() {
    return [this](net::ServerRequest request, std::shared_ptr<net::Responder> to,
                  std::shared_ptr<const kube::Caller> caller) {
      if (oracle::Service::concerns(request))
        return oracle_->handle(std::move(request), std::move(to), std::move(caller));
      handle(std::move(request), std::move(to));
    };
  }

  oracle::Askable subject() {
    if (instance().shadow())
      return {.absent = "a shadow (--shadow-of) does not schedule: ask the other scheduler"};
    if (!instance().synced()) return {};
    const Informers& informers = instance().informers();
    return {&instance().scheduler(), &ring_->seam(),
            [&informers](const api::ObjectKey& pod) { return !informers.versionOf(pod).empty(); },
            &history_};
  }

  InstanceSurroundings surroundings() {
    ServiceState service;
    service.unhealthy = [this] { return unhealthy(); };
    service.stopping = [this] { return stopping_; };
    service.clientMetrics = [this] {
      return component_.metrics()->text(component_.executor().steadyNow());
    };
    service.page = page_;
    service.flags = flags_;
    service.openDebugFlags = openDebugFlags_;
    return {component_.executor(),
            component_.api(),
            extended_ ? &component_.http() : nullptr,
            component_.executor(),
            metrics_,
            audit_.enabled ? std::make_unique<Auditor>(component_.executor(), audit_) : nullptr,
            std::move(service),
            &history_};
  }

  Task<void> learnPastRuns() {
    auto learning = forecast::learnPastRuns(component_.api(), history_);
    const auto learned = co_await learning;
    if (!learned)
      log::warn("starts are estimated from runs that end from now on: {}", learned.error().message);
  }

  kube::Component& component_;
  const net::MetricsPage page_;
  const std::vector<std::pair<std::string, std::string>> flags_;
  const AuditOptions audit_;
  const bool openDebugFlags_;
  Metrics metrics_;
  forecast::RunHistory history_{component_.executor()};
  bool extended_ = false;
  bool leading_ = false;
  bool stopping_ = false;
  std::unique_ptr<RecordingRing> ring_;
  std::optional<kube::EventRecorder> events_;  // about the lease
  std::unique_ptr<kube::SecureServing> secure_;
  std::vector<std::unique_ptr<net::HttpServer>> servers_;
  std::optional<oracle::Service> oracle_;  // its tasks wait for the guard of secure_
  std::unique_ptr<kube::LeaderElector> elector_;
  TimerId draining_ = 0;
  TaskGroup tasks_;
};

}  // namespace

Result<std::unique_ptr<RunningScheduler>> startScheduler(kube::Component& component,
                                                         const Flags& flags,
                                                         SchedulerOptions options,
                                                         const Registry& registry) {
  for (const std::string& warning : options.configuration.warnings)
    log::warn("--config {}: {}", flags.config, warning);
  log::info("random seed {}", options.seed);
  InstanceSettings settings{std::move(options), component.random().next(), flags.barrier,
                            flags.debug, flags.shadow};
  settings.barrier.enabled = flags.gates.enabled("SyncBarrier");
  auto app = std::make_unique<App>(component, flags);
  if (auto opened = app->open(flags, std::move(settings), registry); !opened)
    return fail(std::move(opened.error()));
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
