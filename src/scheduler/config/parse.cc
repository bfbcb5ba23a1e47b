#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/yaml.h"
#include "scheduler/config/extenders.h"
#include "scheduler/config/fields.h"
#include "scheduler/config/types.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kApiVersion = "kubescheduler.config.k8s.io/v1";
constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

void readLeaderElection(Fields fields, LeaderElectionConfig& out) {
  out.leaderElect = fields.boolean("leaderElect", out.leaderElect);
  out.leaseDuration = fields.duration("leaseDuration", out.leaseDuration);
  out.renewDeadline = fields.duration("renewDeadline", out.renewDeadline);
  out.retryPeriod = fields.duration("retryPeriod", out.retryPeriod);
  out.resourceLock = fields.text("resourceLock", out.resourceLock);
  out.resourceName = fields.text("resourceName", out.resourceName);
  out.resourceNamespace = fields.text("resourceNamespace", out.resourceNamespace);
  fields.refuseUnknown();
}

void readClient(Fields fields, SchedulerConfiguration& out) {
  out.kubeconfig = fields.text("kubeconfig");
  fields.text("acceptContentTypes");
  fields.text("contentType");
  out.qps = fields.number("qps", out.qps);
  out.burst = static_cast<std::int32_t>(
      fields.integer("burst", out.burst, 0, std::numeric_limits<std::int32_t>::max()));
  fields.refuseUnknown();
}

PluginSet readSet(Fields fields) {
  static const std::set<std::string> kRemoved{"AzureDiskLimits", "CinderLimits", "EBSLimits",
                                              "GCEPDLimits"};
  PluginSet set;
  for (const std::string_view list : {"enabled", "disabled"}) {
    for (Fields& item : fields.list(list)) {
      const std::string name = item.text("name");
      const auto weight =
          item.integer("weight", 0, 0, std::numeric_limits<std::int32_t>::max());
      if (name.empty()) item.error("name", "Required value");
      if (kRemoved.contains(name))
        item.error("name", fmt::format("Invalid value: \"{}\": was removed; use NodeVolumeLimits", name));
      item.refuseUnknown();
      if (list == "enabled") {
        set.enabled.push_back({name, weight});
      } else {
        set.disabled.push_back(name);
      }
    }
  }
  fields.refuseUnknown();
  return set;
}

ProfileConfig readProfile(Fields fields) {
  ProfileConfig profile;
  profile.path = fields.path();
  profile.schedulerName = fields.text("schedulerName");
  if (fields.has("percentageOfNodesToScore")) {
    profile.percentageOfNodesToScore =
        static_cast<std::int32_t>(fields.integer("percentageOfNodesToScore", 0, 0, 100));
  }
  fields.raw("percentageOfNodesToScore");
  Fields plugins = fields.object("plugins");
  for (const std::string_view point : kExtensionPoints)
    if (plugins.has(point)) profile.plugins.emplace(point, readSet(plugins.object(point)));
  if (plugins.has("multiPoint")) profile.plugins.emplace("multiPoint", readSet(plugins.object("multiPoint")));
  for (const std::string_view accepted : {"placementGenerate", "placementScore", "multiPoint"})
    plugins.raw(accepted);
  for (const std::string_view point : kExtensionPoints) plugins.raw(point);
  plugins.refuseUnknown();
  std::set<std::string> seen;
  for (Fields& item : fields.list("pluginConfig")) {
    PluginArgs args;
    args.name = item.text("name");
    args.path = item.pathOf("args");
    if (args.name.empty()) item.error("name", "Required value");
    if (!seen.insert(args.name).second)
      item.error("name", fmt::format("Duplicate value: \"{}\"", args.name));
    if (const json::value* document = item.raw("args")) {
      args.args = *document;
      if (auto* object = args.args.if_object()) {
        const auto kind = textAt(args.args, "kind");
        if (!kind.empty() && kind != args.name + "Args") {
          item.error("args.kind", fmt::format("Invalid value: \"{}\": must be {}Args", kind, args.name));
        }
        if (const auto version = textAt(args.args, "apiVersion"); !version.empty() && version != kApiVersion)
          item.error("args.apiVersion", fmt::format("Unsupported value: \"{}\": supported values: {}",
                                                    version, kApiVersion));
        object->erase("kind");
        object->erase("apiVersion");
      }
    }
    item.refuseUnknown();
    profile.pluginConfig.push_back(std::move(args));
  }
  fields.refuseUnknown();
  return profile;
}

}  // namespace

SchedulerConfiguration defaultConfiguration() {
  SchedulerConfiguration configuration;
  ProfileConfig& profile = configuration.profiles.emplace_back();
  profile.schedulerName = "default-scheduler";
  profile.path = "profiles[0]";
  return configuration;
}

std::vector<std::string> validate(const SchedulerConfiguration& configuration) {
  std::vector<std::string> errors;
  const auto note = [&](std::string_view path, std::string_view message) {
    errors.push_back(fmt::format("{}: {}", path, message));
  };
  const LeaderElectionConfig& election = configuration.leaderElection;
  if (election.leaderElect) {
    if (election.leaseDuration <= Duration::zero())
      note("leaderElection.leaseDuration", "Invalid value: must be greater than zero");
    if (election.renewDeadline <= Duration::zero())
      note("leaderElection.renewDeadline", "Invalid value: must be greater than zero");
    if (election.leaseDuration <= election.renewDeadline)
      note("leaderElection.leaseDuration", "Invalid value: LeaseDuration must be greater than RenewDeadline");
    if (election.renewDeadline * 10 <= election.retryPeriod * 12)
      note("leaderElection.renewDeadline", "Invalid value: must be greater than retryPeriod * 1.2");
    if (election.retryPeriod <= Duration::zero())
      note("leaderElection.retryPeriod", "Invalid value: must be greater than zero");
    if (election.resourceLock != "leases")
      note("leaderElection.resourceLock", "Invalid value: resourceLock value must be \"leases\"");
    if (election.resourceName.empty()) note("leaderElection.resourceName", "Invalid value: is required");
    if (election.resourceNamespace.empty())
      note("leaderElection.resourceNamespace", "Invalid value: is required");
  }
  if (configuration.podMaxBackoffSeconds < configuration.podInitialBackoffSeconds)
    note("podMaxBackoffSeconds", "Invalid value: must be greater than or equal to PodInitialBackoffSeconds");
  if (configuration.profiles.empty()) note("profiles", "Required value");
  std::set<std::string> names;
  for (const ProfileConfig& profile : configuration.profiles) {
    if (profile.schedulerName.empty()) {
      note(profile.path + ".schedulerName", "Required value");
    } else if (!names.insert(profile.schedulerName).second) {
      note(profile.path + ".schedulerName", fmt::format("Duplicate value: \"{}\"", profile.schedulerName));
    }
  }
  // The queue has one order for all pods, whatever their profile.
  const auto orderArgs = [](const ProfileConfig& profile) -> const json::value* {
    const auto set = profile.plugins.find("queueSort");
    const std::string name = set == profile.plugins.end() || set->second.enabled.empty()
                                 ? "PrioritySort"
                                 : set->second.enabled.front().name;
    const auto args = std::ranges::find(profile.pluginConfig, name, &PluginArgs::name);
    return args == profile.pluginConfig.end() ? nullptr : &args->args;
  };
  for (std::size_t i = 1; i < configuration.profiles.size(); ++i) {
    const json::value* first = orderArgs(configuration.profiles.front());
    const json::value* own = orderArgs(configuration.profiles[i]);
    if ((first == nullptr) != (own == nullptr) || (first && *first != *own)) {
      note(configuration.profiles[i].path + ".pluginConfig",
           "Invalid value: args of the queueSort plugin: has to match for all profiles");
    }
  }
  return errors;
}

Result<SchedulerConfiguration> parseConfiguration(std::string_view text) {
  std::vector<std::string> errors;
  SchedulerConfiguration read = readConfiguration(text, errors);
  if (!errors.empty()) return fail(ErrorCode::Invalid, fmt::format("{}", fmt::join(errors, "\n")));
  return read;
}

SchedulerConfiguration readConfiguration(std::string_view text, std::vector<std::string>& errors) {
  SchedulerConfiguration out;
  const auto document = parseYaml(text);
  if (!document) {
    errors.push_back(document.error().message);
    return out;
  }
  Fields fields(&*document, "", errors);
  if (const std::string version = fields.text("apiVersion"); version != kApiVersion) {
    fields.error("apiVersion",
                 fmt::format("Unsupported value: \"{}\": supported values: {}", version, kApiVersion));
  }
  if (const std::string kind = fields.text("kind"); kind != "KubeSchedulerConfiguration")
    fields.error("kind", fmt::format("Invalid value: \"{}\": must be KubeSchedulerConfiguration", kind));
  constexpr auto kInt32 = std::numeric_limits<std::int32_t>::max();
  out.parallelism = static_cast<std::int32_t>(fields.integer("parallelism", 16, 1, kInt32));
  readLeaderElection(fields.object("leaderElection"), out.leaderElection);
  readClient(fields.object("clientConnection"), out);
  out.enableProfiling = fields.boolean("enableProfiling", true);
  out.enableContentionProfiling = fields.boolean("enableContentionProfiling", out.enableProfiling);
  out.percentageOfNodesToScore =
      static_cast<std::int32_t>(fields.integer("percentageOfNodesToScore", 0, 0, 100));
  out.podInitialBackoffSeconds = fields.integer("podInitialBackoffSeconds", 1, 1, kAny);
  out.podMaxBackoffSeconds = fields.integer("podMaxBackoffSeconds", 10, 0, kAny);
  out.delayCacheUntilActive = fields.boolean("delayCacheUntilActive", false);
  out.extenders = readExtenders(fields);
  for (Fields& profile : fields.list("profiles")) out.profiles.push_back(readProfile(std::move(profile)));
  if (out.profiles.empty()) out.profiles = defaultConfiguration().profiles;
  if (out.profiles.size() == 1 && out.profiles[0].schedulerName.empty())
    out.profiles[0].schedulerName = "default-scheduler";
  ignoreManagedResources(out);
  fields.refuseUnknown();
  std::ranges::copy(validate(out), std::back_inserter(errors));
  return out;
}

}  // namespace koord::scheduler
