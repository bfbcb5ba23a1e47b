#include "cluster/up/cluster_up.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "api/config.h"
#include "apiserver/webhook_caller.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/log.h"
#include "cluster/services/service_proxy.h"
#include "cluster/up/actors.h"
#include "cluster/up/addresses.h"
#include "cluster/up/clusters.h"
#include "cluster/up/demo_hints.h"
#include "cluster/up/manifests.h"
#include "cluster/up/pod_access.h"
#include "cluster/up/slo_config.h"
#include "kube/client.h"
#include "net/url.h"

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {

constexpr int kDefaultSimulatedNodes = 3;
constexpr Duration kChildGrace = 3s;
constexpr Duration kPodGrace = 3s;
constexpr Duration kFrontGrace = 500ms;
constexpr Duration kReadyPoll = 50ms;

std::string hostOf(const std::string& address) {
  return address.substr(0, address.rfind(':'));
}

// The loopback address for a server that listens on every address.
std::string reachable(const std::string& address) {
  const std::string host = hostOf(address);
  const std::string port = address.substr(address.rfind(':'));
  if (isEveryAddress(host)) return "127.0.0.1" + port;
  return address;
}

}  // namespace

ClusterUp::ClusterUp(Executor& executor, net::HttpClient& http, const UpOptions& options,
                     const DataDir& data, Screen& screen)
    : executor_(executor),
      pausable_(executor),
      http_(http),
      options_(options),
      data_(data),
      screen_(screen),
      random_(Random::entropy()),
      startedAt_(executor.steadyNow()) {}

// Also of a cluster that could not start.
ClusterUp::~ClusterUp() {
  screen_.leave();
  removeKubeconfigs();
}

Result<std::unique_ptr<ClusterUp>> ClusterUp::open(Executor& executor, net::HttpClient& http,
                                                   const UpOptions& options, const DataDir& data,
                                                   const std::string& program, Screen& screen) {
  auto self = std::unique_ptr<ClusterUp>(new ClusterUp(executor, http, options, data, screen));
  self->kubeconfig_ =
      options.kubeconfig.empty()
          ? data.file("kubeconfig")
          : std::filesystem::absolute(options.kubeconfig).lexically_normal().string();
  if (!options.nodeShape.empty()) {
    const auto text = readFile(options.nodeShape);
    if (!text) return fail(Error(text.error()).within("--node-shape"));
    auto shape = parseNodeShape(*text);
    if (!shape) return fail(std::move(shape.error()).within("--node-shape " + options.nodeShape));
    self->nodeShape_ = *std::move(shape);
  }
  if (auto done = self->openCredentials(); !done) return fail(std::move(done.error()));
  if (auto done = self->openServer(); !done) return fail(std::move(done.error()));
  if (auto done = self->openHost(program); !done) return fail(std::move(done.error()));
  if (auto done = self->openComponents(program); !done) return fail(std::move(done.error()));
  if (auto done = self->writeKubeconfigs(); !done) return fail(std::move(done.error()));
  if (auto done = self->openConsolePage(); !done) return fail(std::move(done.error()));
  return self;
}

Result<> ClusterUp::openCredentials() {
  auto credentials = Credentials::open(data_.path(), executor_.wallNow());
  if (!credentials) return fail(std::move(credentials.error()));
  credentials_ = *std::move(credentials);
  std::vector<std::string> hosts = {"localhost",
                                    "127.0.0.1",
                                    "::1",
                                    "10.96.0.1",
                                    "kubernetes",
                                    "kubernetes.default",
                                    "kubernetes.default.svc",
                                    "kubernetes.default.svc.cluster.local"};
  if (const auto host = hostOf(listenAddress()); isEveryAddress(host)) {
    for (auto& address : interfaceAddresses()) hosts.push_back(std::move(address));
  } else if (!host.empty() && std::ranges::find(hosts, host) == hosts.end()) {
    hosts.push_back(host);
  }
  if (std::string name = hostName(); !name.empty()) hosts.push_back(std::move(name));
  auto tls = credentials_->server(std::move(hosts));
  if (!tls) return fail(std::move(tls.error()));
  tls_ = *std::move(tls);
  return {};
}

Result<> ClusterUp::openServer() {
  apiserver::ServerOptions options;
  if (!options_.inMemory) options.database = data_.file("cluster.db");
  options.seed = random_.next();
  // Also with --quiet: users of the cluster see only that writes fail.
  options.onStorage = [this](const Error* failure) {
    screen_.problem(failure
                        ? "writes are refused (507) since the storage failed: " + failure->message
                        : std::string("the storage accepts writes again"));
  };
  options.webhookCaller = apiserver::makeWebhookCaller(
      http_, executor_, [this](const api::ServiceReference& service) -> Result<std::string> {
        if (actors_ && actors_->services) return actors_->services->origin(service);
        return fail(ErrorCode::Unavailable,
                    fmt::format("service {}/{} has no endpoints on this host", service.namespace_,
                                service.name));
      });
  options.rbac = options_.authorize;
  options.loopbackEndpoints = true;
  auto keys = Credentials::signingKeys(data_.path(), executor_.wallNow());
  if (!keys) return fail(std::move(keys.error()).within("service account keys"));
  options.serviceAccounts.emplace();
  options.serviceAccounts->keys = *std::move(keys);
  options.serviceAccounts->rootCaPem = credentials_->caPem();
  auto server = apiserver::Server::open(executor_, std::move(options));
  if (!server) return fail(std::move(server.error()));
  server_ = *std::move(server);
  return openFront();
}

Result<> ClusterUp::openFront() {
  apiserver::HttpFrontOptions front;
  front.listen = listenAddress();
  front.tls = tls_;
  front.anonymous = options_.authorize && options_.anonymousAuth;
  front.podLogs = [this](std::string namespace_, std::string pod, api::StringMap query) {
    return actors_->access.log({std::move(namespace_), std::move(pod)}, std::move(query));
  };
  front.podStreams = [this](kube::Request call, net::ServerRequest request,
                            std::shared_ptr<net::Responder> responder) {
    actors_->access.stream(std::move(call), std::move(request), std::move(responder));
  };
  if (!options_.auditLog.empty()) {
    auto audit = apiserver::openAuditLog(options_.auditLog, random_.fork());
    if (!audit) return fail(std::move(audit.error()).within("--audit-log"));
    front.audit = *std::move(audit);
  }
  front.writesRefused = [this]() -> std::optional<Error> {
    if (life_ == Life::Running || life_ == Life::Resuming) return std::nullopt;
    return Error{ErrorCode::Unavailable,
                 "the cluster is paused and refuses changes: 'koordctl resume' continues it"};
  };
  auto started = apiserver::HttpFront::start(*server_, std::move(front));
  if (!started) return fail(std::move(started.error()).within("--listen"));
  front_ = *std::move(started);
  if (options_.listen.empty() && options_.name != kDefaultCluster)
    if (auto written = writePreferredListen(data_.path(), front_->address()); !written)
      return written;
  const std::string address = reachable(front_->address());
  serverUrl_ = "https://" + address;
  publish(address);
  api_ = std::make_unique<apiserver::LocalApi>(*server_, pausable_);
  accessApi_ = std::make_unique<apiserver::LocalApi>(*server_, executor_);
  actors_ = std::make_unique<Actors>(*api_, *accessApi_, pausable_, executor_, server_->registry(),
                                     random_, [this](const std::string& name) {
                                       for (const auto& component : components_)
                                         if (component.child.name == name && component.lease)
                                           actors_->tasks.spawn(forgetLease(*component.lease));
                                     });
  auto client = credentials_->client("koordctl-api-server", {"system:masters"});
  if (!client) return fail(std::move(client.error()));
  actors_->access.setJoinedNodes({&http_, credentials_->caPem(), *std::move(client)});
  return {};
}

// The Service "kubernetes" needs an IP address, so a host name is replaced by loopback.
void ClusterUp::publish(const std::string& address) {
  std::string host = hostOf(address);
  const int port = std::atoi(address.c_str() + address.rfind(':') + 1);
  in_addr ignored{};
  if (::inet_pton(AF_INET, host.c_str(), &ignored) != 1) host = "127.0.0.1";
  server_->publish(host, port);
}

Result<> ClusterUp::openHost(const std::string& program) {
  if (options_.hostNode == HostNodeMode::Off) return {};
  auto host = Host::open(*api_, pausable_, random_.fork(),
                         {.dataDir = data_.path(),
                          .runtime = options_.runtime,
                          .program = program,
                          .tls = tls_,
                          .http = &http_});
  if (host) {
    actors_->host = *std::move(host);
    actors_->access.setHost(*actors_->host);
    if (const auto& note = actors_->host->note(); !note.empty()) notes_.push_back(note);
    openServices();
    actors_->controllers.setVolumeHost(actors_->host->nodeName(), data_.file("volumes"));
    return {};
  }
  // An explicit request fails; --host-node=auto continues without the host node.
  const bool wrongFlag = host.error().code == ErrorCode::Invalid;
  if (options_.hostNode == HostNodeMode::On || wrongFlag)
    return fail(std::move(host.error()).within(wrongFlag ? "host node" : "--host-node=on"));
  notes_.push_back("this host is not a node: " + host.error().message);
  return {};
}

// The host node works without services, so a failure is a note.
void ClusterUp::openServices() {
  auto services = services::ServiceProxy::open(*api_, pausable_, actors_->nodes, random_.fork(),
                                               {actors_->host->nodeName()});
  if (!services) {
    notes_.push_back("services are not reachable: " + services.error().message);
    return;
  }
  actors_->services = *std::move(services);
  actors_->host->node().setServices(
      {[proxy = actors_->services.get()] { return proxy->dnsAddress(); },
       [proxy = actors_->services.get()](const std::string& namespace_, bool links) {
         return proxy->environment(namespace_, links);
       }});
}

Result<> ClusterUp::openConsolePage() {
  if (options_.console == "off") return {};
  ConsoleInputs inputs;
  inputs.api = accessApi_.get();
  inputs.executor = &executor_;
  inputs.http = &http_;
  inputs.address = options_.console;
  inputs.server = serverUrl_;
  inputs.question.kubeconfig = kubeconfig_;
  inputs.question.dataDir = data_.path();
  inputs.explain = options_.explainByName;
  inputs.simulate = options_.simulate;
  inputs.koordlet = koordletUrl();
  if (actors_->host) inputs.koordletNode = actors_->host->nodeName();
  inputs.notes = [this] {
    ClusterStatus status;
    describe(status);
    return status.notes;
  };
  auto console = openConsole(std::move(inputs));
  if (!console) return fail(std::move(console.error()));
  console_ = *std::move(console);
  return {};
}

// "" if no koordlet runs on this host.
std::string ClusterUp::koordletUrl() const {
  for (const auto& component : components_)
    if (component.child.name == "koordlet")
      return component.metricsUrl.substr(0, component.metricsUrl.rfind('/'));
  return {};
}

bool ClusterUp::hasComponent(const std::string& name) const {
  return std::ranges::find(options_.components, name) != options_.components.end();
}

int ClusterUp::simulatedNodes() const {
  return options_.nodes.value_or(actors_->host ? 0 : kDefaultSimulatedNodes);
}

Result<> ClusterUp::openComponents(const std::string& program) {
  ComponentOptions options;
  options.programDir = std::filesystem::path(program).parent_path();
  options.logDir = data_.file("logs");
  options.dataDir = data_.path();
  options.configDir = options_.configDir;
  options.verbosity = options_.verbosity;
  options.runtimeProxy = options_.runtime.proxy;
  options.record = options_.record;
  options.severalNodes = simulatedNodes() + (actors_->host ? 1 : 0) > 1;
  if (actors_->host) {
    options.nodeName = actors_->host->nodeName();
    options.cgroupRoot = actors_->host->cgroupRoot();
    options.containerd = actors_->host->containerdSocket();
  }
  for (const auto& name : options_.components) {
    if (name == "koordlet" && !actors_->host) continue;
    auto component = makeComponent(name, data_.file(name + ".kubeconfig"), options);
    if (!component) return fail(std::move(component.error()));
    if (name == "koord-scheduler") options.schedulerUrl = component->secureUrl;
    components_.push_back(*std::move(component));
  }
  return writeComponentUrls(data_.path(), components_, {serverUrl_, outsideUrl(front_->address())});
}

Result<> ClusterUp::writeKubeconfigs() {
  const auto write = [&](const std::string& path, const std::string& user,
                         std::vector<std::string> groups) -> Result<> {
    auto text = credentials_->kubeconfig(serverUrl_, user, std::move(groups));
    if (!text) return fail(std::move(text.error()));
    auto written = writeFileAtomic(path, *text);
    if (written) kubeconfigs_.emplace_back(path, *std::move(text));
    return written;
  };
  for (const auto& component : components_) {
    auto user = userOf(component.child.name);
    auto written =
        write(data_.file(component.child.name + ".kubeconfig"), user.name, std::move(user.groups));
    if (!written) return written;
  }
  // Does not replace a file of another program, such as ~/.kube/config.
  if (const auto there = readFile(kubeconfig_);
      there && there->find(kAdminUser) == std::string::npos)
    return fail(
        ErrorCode::AlreadyExists,
        fmt::format("--kubeconfig: {} exists and was not written by koordctl: choose another file",
                    kubeconfig_));
  auto written = write(kubeconfig_, kAdminUser, {"system:masters"});
  if (!written) return fail(std::move(written.error()).within("--kubeconfig"));
  if (!options_.mergeKubeconfig) return {};
  auto merged = MergedKubeconfig::add(userKubeconfig(), kubeconfigs_.back().second, options_.name,
                                      data_.path());
  if (!merged) return fail(std::move(merged.error()).within("--merge-kubeconfig"));
  merged_ = *std::move(merged);
  return {};
}

void ClusterUp::start(std::function<void()> onFailed, std::function<void()> onStop) {
  openControl(onStop);
  actors_->tasks.spawn(bringUp(std::move(onFailed), std::move(onStop)));
}

void ClusterUp::announce() {
  screen_.progress("API server on " + serverUrl_);
  screen_.progress("kubeconfig: " + kubeconfig_);
  if (console_) screen_.progress("console: " + console_->url());
  if (!outsideUrl(front_->address()).empty())
    screen_.progress(
        "to add another host as a node: koordctl invite NODE | ssh HOST koordctl join -");
  if (merged_) screen_.progress(fmt::format("context {} in {}", options_.name, merged_->file()));
  for (const auto& note : notes_) screen_.progress("note: " + note);
}

Task<void> ClusterUp::bringUp(std::function<void()> onFailed, std::function<void()> onStop) {
  announce();
  auto applying = applyBase();
  auto applied = co_await applying;
  if (!applied) {
    log::error("{}", applied.error().message);
    std::fprintf(stderr, "koordctl: %s\n", applied.error().message.c_str());
    onFailed();
    co_return;
  }
  // Only child processes of this process lead here: leases from before a crash have no holder.
  for (const auto& component : components_) {
    if (!component.lease) continue;
    auto forgetting = forgetLease(*component.lease);
    co_await forgetting;
  }
  if (console_) console_->start();
  actors_->leases.start();
  actors_->sloConfig.start();
  actors_->metrics.start();
  actors_->migrations.start();
  actors_->simNodes.start();
  actors_->controllers.start();
  actors_->nodes.start();
  actors_->pods.start();
  auto serving = startServices();
  co_await serving;
  if (actors_->host) actors_->host->node().start();
  for (const auto& component : components_) actors_->supervisor.start(component.child);
  const int simulated = simulatedNodes();
  if (simulated > 0) {
    auto creating = actors_->simNodes.createNodes(simulated, nodeShape_);
    auto created = co_await creating;
    if (!created) log::error("{}", created.error().message);
  }
  auto waiting = untilReady();
  co_await waiting;
  ready_ = true;
  log::info("ready after {} ms", (executor_.steadyNow() - startedAt_) / 1ms);
  if (options_.demo) {
    auto demo = applySet(*api_, server_->registry(), "demo", ApplyMode::Apply);
    auto started = co_await demo;
    if (!started) {
      log::error("demo: {}", started.error().message);
      screen_.progress("demo: " + started.error().message);
    } else {
      showHints();
    }
  }
  screen_.ready();
  showScreen(std::move(onStop));
}

Task<void> ClusterUp::startServices() {
  if (!actors_->services) co_return;
  auto starting = actors_->services->start();
  auto started = co_await starting;
  if (started) co_return;
  notes_.push_back("services are not reachable: " + started.error().message);
  log::error("{}", notes_.back());
  screen_.progress("note: " + notes_.back());
}

// The commands are printed, and stay in a file while the screen covers them.
void ClusterUp::showHints() {
  const std::string file = data_.file("things-to-try");
  const std::string text = demoHintsText(kubeconfig_);
  screen_.progress("things to try:\n" + text);
  if (auto put = writeFileAtomic(file, text, 0644); !put) {
    log::warn("{}", put.error().message);
  } else {
    hint_ = "things to try: " + file;
  }
}

Task<Result<>> ClusterUp::applyBase() {
  for (const char* set : {"crds", "base"}) {
    auto applying = applySet(*api_, server_->registry(), set, ApplyMode::Merge);
    auto applied = co_await applying;
    if (!applied) co_return applied;
  }
  // Changes by users stay.
  auto storing = applySet(*api_, server_->registry(), "storage", ApplyMode::CreateOnly);
  auto stored = co_await storing;
  if (!stored) co_return stored;
  const int cpus = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  json::value config = defaultSloConfig(cpus);
  auto configuring =
      applyObject(*api_, server_->registry(), std::move(config), ApplyMode::CreateOnly);
  auto configured = co_await configuring;
  if (!configured) co_return configured;
  auto webhooks = applyWebhooks();
  co_return co_await webhooks;
}

Task<Result<>> ClusterUp::applyWebhooks() {
  // koord-manager updates these, so existing objects stay.
  if (hasComponent("koord-manager")) {
    for (const auto& manifest : embeddedManifests()) {
      if (manifest.set != "webhooks") continue;
      auto object = parseJson(manifest.json);
      if (!object) co_return fail(std::move(object.error()));
      if (auto* entries =
              object->is_object() ? object->get_object().if_contains("webhooks") : nullptr;
          entries && entries->is_array())
        // koord-manager starts with this cluster, so no pod needs to bypass its webhook.
        for (auto& entry : entries->get_array())
          if (textAt(entry, "clientConfig", "service", "path").ends_with("-pod"))
            entry.get_object()["failurePolicy"] = "Fail";
      auto applying =
          applyObject(*api_, server_->registry(), *std::move(object), ApplyMode::CreateOnly);
      auto applied = co_await applying;
      if (!applied) co_return applied;
    }
    co_return Result<>{};
  }
  // Without it the webhooks have no server, and pods could not be created.
  const std::pair<api::ResourceType, const char*> configurations[] = {
      {api::MutatingWebhookConfiguration::kType, "koordinator-mutating-webhook-configuration"},
      {api::ValidatingWebhookConfiguration::kType, "koordinator-validating-webhook-configuration"}};
  for (const auto& [type, name] : configurations) {
    auto deleting = kube::deleteObject(*api_, type, {"", name});
    auto deleted = co_await deleting;
    if (!deleted && deleted.error().code != ErrorCode::NotFound) co_return deleted;
  }
  co_return Result<>{};
}

Task<void> ClusterUp::forgetLease(api::ObjectKey lease) {
  auto deleting = kube::deleteObject(*api_, api::Lease::kType, lease);
  auto deleted = co_await deleting;
  if (!deleted && deleted.error().code != ErrorCode::NotFound)
    log::warn("lease {}: {}", lease.toString(), deleted.error().message);
}

std::string ClusterUp::leaseHolder(const Component& component) const {
  if (!component.lease) return {};
  const auto lease = actors_->leases.get(*component.lease);
  return lease ? lease->spec.holderIdentity : std::string();
}

Task<bool> ClusterUp::isReady(std::string url) {
  net::HttpRequest request;
  request.url = std::move(url);
  request.timeout = 1s;
  auto fetching = http_.fetch(executor_, std::move(request));
  auto reply = co_await fetching;
  co_return reply && reply->status == 200;
}

Task<void> ClusterUp::untilReady() {
  for (const auto& component : components_) {
    screen_.progress("waiting for " + component.child.name);
    while (true) {
      const bool leads = !component.lease || !leaseHolder(component).empty();
      if (leads) {
        auto asking = isReady(component.readyUrl);
        const bool up = co_await asking;
        if (up) break;
      }
      auto pause = sleepFor(executor_, kReadyPoll);
      co_await pause;
    }
  }
  while (actors_->host && !actors_->host->node().registered()) {
    auto pause = sleepFor(executor_, 10ms);
    co_await pause;
  }
}

void ClusterUp::showScreen(std::function<void()> onStop) {
  FeedOptions feed;
  feed.nodes = &actors_->nodes;
  feed.pods = &actors_->pods;
  feed.metrics = &actors_->metrics;
  feed.migrations = &actors_->migrations;
  feed.sloConfig = &actors_->sloConfig;
  feed.api = accessApi_.get();
  feed.http = &http_;
  feed.koordlet = koordletUrl();
  feed.explain = options_.explain;
  feed.question.kubeconfig = kubeconfig_;
  feed.question.dataDir = data_.path();
  feed.complete = [this](ClusterStatus& status) { describe(status); };
  feed.onQuit = std::move(onStop);
  feed.quitQuestion = "q again stops the cluster and its pods, any other key continues";
  screen_.start(executor_, std::move(feed));
}

void ClusterUp::describe(ClusterStatus& status) const {
  const WallTime now = executor_.wallNow();
  for (const auto& child : actors_->supervisor.states()) {
    const auto component = std::ranges::find_if(components_, [&](const Component& candidate) {
      return candidate.child.name == child.name;
    });
    ComponentLine line{child.name, "running", child.starts - 1, {}, component->metricsUrl};
    if (component->lease)
      if (const auto lease = actors_->leases.get(*component->lease); lease && lease->spec.renewTime)
        line.age = now - lease->spec.renewTime->time;
    if (child.pid == 0) {
      line.state = "down: " + child.lastExit;
    } else if (component->lease) {
      line.state = leaseHolder(*component).empty() ? "starting" : "leading";
    }
    status.components.push_back(std::move(line));
  }
  status.server = serverUrl_;
  status.kubeconfig = kubeconfig_;
  if (console_) status.console = console_->url();
  status.hint = hint_;
  status.notes = notes_;
  if (life_ != Life::Running) status.notes.push_back("paused: 'koordctl resume' continues it");
  for (const auto& problem : screen_.problems()) status.notes.push_back(problem);
  status.uptime = executor_.steadyNow() - startedAt_;
}

Task<void> ClusterUp::shutdown() {
  screen_.leave();
  screen_.progress("stopping");
  if (control_) {
    auto ending = control_->shutdown(kFrontGrace);
    co_await ending;
    control_.reset();
  }
  if (console_) {
    auto ending = console_->shutdown(kFrontGrace);
    co_await ending;
  }
  if (life_ != Life::Running) continueActors();
  // koordlet first: it must not repair cgroups that are being removed.
  auto stopping = actors_->supervisor.stopAll(kChildGrace);
  co_await stopping;
  if (actors_->host) {
    auto leaving = actors_->host->shutdown(kPodGrace);
    co_await leaving;
  }
  auto closing = front_->shutdown(kFrontGrace);
  co_await closing;
  removeKubeconfigs();
}

// Kubeconfigs must not lead to a cluster that does not run, or to another cluster on its port.
// Files that another program has replaced meanwhile stay.
void ClusterUp::removeKubeconfigs() {
  for (const auto& [path, text] : std::exchange(kubeconfigs_, {}))
    if (const auto there = readFile(path); there && *there == text) ::unlink(path.c_str());
  forgetComponentUrls(data_.path());
  const auto merged = std::exchange(merged_, std::nullopt);
  if (!merged) return;
  if (auto removed = merged->remove(); !removed)
    std::fprintf(stderr, "koordctl: %s\n", removed.error().message.c_str());
}

void ClusterUp::releaseActors() {
  console_.reset();
  actors_.reset();
  api_.reset();
  accessApi_.reset();
}

}  // namespace koord::cluster
