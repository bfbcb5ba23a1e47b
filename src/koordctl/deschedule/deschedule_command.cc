#include "koordctl/deschedule/deschedule_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "api/core.h"
#include "base/event_loop.h"
#include "base/file.h"
#include "base/log.h"
#include "base/utf8.h"
#include "cluster/up/components.h"
#include "descheduler/app/plugin_table.h"
#include "descheduler/framework/descheduler.h"
#include "descheduler/framework/load_report.h"
#include "descheduler/framework/metrics.h"
#include "koordctl/common/cluster_flags.h"
#include "koordctl/common/kubeconfig_choice.h"
#include "koordctl/deschedule/plan.h"
#include "kube/client.h"
#include "kube/http_api.h"
#include "kube/identified_transport.h"
#include "net/http_client.h"

namespace koord::koordctl {

namespace {

constexpr const char* kEnd = "koordctl/EndOfCycle";
constexpr Duration kPatience = std::chrono::minutes(2);

// The last balance plugin of the last profile: when it runs, all decisions are made.
class EndOfCycle final : public descheduler::Plugin, public descheduler::BalancePlugin {
 public:
  explicit EndOfCycle(std::function<void()> ended) : ended_(std::move(ended)) {}
  std::string_view name() const override { return kEnd; }
  Task<Result<>> balance(const descheduler::Nodes&) override {
    ended_();
    co_return Result<>();
  }

 private:
  std::function<void()> ended_;
};

class DryRun {
 public:
  DryRun(const DescheduleOptions& options, EventLoop& loop) : options_(options), loop_(loop) {}

  Task<void> run(Result<DeschedulePlan>* result) {
    auto preparing = begin();
    auto begun = co_await preparing;
    if (!begun) {
      *result = fail(std::move(begun.error()));
      loop_.stop();
      co_return;
    }
    result_ = result;
    *result = fail(ErrorCode::Timeout,
                   "the cycle did not end: the cluster must have the kinds that the plugins read");
    loop_.runAfter(kPatience, [this] { loop_.stop(); });
    descheduler_->stores().onSynced([this] { checkNodes(); });
    descheduler_->start();
  }

 private:
  Task<Result<>> begin() {
    auto config = loadChoice(choice_);
    if (!config) co_return fail(explainFailure(choice_, std::move(config.error())));
    toScheduler_.emplace(http_, *config);
    api_.emplace(http_, loop_, *std::move(config));
    auto reading = configurationText();
    auto text = co_await reading;
    if (!text) co_return fail(std::move(text.error()));
    std::vector<std::string> errors;
    auto configuration = descheduler::readConfiguration(*text, errors);
    configuration.dryRun = true;
    configuration.interval = {};
    if (!configuration.profiles.empty())
      configuration.profiles.back().balance.push_back({kEnd, ""});
    pointAtScheduler(configuration);
    waited_ = arbitrateImmediately(configuration);
    registry_ = descheduler::pluginTable();
    registry_[kEnd] = endKind();
    measured_ = usesLoad(configuration);
    descheduler::Descheduler::Options options;
    options.prepared = descheduler::prepare(std::move(configuration), registry_, errors);
    if (!errors.empty())
      co_return fail(ErrorCode::Invalid, fmt::format("{}", fmt::join(errors, "\n")));
    options.http = &*toScheduler_;
    options.onFatal = [this](const Error& error) {
      *result_ = fail(Error(error));
      loop_.stop();
    };
    descheduler_.emplace(*api_, loop_, Random(Random::entropy()), std::move(options), registry_,
                         metrics_);
    co_return Result<>();
  }

  // The descheduler does not begin a cycle with fewer nodes.
  void checkNodes() {
    std::size_t ready = 0;
    for (const auto& node : descheduler_->stores().nodes().objects())
      ready += descheduler::isReady(*node) &&
               descheduler_->prepared().nodes.matches(node->metadata.labels);
    if (ready > 1) return;
    *result_ = fail(
        ErrorCode::Invalid,
        fmt::format("{} nodes are ready and match nodeSelector: descheduling needs at least two",
                    ready));
    loop_.stop();
  }

  // One cycle shows nothing if nodes must be hot for several cycles: nodes that are hot now count
  // as hot for long enough. Returns true if that makes a difference.
  static bool arbitrateImmediately(descheduler::DeschedulerConfiguration& configuration) {
    bool makesDifference = false;
    const auto judge = [&](json::object& args) {
      json::value& condition = args["anomalyCondition"];
      if (!condition.is_object()) condition = json::object();
      json::value& count = condition.get_object()["consecutiveAbnormalities"];
      makesDifference |= count != json::value(1);
      count = 1;
    };
    for (auto& profile : configuration.profiles) {
      if (std::ranges::none_of(profile.balance, isLoad)) continue;
      descheduler::PluginArgs& args = argsOf(profile, "LowNodeLoad");
      judge(args.args.get_object());
      json::value* pools = args.args.get_object().if_contains("nodePools");
      if (!pools || !pools->is_array()) continue;
      for (json::value& pool : pools->get_array())
        if (pool.is_object() && find(pool, "anomalyCondition")) judge(pool.get_object());
    }
    return makesDifference;
  }
  static bool isLoad(const descheduler::PluginRef& plugin) { return plugin.name == "LowNodeLoad"; }

  // The plugin's arguments in the profile; always an object.
  static descheduler::PluginArgs& argsOf(descheduler::ProfileConfig& profile,
                                         std::string_view plugin) {
    auto found = std::ranges::find(profile.pluginConfig, plugin, &descheduler::PluginArgs::name);
    if (found == profile.pluginConfig.end()) {
      found = profile.pluginConfig.insert(found, descheduler::PluginArgs{});
      found->name = plugin;
      found->path = profile.path + ".pluginConfig";
    }
    if (!found->args.is_object()) found->args = json::object();
    return *found;
  }

  descheduler::PluginKind endKind() {
    descheduler::PluginKind kind;
    kind.balance = true;
    kind.prepare = [this](Fields&) {
      descheduler::PreparedPlugin prepared;
      prepared.make = [this](descheduler::Handle&) {
        return std::make_shared<EndOfCycle>([this] {
          *result_ = plan();
          loop_.stop();
        });
      };
      return prepared;
    };
    return kind;
  }

  static bool usesLoad(const descheduler::DeschedulerConfiguration& configuration) {
    return std::ranges::any_of(configuration.profiles, [](const auto& profile) {
      return std::ranges::any_of(profile.balance, isLoad);
    });
  }

  // Sets the scheduler's address if the file does not.
  void pointAtScheduler(descheduler::DeschedulerConfiguration& configuration) const {
    std::string url = options_.scheduler;
    for (const auto& folder : dataDirsOf(choice_))
      if (url.empty()) url = cluster::componentUrl(folder, "koord-scheduler-secure");
    if (url.empty()) return;
    for (auto& profile : configuration.profiles) {
      json::value& landing = argsOf(profile, "MigrationController").args.get_object()["landing"];
      if (!landing.is_object()) landing = json::object();
      if (!options_.scheduler.empty() || !find(landing, "schedulerURL"))
        landing.get_object()["schedulerURL"] = url;
    }
  }

  Task<Result<std::string>> configurationText() {
    if (!options_.config.empty()) co_return readFile(options_.config);
    // That of a 'koordctl up' is in its data folder.
    for (const auto& folder : dataDirsOf(choice_))
      if (auto inside = readFile(folder + "/koord-descheduler.yaml")) co_return inside;
    const api::ObjectKey key{"koordinator-system", "koord-descheduler-config"};
    auto reading = kube::get<api::ConfigMap>(*api_, key);
    auto map = co_await reading;
    if (!map)
      co_return fail(
          Error(explainFailure(choice_, std::move(map.error())))
              .within("--config: not given, and the cluster's ConfigMap cannot be read"));
    for (const char* name : {"koord-descheduler-config", "koord-descheduler.config"})
      if (const std::string* text = api::findIn(map->data, name)) co_return *text;
    co_return fail(
        ErrorCode::NotFound,
        fmt::format("--config: ConfigMap {} has no key koord-descheduler-config", key.toString()));
  }

  DeschedulePlan plan() {
    DeschedulePlan plan;
    plan.measured = measured_;
    plan.atOnce = waited_;
    descheduler::Stores& stores = descheduler_->stores();
    for (const auto& node : stores.nodes().objects()) addNode(plan, *node);
    for (const auto& decision : descheduler_->journal().all()) {
      PlannedMove move{.pod = decision.namespace_ + "/" + decision.pod,
                       .from = decision.node,
                       .to = decision.landing,
                       .why = decision.plugin == decision.reason
                                  ? decision.plugin
                                  : fmt::format("{}: {}", decision.plugin, decision.reason)};
      if (decision.outcome != "planned") move.refused = decision.outcome;
      if (const auto pod = stores.pod({decision.namespace_, decision.pod})) addPod(move, *pod);
      plan.moves.push_back(std::move(move));
    }
    return plan;
  }

  std::shared_ptr<const descheduler::LoadReport> reportOf(const std::string& node) {
    return measured_ ? descheduler_->stores().of<descheduler::LoadReport>().get({"", node})
                     : nullptr;
  }

  void addNode(DeschedulePlan& plan, const api::Node& node) {
    PlannedNode& out = plan.nodes[node.metadata.name];
    const auto amount = [&](const char* name) {
      const auto it = node.status.allocatable.find(name);
      return it == node.status.allocatable.end() ? Quantity() : it->second;
    };
    out.cpuCapacity = amount("cpu").milliValue();
    out.memoryCapacity = amount("memory").value();
    const auto pods = descheduler_->stores().podsOn(node.metadata.name);
    out.milliCpu = pods->milliCpu;
    out.memory = pods->memory;
    const auto report = reportOf(node.metadata.name);
    if (!report || !report->measured) return;
    descheduler::LoadReport::Usage usage = report->system;
    usage.add(report->hostApplications);
    for (const auto& each : report->pods) usage.add(each.usage);
    out.milliCpu = usage.milliCpu;
    out.memory = usage.memory;
  }

  void addPod(PlannedMove& move, const descheduler::Pod& pod) {
    move.milliCpu = pod.facts.milliCpu;
    move.memory = pod.facts.memory;
    const auto report = reportOf(pod.spec.nodeName);
    const auto* usage = report ? report->podUsage(pod.facts.key) : nullptr;
    if (!usage) return;
    move.milliCpu = usage->milliCpu;
    move.memory = usage->memory;
  }

  const DescheduleOptions& options_;
  const KubeconfigChoice choice_ = chooseKubeconfig(options_.kubeconfig);
  EventLoop& loop_;
  net::HttpClient http_{{.userAgent = "koordctl"}};
  std::optional<kube::IdentifiedTransport> toScheduler_;
  std::optional<kube::HttpApi> api_;
  descheduler::Registry registry_;
  descheduler::Metrics metrics_;
  std::optional<descheduler::Descheduler> descheduler_;
  bool measured_ = false;
  bool waited_ = false;  // it would wait for nodes to be hot for long enough
  Result<DeschedulePlan>* result_ = nullptr;
};

int runDeschedule(const DescheduleOptions& options) {
  log::setup({.program = "koordctl"});
  EventLoop loop;
  Result<DeschedulePlan> result;
  {
    DryRun dryRun(options, loop);
    TaskGroup tasks;
    tasks.spawn(dryRun.run(&result));
    loop.run();
  }
  if (!result) {
    std::fprintf(stderr, "koordctl: %s\n", result.error().message.c_str());
    return 1;
  }
  const std::string text =
      options.json ? toPrettyJson(planJson(*result)) + "\n" : planText(*result);
  std::fputs(printable(text).c_str(), stdout);
  return 0;
}

}  // namespace

void addDescheduleCommand(flags::Commands& commands, DescheduleOptions& options) {
  auto& command = commands.add("deschedule", "Show which pods koord-descheduler would evict now");
  command.details =
      "Runs one cycle on the current state of the cluster and writes nothing. Shows each pod with\n"
      "its node, the node where koord-scheduler would place it, the reason, and the utilization "
      "of\n"
      "both before and after.";
  command.flags.boolean("dry-run", options.dryRun, "Show the plan and write nothing; required");
  command.flags.text("config", options.config,
                     "DeschedulerConfiguration; default: that of 'koordctl up', or the ConfigMap "
                     "koordinator-system/koord-descheduler-config");
  command.flags.text("scheduler", options.scheduler,
                     "Address of koord-scheduler, as https://127.0.0.1:10259; default: that of "
                     "'koordctl up', or the leader");
  addKubeconfigFlag(command.flags, options.kubeconfig);
  command.flags.boolean("json", options.json, "Print the plan as JSON");
  command.run = [&](const std::vector<std::string>& names) {
    if (!names.empty()) return commands.refuse("no arguments", "deschedule");
    if (!options.dryRun)
      return commands.refuse("--dry-run: koordctl does not evict pods", "deschedule");
    return runDeschedule(options);
  };
}

}  // namespace koord::koordctl
