#include "descheduler/app/app.h"

#include <fmt/format.h>

#include "base/log.h"
#include "descheduler/app/http_service.h"
#include "descheduler/config/bind_address.h"
#include "kube/events.h"
#include "kube/identified_transport.h"
#include "kube/leader_election.h"
#include "net/http_client.h"

namespace koord::descheduler {

namespace {

class App final : public kube::Running {
 public:
  App(kube::Component& component, const Flags& flags, PreparedConfiguration prepared,
      const Registry& registry)
      : component_(component),
        toScheduler_(component.http(), component.config()),
        descheduler_(component.api(), component.executor(), component.random().fork(),
                     optionsOf(flags, std::move(prepared)), registry, metrics_),
        leaseEvents_(component.api(), component.executor(),
                     descheduler_.prepared().configuration.profiles.front().name,
                     component.random().fork()),
        service_(
            descheduler_, metrics_, component.executor(),
            {.unhealthy = [this] { return unhealthy(); },
             .clientMetrics =
                 [this] { return component_.metrics()->text(component_.executor().steadyNow()); },
             .flags = &flags}) {}

  Result<> serve(const Flags& flags) {
    const DeschedulerConfiguration& configuration = descheduler_.prepared().configuration;
    if (auto served = listen("healthzBindAddress", configuration.healthzBindAddress); !served)
      return served;
    if (configuration.metricsBindAddress != configuration.healthzBindAddress)
      if (auto served = listen("metricsBindAddress", configuration.metricsBindAddress); !served)
        return served;
    if (flags.secure.port == 0) return {};
    auto secure = kube::SecureServing::start(component_, flags.secure, service_.handler());
    if (!secure) return fail(std::move(secure.error()));
    secure_ = *std::move(secure);
    return {};
  }

  void start() {
    const kube::ElectionConfig& election = descheduler_.prepared().configuration.leaderElection;
    if (!election.leaderElect) return lead();
    kube::LeaderElectionOptions options = kube::electionOptions(election);
    options.identity = kube::makeIdentity(component_.random());
    options.metrics = component_.metrics();
    elector_ = std::make_unique<kube::LeaderElector>(
        component_.api(), component_.executor(), options, component_.random().fork(),
        [this, identity = options.identity] {
          notify(identity + " became leader");
          lead();
        },
        [this] {
          metrics_.setLeader(false);
          log::error("Leaderelection lost");
          component_.exit(1);
        });
    elector_->start();
  }

  void stop(Callback done) override {
    if (std::exchange(stopping_, true)) return;  // called twice: the first call ends the process
    auto finish = std::make_shared<Callback>(std::move(done));
    if (!leading_) return release(finish);
    metrics_.setLeader(false);
    descheduler_.stop([this, finish] { release(finish); });
  }

 private:
  Descheduler::Options optionsOf(const Flags& flags, PreparedConfiguration prepared) {
    Descheduler::Options options;
    options.prepared = std::move(prepared);
    options.gate = [&flags](std::string_view gate) { return flags.gates.enabled(gate); };
    options.http = &toScheduler_;
    options.onFatal = [this](const Error& error) {
      log::error("{}", error.message);
      component_.exit(1);
    };
    return options;
  }

  Result<> listen(const char* field, const std::string& address) {
    if (!isServed(address)) return {};
    net::ServerOptions options;
    options.listen = address;
    auto server =
        net::HttpServer::start(component_.executor(), std::move(options), service_.handler());
    if (!server) return fail(std::move(server.error()).within(field));
    log::info("serving on {}", (*server)->address());
    servers_.push_back(*std::move(server));
    return {};
  }

  void release(const std::shared_ptr<Callback>& done) {
    if (!elector_) return (*done)();
    elector_->release([done] { (*done)(); });
  }

  // Records an event about the lease.
  void notify(const std::string& what) {
    const kube::ElectionConfig& election = descheduler_.prepared().configuration.leaderElection;
    api::ObjectMeta lease;
    lease.namespace_ = election.resourceNamespace;
    lease.name = election.resourceName;
    leaseEvents_.record(kube::referenceTo(api::Lease::kType, lease), "Normal", "LeaderElection",
                        what);
  }

  // Why the process is unhealthy: its lease has expired without a notification. "" if healthy.
  std::string unhealthy() const {
    if (!leading_ || !elector_ || elector_->leading()) return {};
    return "failed election to renew leadership on lease " +
           descheduler_.prepared().configuration.leaderElection.resourceName;
  }

  void lead() {
    leading_ = true;
    metrics_.setLeader(true);
    descheduler_.start();
  }

  kube::Component& component_;
  kube::IdentifiedTransport toScheduler_;
  Metrics metrics_;
  Descheduler descheduler_;
  kube::EventRecorder leaseEvents_;
  HttpService service_;
  bool leading_ = false;
  bool stopping_ = false;
  std::vector<std::unique_ptr<net::HttpServer>> servers_;
  std::unique_ptr<kube::SecureServing> secure_;
  std::unique_ptr<kube::LeaderElector> elector_;
};

}  // namespace

Result<std::unique_ptr<kube::Running>> startDescheduler(kube::Component& component,
                                                        const Flags& flags,
                                                        PreparedConfiguration prepared,
                                                        const Registry& registry) {
  for (const std::string& note : prepared.notes) log::warn("{}", note);
  auto app = std::make_unique<App>(component, flags, std::move(prepared), registry);
  if (auto serving = app->serve(flags); !serving) return fail(std::move(serving.error()));
  log::v(2, "{}", "the configuration in force is at /configz");
  app->start();
  return app;
}

}  // namespace koord::descheduler
