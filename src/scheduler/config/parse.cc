#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/yaml.h"
#include "scheduler/config/extenders.h"
#include "scheduler/config/fields.h"
#include "scheduler/config/plugin_args.h"
#include "scheduler/config/types.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kApiVersion = "kubescheduler.config.k8s.io/v1";
// Kubernetes 1.28 and 1.29 removed these versions, and Koordinator's manuals still use them. Their
// fields are those of v1 and two addresses that v1 does not have.
constexpr std::string_view kOldApiVersions[] = {"kubescheduler.config.k8s.io/v1beta2",
                                                "kubescheduler.config.k8s.io/v1beta3"};
constexpr std::string_view kOldAddresses[] = {"healthzBindAddress", "metricsBindAddress"};
constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

bool isOldVersion(std::string_view version) {
  return std::ranges::find(kOldApiVersions, version) != std::end(kOldApiVersions);
}

// Removes the version from a document; false for an unsupported version.
bool takeVersion(std::string_view path, std::string_view version,
                 std::vector<std::string>& warnings) {
  if (version == kApiVersion) return true;
  if (!isOldVersion(version)) return false;
  warnings.push_back(fmt::format("{}: {} is read as {}, with the defaults of {}; write {}", path,
                                 version, kApiVersion, kApiVersion, kApiVersion));
  return true;
}

std::string unsupportedVersion(std::string_view version) {
  return fmt::format("Unsupported value: \"{}\": supported values: {}", version, kApiVersion);
}

// Fields that are not pointers upstream: absent and zero are the same.
template <class T>
void keepUnlessZero(T& into, T given) {
  if (given != T{}) into = std::move(given);
}

void readClient(Fields fields, SchedulerConfiguration& out) {
  out.kubeconfig = fields.text("kubeconfig");
  out.acceptContentTypes = fields.text("acceptContentTypes");
  keepUnlessZero(out.contentType, fields.text("contentType"));
  keepUnlessZero(out.qps, fields.number("qps", 0));
  keepUnlessZero(out.burst, static_cast<std::int32_t>(
                                fields.integer("burst", 0, std::numeric_limits<std::int32_t>::min(),
                                               std::numeric_limits<std::int32_t>::max())));
  fields.refuseUnknown();
}

PluginSet readSet(Fields fields) {
  static const std::set<std::string> kRemoved{"AzureDiskLimits", "CinderLimits", "EBSLimits",
                                              "GCEPDLimits"};
  PluginSet set;
  for (const std::string_view list : {"enabled", "disabled"}) {
    for (Fields& item : fields.list(list)) {
      const std::string name = item.text("name");
      const auto weight = item.integer("weight", 0, 0, std::numeric_limits<std::int32_t>::max());
      if (list == "enabled" && kRemoved.contains(name))
        item.error("",
                   fmt::format("Invalid value: \"{}\": was removed; use NodeVolumeLimits", name));
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

ProfileConfig readProfile(Fields fields, std::vector<std::string>& warnings) {
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
  if (plugins.has("multiPoint"))
    profile.plugins.emplace("multiPoint", readSet(plugins.object("multiPoint")));
  for (const std::string_view accepted : {"placementGenerate", "placementScore", "multiPoint"})
    plugins.raw(accepted);
  for (const std::string_view point : kExtensionPoints) plugins.raw(point);
  plugins.refuseUnknown();
  std::set<std::string> seen;
  for (Fields& item : fields.list("pluginConfig")) {
    PluginArgs args;
    args.name = item.text("name");
    args.path = item.pathOf("args");
    if (!seen.insert(args.name).second)
      item.error("", fmt::format("Duplicate value: \"{}\"", args.name));
    if (const json::value* document = item.raw("args")) {
      args.args = *document;
      auto* object = args.args.if_object();
      if (object && hasArgsKind(args.name)) {
        const auto kind = textAt(args.args, "kind");
        if (!kind.empty() && kind != args.name + "Args") {
          item.error("args.kind",
                     fmt::format("Invalid value: \"{}\": must be {}Args", kind, args.name));
        }
        if (const auto version = textAt(args.args, "apiVersion");
            !version.empty() && !takeVersion(args.path + ".apiVersion", version, warnings))
          item.error("args.apiVersion", unsupportedVersion(version));
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

// Validation errors by field, in upstream's words.
struct Problems {
  std::vector<std::string> errors;

  void note(std::string_view path, std::string_view message) {
    errors.push_back(fmt::format("{}: {}", path, message));
  }
  void refuse(std::string_view path, const auto& value, std::string_view message) {
    note(path, fmt::format("Invalid value: {}: {}", value, message));
  }
};

void checkProfiles(const std::vector<ProfileConfig>& profiles, Problems& problems) {
  if (profiles.empty()) problems.note("profiles", "Required value");
  std::set<std::string> names;
  for (const ProfileConfig& profile : profiles) {
    if (profile.schedulerName.empty()) {
      problems.note(profile.path + ".schedulerName", "Required value");
    } else if (!names.insert(profile.schedulerName).second) {
      problems.note(profile.path + ".schedulerName",
                    fmt::format("Duplicate value: \"{}\"", profile.schedulerName));
    }
  }
  // The queue has one order for the pods of all profiles.
  const auto orderArgs = [](const ProfileConfig& profile) -> const json::value* {
    const auto set = profile.plugins.find("queueSort");
    const std::string name = set == profile.plugins.end() || set->second.enabled.empty()
                                 ? "PrioritySort"
                                 : set->second.enabled.front().name;
    const auto args = std::ranges::find(profile.pluginConfig, name, &PluginArgs::name);
    return args == profile.pluginConfig.end() ? nullptr : &args->args;
  };
  for (std::size_t i = 1; i < profiles.size(); ++i) {
    const json::value* first = orderArgs(profiles.front());
    const json::value* own = orderArgs(profiles[i]);
    if ((first == nullptr) != (own == nullptr) || (first && *first != *own)) {
      problems.note(profiles[i].path + ".pluginConfig",
                    "Invalid value: args of the queueSort plugin: has to match for all profiles");
    }
  }
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
  Problems problems;
  if (configuration.parallelism <= 0)
    problems.refuse("parallelism", configuration.parallelism,
                    "should be an integer value greater than zero");
  if (configuration.burst < 0)
    problems.refuse("clientConnection.burst", configuration.burst, "must be non-negative");
  kube::checkElection(configuration.leaderElection, problems.errors);
  if (configuration.podInitialBackoffSeconds <= 0) {
    problems.refuse("podInitialBackoffSeconds", configuration.podInitialBackoffSeconds,
                    "must be greater than 0");
  }
  if (configuration.podMaxBackoffSeconds < configuration.podInitialBackoffSeconds) {
    problems.refuse("podMaxBackoffSeconds", configuration.podMaxBackoffSeconds,
                    "must be greater than or equal to PodInitialBackoffSeconds");
  }
  checkProfiles(configuration.profiles, problems);
  return std::move(problems.errors);
}

Result<SchedulerConfiguration> parseConfiguration(std::string_view text) {
  std::vector<std::string> errors;
  SchedulerConfiguration read = readConfiguration(text, errors);
  if (!errors.empty()) return fail(ErrorCode::Invalid, fmt::format("{}", fmt::join(errors, "\n")));
  return read;
}

SchedulerConfiguration readConfiguration(std::string_view text, std::vector<std::string>& errors) {
  SchedulerConfiguration out;
  const auto documents = parseYamlDocuments(text);
  if (!documents) {
    errors.push_back(documents.error().message);
    return defaultConfiguration();
  }
  // As upstream, later documents are ignored.
  Fields fields(documents->empty() ? nullptr : &documents->front(), "", errors);
  const std::string version = fields.text("apiVersion");
  if (!takeVersion("apiVersion", version, out.warnings))
    fields.error("apiVersion", unsupportedVersion(version));
  if (isOldVersion(version)) {
    for (const std::string_view address : kOldAddresses)
      if (fields.raw(address))
        out.warnings.push_back(
            fmt::format("{}: is not used; use --bind-address and --secure-port", address));
  }
  if (const std::string kind = fields.text("kind"); kind != "KubeSchedulerConfiguration")
    fields.error("kind",
                 fmt::format("Invalid value: \"{}\": must be KubeSchedulerConfiguration", kind));
  constexpr auto kInt32 = std::numeric_limits<std::int32_t>::max();
  constexpr auto kInt32Low = std::numeric_limits<std::int32_t>::min();
  out.parallelism = static_cast<std::int32_t>(fields.integer("parallelism", 16, kInt32Low, kInt32));
  kube::readElection(fields.object("leaderElection"), out.leaderElection);
  readClient(fields.object("clientConnection"), out);
  out.enableProfiling = fields.boolean("enableProfiling", true);
  out.enableContentionProfiling = fields.boolean("enableContentionProfiling", out.enableProfiling);
  out.percentageOfNodesToScore =
      static_cast<std::int32_t>(fields.integer("percentageOfNodesToScore", 0, 0, 100));
  out.podInitialBackoffSeconds = fields.integer("podInitialBackoffSeconds", 1, -kAny, kAny);
  out.podMaxBackoffSeconds = fields.integer("podMaxBackoffSeconds", 10, -kAny, kAny);
  out.delayCacheUntilActive = fields.boolean("delayCacheUntilActive", false);
  out.extenders = readExtenders(fields);
  for (Fields& profile : fields.list("profiles"))
    out.profiles.push_back(readProfile(std::move(profile), out.warnings));
  if (out.profiles.empty()) out.profiles = defaultConfiguration().profiles;
  if (out.profiles.size() == 1 && out.profiles[0].schedulerName.empty())
    out.profiles[0].schedulerName = "default-scheduler";
  ignoreManagedResources(out);
  fields.refuseUnknown();
  std::ranges::copy(validate(out), std::back_inserter(errors));
  return out;
}

}  // namespace koord::scheduler
