#include "scheduler/app/app.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <tuple>

#include "api/core.h"
#include "base/file.h"
#include "base/log.h"
#include "base/virtual_loop.h"
#include "kube/client.h"
#include "kube/events.h"
#include "kube/http_api.h"
#include "kube/leader_election.h"
#include "kube/request_guard.h"
#include "net/http_client.h"
#include "net/serving.h"
#include "net/tls.h"
#include "scheduler/app/feature_gates.h"
#include "scheduler/core/informers.h"
#include "scheduler/services/http_service.h"

namespace koord::scheduler {

namespace {

// A certificate for this run only; clients that care give us a real one.
Result<net::CertKey> selfSigned(WallTime now, const std::string& address) {
  const net::Validity validity{now - std::chrono::hours(1), now + std::chrono::days(365)};
  const auto authority = net::makeAuthority("koord-scheduler-ca", validity);
  if (!authority) return fail(authority.error());
  return net::issueServerCert(*authority,
                              {"koord-scheduler", {"localhost", "127.0.0.1", address}, validity});
}

// The files that the flags name; else those in --cert-dir, which are made when they are not there;
// else one for this run.
Result<net::CertKey> servingCertificate(const Flags& flags, WallTime now) {
  std::string certFile = flags.tlsCertFile;
  std::string keyFile = flags.tlsKeyFile;
  if (certFile.empty() && keyFile.empty()) {
    if (flags.certDir.empty()) return selfSigned(now, flags.bindAddress);
    certFile = flags.certDir + "/kube-scheduler.crt";
    keyFile = flags.certDir + "/kube-scheduler.key";
    if (!std::filesystem::exists(certFile) && !std::filesystem::exists(keyFile)) {
      auto own = selfSigned(now, flags.bindAddress);
      if (!own) return own;
      std::error_code ec;
      std::filesystem::create_directories(flags.certDir, ec);
      for (const auto& [file, text, mode] :
           {std::tuple{&certFile, &own->certPem, 0644}, std::tuple{&keyFile, &own->keyPem, 0600}})
        if (auto written = writeFileAtomic(*file, *text, mode); !written)
          return fail(std::move(written.error()).within("--cert-dir"));
      log::info("a certificate was made: {}", certFile);
      return own;
    }
  }
  auto cert = readFile(certFile);
  if (!cert) return fail(std::move(cert.error()).within("--tls-cert-file"));
  auto key = readFile(keyFile);
  if (!key) return fail(std::move(key.error()).within("--tls-private-key-file"));
  return net::CertKey{*std::move(cert), *std::move(key)};
}

class App final : public RunningScheduler {
 public:
  App(kube::Component& component, std::unique_ptr<Metrics> metrics,
      std::unique_ptr<Scheduler> scheduler, net::MetricsPage page,
      std::vector<std::pair<std::string, std::string>> flags, bool openDebugFlags)
      : component_(component),
        metrics_(std::move(metrics)),
        scheduler_(std::move(scheduler)),
        events_(component.api(), component.executor(),
                scheduler_->configuration().profiles.front().schedulerName,
                component.random().fork()),
        informers_(component.api(), component.executor(), *scheduler_, component.random().fork()),
        service_(
            *scheduler_, *metrics_, component.executor(),
            {.leading = [this] { return leading_; },
             .unhealthy = [this] { return unhealthy(); },
             .synced = [this] { return informers_.synced(); },
             .stopping = [this] { return stopping_; },
             .clientMetrics =
                 [this] { return component_.metrics()->text(component_.executor().steadyNow()); },
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
    if (flags.securePort != 0) return serveSecurely(flags);
    return {};
  }

  const Scheduler& scheduler() const override { return *scheduler_; }

  void start() {
    const LeaderElectionConfig& election = scheduler_->configuration().leaderElection;
    if (!election.leaderElect) {
      informers_.start();
      lead();
      return;
    }
    if (!scheduler_->configuration().delayCacheUntilActive) informers_.start();
    kube::LeaderElectionOptions options;
    options.leaseNamespace = election.resourceNamespace;
    options.leaseName = election.resourceName;
    options.identity = kube::makeIdentity(component_.random());
    options.leaseDuration = election.leaseDuration;
    options.renewDeadline = election.renewDeadline;
    options.retryPeriod = election.retryPeriod;
    options.metrics = component_.metrics();
    elector_ = std::make_unique<kube::LeaderElector>(
        component_.api(), component_.executor(), options, component_.random().fork(),
        [this, identity = options.identity] {
          tell(identity + " became leader");
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
    if (std::exchange(stopping_, true)) return;  // told twice: the first time will end it
    scheduler_->stop();
    // Bindings under way get a moment; what they leave open the next leader finds in the API.
    drain(50, std::move(done));
  }
  // It may be cut short.
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

  Result<> serveSecurely(const Flags& flags) {
    if (auto guarded = guard(flags); !guarded) return guarded;
    auto tls = std::make_shared<net::ServerTls>();
    tls->limits = flags.tlsLimits;
    auto certificate = servingCertificate(flags, component_.executor().wallNow());
    if (!certificate) return fail(std::move(certificate.error()));
    tls->certPem = std::move(certificate->certPem);
    tls->keyPem = std::move(certificate->keyPem);
    trust_.proxies = flags.requestHeaders;
    for (const auto& [flag, file, into] :
         {std::tuple{"--client-ca-file", &flags.clientCaFile, &trust_.clientsPem},
          std::tuple{"--requestheader-client-ca-file", &flags.requestHeaderCaFile,
                     &trust_.proxiesPem}}) {
      if (file->empty()) continue;
      auto text = readFile(*file);
      if (!text) return fail(std::move(text.error()).within(flag));
      *into = *std::move(text);
    }
    if (auto trusted = applyTrust(*tls); !trusted) return trusted;
    net::ServerOptions options;
    options.listen = fmt::format("{}:{}", flags.bindAddress, flags.securePort);
    options.tls = tls;
    auto server = listen(std::move(options), guard_->around(service_.handler()));
    if (!server) return fail(std::move(server.error()));
    const bool known = !flags.clientCaFile.empty() && !flags.requestHeaderCaFile.empty();
    if (!known && !flags.authenticationSkipLookup && authentication_)
      tasks_.spawn(followTrust(**server, *tls,
                               {flags.clientCaFile.empty(), flags.requestHeaderCaFile.empty()},
                               flags.authenticationTolerateLookupFailure));
    return {};
  }

  // Into what the server accepts, and what the guard makes of it.
  Result<> applyTrust(net::ServerTls& tls) {
    std::vector<std::string> clients;
    trust_.proxies.authorities.clear();
    for (const auto& [flag, pem, into] :
         {std::tuple{"--client-ca-file", &trust_.clientsPem, &clients},
          std::tuple{"--requestheader-client-ca-file", &trust_.proxiesPem,
                     &trust_.proxies.authorities}}) {
      if (pem->empty()) continue;
      auto fingerprints = net::fingerprintsOf(*pem);
      if (!fingerprints) return fail(std::move(fingerprints.error()).within(flag));
      *into = *std::move(fingerprints);
    }
    tls.clientCaPem = trust_.clientsPem;
    if (!trust_.clientsPem.empty() && !trust_.proxiesPem.empty()) tls.clientCaPem += '\n';
    tls.clientCaPem += trust_.proxiesPem;
    guard_->setAuthorities(std::move(clients), trust_.proxies);
    return {};
  }

  Result<> guard(const Flags& flags) {
    for (const auto& [flag, file, api] :
         {std::tuple{"--authentication-kubeconfig", &flags.authenticationKubeconfig,
                     &authentication_},
          std::tuple{"--authorization-kubeconfig", &flags.authorizationKubeconfig,
                     &authorization_}}) {
      if (file->empty() && !net::runsInPod()) continue;
      auto config =
          file->empty() ? kube::inClusterConfig() : kube::loadClientConfig({.kubeconfig = *file});
      if (!config) return fail(Error(config.error()).within(flag));
      *api = std::make_unique<kube::HttpApi>(component_.http(), component_.executor(),
                                             *std::move(config), kube::HttpApiOptions{});
    }
    guard_.emplace(component_.executor(), authentication_.get(), authorization_.get(), flags.guard);
    return {};
  }

  struct Followed {
    bool clients;
    bool proxies;
  };
  // The cluster tells which authorities vouch for its clients and front proxies, and tells others
  // when that changes.
  Task<void> followTrust(net::HttpServer& server, net::ServerTls tls, Followed followed,
                         bool tolerant) {
    for (;;) {
      auto reading = kube::get<api::ConfigMap>(
          *authentication_, {"kube-system", "extension-apiserver-authentication"});
      const auto configMap = co_await reading;
      if (configMap) {
        if (const auto set = takeTrust(*configMap, followed, server, tls); !set)
          log::error("the cluster's authorities of client certificates: {}", set.error().message);
      } else if (tolerant) {
        log::warn("client certificates mean nothing: {}", configMap.error().message);
      } else {
        log::error("looking up the authority of client certificates: {}",
                   configMap.error().message);
        co_return component_.exit(1);
      }
      tolerant = true;  // it was good once
      auto pause = sleepFor(component_.executor(), std::chrono::minutes(1));
      co_await pause;
    }
  }

  Result<> takeTrust(const api::ConfigMap& configMap, Followed followed, net::HttpServer& server,
                     net::ServerTls& tls) {
    const Trust before = trust_;
    if (followed.clients)
      if (const auto* pem = api::findIn(configMap.data, "client-ca-file")) trust_.clientsPem = *pem;
    if (followed.proxies) {
      if (const auto* pem = api::findIn(configMap.data, "requestheader-client-ca-file"))
        trust_.proxiesPem = *pem;
      auto proxies = kube::readRequestHeaders(configMap.data);
      if (!proxies) return fail(std::move(proxies.error()));
      trust_.proxies = *std::move(proxies);
    }
    const std::string acceptedBefore = tls.clientCaPem;
    auto applied = applyTrust(tls);
    if (applied && tls.clientCaPem != acceptedBefore) applied = server.setTls(tls);
    if (applied) return {};
    // What was good stays in force.
    trust_ = before;
    [[maybe_unused]] const auto restored = applyTrust(tls);
    return applied;
  }

  // An event about the lease.
  void tell(const std::string& what) {
    const LeaderElectionConfig& election = scheduler_->configuration().leaderElection;
    api::ObjectMeta lease;
    lease.namespace_ = election.resourceNamespace;
    lease.name = election.resourceName;
    events_.record(kube::referenceTo(api::Lease::kType, lease), "Normal", "LeaderElection", what);
  }

  // The lease has run out, and its end has not been noticed yet.
  std::string unhealthy() const {
    if (!leading_ || !elector_ || elector_->leading()) return {};
    return "failed election to renew leadership on lease " +
           scheduler_->configuration().leaderElection.resourceName;
  }

  void lead() {
    leading_ = true;
    informers_.onSynced([this] {
      log::info("scheduling {} nodes; profiles: {}", scheduler_->cluster().liveCount(),
                scheduler_->profiles().size());
      scheduler_->start();
    });
  }

  void drain(int left, Callback done) {
    if (left == 0 || scheduler_->bindingsUnderWay() == 0) {
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
  std::unique_ptr<Scheduler> scheduler_;
  kube::EventRecorder events_;
  Informers informers_;
  bool leading_ = false;
  bool stopping_ = false;
  HttpService service_;
  std::unique_ptr<kube::Api> authentication_;  // null: there is nobody to ask
  std::unique_ptr<kube::Api> authorization_;
  std::optional<kube::RequestGuard> guard_;
  struct Trust {
    std::string clientsPem;
    std::string proxiesPem;
    kube::RequestHeaderOptions proxies;
  };
  Trust trust_;  // of those who come with certificates
  std::vector<std::unique_ptr<net::HttpServer>> servers_;
  std::unique_ptr<kube::LeaderElector> elector_;
  TimerId draining_ = 0;
  TaskGroup tasks_;
};

// The plugins that the configuration names and that are not written yet, with the profiles.
std::map<std::string, std::vector<std::string>> absentPlugins(const Scheduler& scheduler) {
  std::map<std::string, std::vector<std::string>> absent;
  for (const auto& [name, runtime] : scheduler.profiles())
    for (const auto& plugin : runtime->profile().absent) absent[plugin].push_back(name);
  return absent;
}

}  // namespace

Result<std::unique_ptr<RunningScheduler>> startScheduler(kube::Component& component,
                                                         const Flags& flags,
                                                         SchedulerOptions options,
                                                         const Registry& registry) {
  net::MetricsPage page{{flags.version, "", ""},
                        featuresOf(flags.gates),
                        {flags.disabledMetrics.begin(), flags.disabledMetrics.end()}};
  auto metrics = std::make_unique<Metrics>();
  log::info("random seed {}", options.seed);
  if (!options.configuration.extenders.empty()) options.http = &component.http();
  auto scheduler = Scheduler::create(std::move(options), registry, component.executor(),
                                     &component.api(), metrics.get());
  if (!scheduler) return fail(std::move(scheduler.error()));
  for (const auto& [plugin, profiles] : absentPlugins(**scheduler)) {
    log::warn(
        "plugin {} does nothing: it is not part of this version yet, though the configuration "
        "names "
        "it in {} {}",
        plugin, profiles.size() == 1 ? "profile" : "profiles", fmt::join(profiles, ", "));
  }
  (*scheduler)->debug() = flags.debug;
  auto app = std::make_unique<App>(component, std::move(metrics), *std::move(scheduler),
                                   std::move(page), flags.shown, flags.openDebugFlags);
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
  for (const auto& [plugin, profiles] : absentPlugins(**scheduler))
    text += fmt::format("# {}: not there yet, does nothing\n", plugin);
  return text;
}

}  // namespace koord::scheduler
