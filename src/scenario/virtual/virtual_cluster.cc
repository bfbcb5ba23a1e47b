#include "scenario/virtual/virtual_cluster.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "apiserver/authn/service_account_tokens.h"
#include "apiserver/discovery.h"
#include "apiserver/local_api.h"
#include "apiserver/role_api.h"
#include "base/log.h"
#include "base/virtual_loop.h"
#include "cluster/controllers/controllers.h"
#include "cluster/simnode/sim_nodes.h"
#include "descheduler/app/plugin_table.h"
#include "descheduler/framework/descheduler.h"
#include "descheduler/framework/metrics.h"
#include "kube/client.h"
#include "manager/controllers.h"
#include "manager/webhook/webhooks.h"
#include "net/tls.h"
#include "scenario/resolver.h"
#include "scenario/virtual/direct_scheduler.h"
#include "scenario/virtual/machines.h"
#include "scheduler/config/types.h"
#include "scheduler/core/informers.h"
#include "scheduler/core/scheduler.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/services/explanation_writer.h"

namespace koord::scenario {

extern const std::string_view kDeschedulerConfiguration;  // made from the file by CMake

namespace {

using namespace std::chrono_literals;

constexpr Duration kStartLimit = 2min;

constexpr const char* kTriedGates[] = {
    "ColocationProfileController", "ConfigMapValidatingWebhook", "NodeMutatingWebhook",
    "NodeValidatingWebhook",       "ReservationMutatingWebhook", "EnableSyncGPUSharedResource",
    "EnablePodEnhancedValidator",  "BindingAdmissionWebhook",    "Recommender"};

// A profile with the plugins that the shipped configuration omits, for the scenarios in profiles/.
// tests/scenarios/README.md has the same for other clusters.
constexpr const char* kExtraProfile = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: plus-scheduler
  plugins:
    score:
      enabled: [{name: NodeResourcesFitPlus, weight: 100}, {name: ScarceResourceAvoidance, weight: 50}]
    preScore:
      enabled: [{name: NodeResourcesFitPlus}, {name: ScarceResourceAvoidance}]
  pluginConfig:
  - name: NodeResourcesFitPlus
    args:
      resources:
        nvidia.com/gpu: {type: MostAllocated, weight: 2}
        cpu: {type: LeastAllocated, weight: 1}
  - name: ScarceResourceAvoidance
    args: {resources: [nvidia.com/gpu]}
- schedulerName: packed-scheduler
  plugins:
    multiPoint: {enabled: [{name: DeviceShare}, {name: FragmentationAware, weight: 100}]}
    score: {disabled: [{name: NodeResourcesFit}, {name: NodeResourcesBalancedAllocation}]}
- schedulerName: network-scheduler
  plugins:
    multiPoint: {enabled: [{name: Coscheduling}]}
    postFilter: {disabled: [{name: "*"}], enabled: [{name: Coscheduling}, {name: DefaultPreemption}]}
  pluginConfig:
  - name: Coscheduling
    args: {awareNetworkTopology: true, enablePreemption: true}
)";

// tests/scenarios/descheduler/configuration.yaml, connected to this cluster's scheduler.
descheduler::DeschedulerConfiguration deschedulerConfiguration(std::vector<std::string>& errors) {
  auto configuration = descheduler::readConfiguration(kDeschedulerConfiguration, errors);
  for (auto& profile : configuration.profiles)
    for (auto& plugin : profile.pluginConfig)
      if (auto* args = plugin.args.if_object(); args && plugin.name == "MigrationController")
        args->insert_or_assign("landing", json::object{{"schedulerURL", DirectScheduler::kUrl}});
  return configuration;
}

class VirtualCluster final : public Environment {
 public:
  explicit VirtualCluster(const VirtualClusterOptions& options)
      : random_(options.seed), roleUses_(options.roleUses) {}
  ~VirtualCluster() override;

  Result<> start(const std::vector<json::value>& manifests);

  kube::Api& api() override { return *api_; }
  Executor& executor() override { return loop_; }
  std::vector<std::string> refusals() const override { return refusals_; }
  Task<Result<std::string>> discover(std::string path) override {
    auto document = apiserver::discoveryDocument(server_->registry(), path);
    if (!document) co_return fail(ErrorCode::NotFound, path + ": unknown group");
    co_return *std::move(document);
  }
  bool advanceUntil(const std::function<bool()>& done, Duration limit) override {
    return loop_.advanceUntil(done, limit);
  }

 private:
  Result<> openServer();
  Result<> startScheduler();
  Result<> startDescheduler();
  void startManager();
  Task<void> createAll(const std::vector<json::value>* manifests, std::optional<Result<>>* result);
  Task<Result<>> create(const json::value& manifest);
  Task<Result<std::string>> callWebhook(apiserver::WebhookRequest request);

  std::vector<std::string> refusals_;
  // Later members use earlier ones.
  VirtualLoop loop_;
  Random random_;
  std::map<std::string, apiserver::RoleUse>* roleUses_;
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<apiserver::LocalApi> api_;
  // The programs have exactly the permissions of their shipped roles.
  std::unique_ptr<apiserver::RoleApi> managerApi_;
  std::unique_ptr<apiserver::RoleApi> schedulerApi_;
  std::unique_ptr<apiserver::RoleApi> deschedulerApi_;
  std::unique_ptr<apiserver::RoleApi> koordletApi_;
  TypeResolver resolver_{*this};
  std::optional<kube::Informer<api::Pod>> pods_;
  std::optional<kube::Informer<api::Node>> nodes_;
  std::optional<cluster::Controllers> workloads_;
  std::optional<cluster::SimNodes> simNodes_;
  std::optional<Machines> machines_;
  manager::Metrics metrics_;
  std::optional<manager::Webhooks> webhooks_;
  std::optional<manager::Controllers> manager_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::optional<scheduler::Informers> schedulerInformers_;
  std::optional<scheduler::ExplanationWriter> explanations_;
  DirectScheduler toScheduler_;
  descheduler::Registry deschedulerPlugins_ = descheduler::pluginTable();
  descheduler::Metrics deschedulerMetrics_;
  std::optional<descheduler::Descheduler> descheduler_;
};

// Watches end on the server's executor after their clients, and before the server.
VirtualCluster::~VirtualCluster() {
  explanations_.reset();
  descheduler_.reset();
  schedulerInformers_.reset();
  scheduler_.reset();
  manager_.reset();
  webhooks_.reset();
  machines_.reset();
  simNodes_.reset();
  workloads_.reset();
  nodes_.reset();
  pods_.reset();
  loop_.runReady();
  koordletApi_.reset();
  deschedulerApi_.reset();
  schedulerApi_.reset();
  managerApi_.reset();
  api_.reset();
  loop_.runReady();
}

Result<> VirtualCluster::openServer() {
  apiserver::ServerOptions options;
  options.inlineCommits = true;
  options.seed = random_.next();
  options.rbac = true;
  auto authority = net::makeAuthority(
      "kubernetes", {loop_.wallNow(), loop_.wallNow() + std::chrono::hours(24 * 365)});
  if (!authority) return fail(std::move(authority.error()));
  options.serviceAccounts.emplace().rootCaPem = std::move(authority->certPem);
  options.webhookCaller = [this](apiserver::WebhookRequest request) {
    return callWebhook(std::move(request));
  };
  auto server = apiserver::Server::open(loop_, std::move(options));
  if (!server) return fail(std::move(server.error()));
  server_ = *std::move(server);
  api_ = std::make_unique<apiserver::LocalApi>(*server_, loop_);
  const auto as = [this](const char* component) {
    return std::make_unique<apiserver::RoleApi>(
        *server_, loop_, apiserver::serviceAccountUser("koordinator-system", component),
        [this](const std::string& why) {
          log::error("the shipped role is not sufficient: {}", why);
          refusals_.push_back(why);
        },
        roleUses_ ? &(*roleUses_)[component] : nullptr);
  };
  managerApi_ = as("koord-manager");
  schedulerApi_ = as("koord-scheduler");
  deschedulerApi_ = as("koord-descheduler");
  koordletApi_ = as("koordlet");
  return {};
}

Task<Result<std::string>> VirtualCluster::callWebhook(apiserver::WebhookRequest request) {
  const std::string& path = request.url.empty() ? request.service.path : request.url;
  const manager::AdmissionHandler* handler = nullptr;
  if (webhooks_)
    for (const auto& [served, answer] : webhooks_->handlers())
      if (path.ends_with(served)) handler = &answer;
  if (!handler)
    co_return fail(ErrorCode::Unavailable, fmt::format("no webhook responds at {}", path));
  const auto review = manager::readReview(request.body);
  if (!review) co_return fail(review.error());
  auto asking = (*handler)(*review->request);
  const auto verdict = co_await asking;
  co_return manager::writeReview(review->apiVersion, review->request->uid, verdict);
}

Task<Result<>> VirtualCluster::create(const json::value& manifest) {
  auto resolving = resolver_.resolve(std::string(textAt(manifest, "apiVersion")),
                                     std::string(textAt(manifest, "kind")));
  const auto type = co_await resolving;
  if (!type) co_return fail(type.error());
  api::ObjectKey key{std::string(textAt(manifest, "metadata", "namespace")), ""};
  if (type->namespaced && key.namespace_.empty()) key.namespace_ = "default";
  auto creating = kube::createObject(*api_, *type, std::move(key), manifest);
  const auto created = co_await creating;
  if (!created && created.error().code != ErrorCode::AlreadyExists) co_return fail(created.error());
  co_return Result<>{};
}

Task<void> VirtualCluster::createAll(const std::vector<json::value>* manifests,
                                     std::optional<Result<>>* result) {
  for (const auto& manifest : *manifests) {
    auto task = create(manifest);
    const auto created = co_await task;
    if (!created) {
      *result = fail(Error(created.error())
                         .within(fmt::format("{} {}", textAt(manifest, "kind"),
                                             textAt(manifest, "metadata", "name"))));
      co_return;
    }
  }
  *result = Result<>{};
}

void VirtualCluster::startManager() {
  manager::ManagerOptions options;
  // Features that are off by default are on for tests. Pods beyond their quota wait; they are not
  // rejected.
  for (const char* gate : kTriedGates) {
    if (auto on = options.gates.set(fmt::format("{}=true", gate)); !on)
      log::error("{}", on.error().message);
  }
  webhooks_.emplace(*managerApi_, loop_, metrics_, random_.fork(), options.webhooks());
  webhooks_->start();
  manager_.emplace(*managerApi_, loop_, random_, options, metrics_);
  manager_->start();
}

Result<> VirtualCluster::startScheduler() {
  auto configuration = scheduler::parseConfiguration(
      scheduler::shippedConfiguration({"koord-scheduler", "default-scheduler"}));
  if (!configuration) return fail(std::move(configuration.error()));
  auto further = scheduler::parseConfiguration(kExtraProfile);
  if (!further) return fail(std::move(further.error()));
  std::ranges::move(further->profiles, std::back_inserter(configuration->profiles));
  scheduler::SchedulerOptions options;
  options.configuration = *std::move(configuration);
  options.gates.insert("enable-network-topology-manager");
  options.seed = random_.next();
  auto created = scheduler::Scheduler::create(std::move(options), scheduler::makeRegistry(), loop_,
                                              schedulerApi_.get());
  if (!created) return fail(std::move(created.error()).within("scheduler"));
  scheduler_ = *std::move(created);
  schedulerInformers_.emplace(*schedulerApi_, loop_, *scheduler_, random_.fork());
  explanations_.emplace(*scheduler_, *schedulerApi_, loop_);
  schedulerInformers_->onSynced([this] {
    scheduler_->start();
    explanations_->start();
  });
  schedulerInformers_->start();
  return {};
}

Result<> VirtualCluster::startDescheduler() {
  std::vector<std::string> errors;
  auto prepared =
      descheduler::prepare(deschedulerConfiguration(errors), deschedulerPlugins_, errors);
  if (!errors.empty())
    return fail(ErrorCode::Invalid, fmt::format("descheduler: {}", fmt::join(errors, "\n")));
  toScheduler_.set(scheduler_.get());
  descheduler::Descheduler::Options options;
  options.prepared = std::move(prepared);
  options.http = &toScheduler_;
  options.onFatal = [](const Error& error) { log::error("descheduler: {}", error.message); };
  descheduler_.emplace(*deschedulerApi_, loop_, random_.fork(), std::move(options),
                       deschedulerPlugins_, deschedulerMetrics_);
  descheduler_->start();
  return {};
}

Result<> VirtualCluster::start(const std::vector<json::value>& manifests) {
  if (auto opened = openServer(); !opened) return opened;
  std::optional<Result<>> created;
  TaskGroup tasks;
  tasks.spawn(createAll(&manifests, &created));
  if (!loop_.advanceUntil([&] { return created.has_value(); }, kStartLimit)) {
    return fail(ErrorCode::Timeout, "some manifests are missing");
  }
  if (!*created) return *created;
  pods_.emplace(*api_, loop_, kube::WatchScope{}, random_.fork());
  nodes_.emplace(*api_, loop_, kube::WatchScope{}, random_.fork());
  workloads_.emplace(*api_, loop_, server_->registry(), *pods_, *nodes_, random_.fork());
  simNodes_.emplace(*api_, loop_, *nodes_, *pods_, random_.fork());
  machines_.emplace(*api_, *koordletApi_, loop_, *nodes_, *pods_, random_.fork());
  pods_->start();
  nodes_->start();
  workloads_->start();
  simNodes_->start();
  machines_->start();
  startManager();
  if (auto started = startScheduler(); !started) return started;
  if (auto started = startDescheduler(); !started) return started;
  const auto ready = [this] {
    return pods_->synced() && nodes_->synced() && webhooks_->synced() &&
           schedulerInformers_->synced() && descheduler_->started();
  };
  if (!loop_.advanceUntil(ready, kStartLimit)) {
    return fail(
        ErrorCode::Timeout,
        "a component cannot read the kinds that it needs; do the manifests contain all CRDs?");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Environment>> startVirtualCluster(const VirtualClusterOptions& options) {
  auto cluster = std::make_unique<VirtualCluster>(options);
  if (auto started = cluster->start(options.manifests); !started)
    return fail(std::move(started.error()));
  return cluster;
}

}  // namespace koord::scenario
