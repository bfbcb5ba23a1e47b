#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/fields.h"
#include "base/yaml.h"
#include "descheduler/config/bind_address.h"
#include "descheduler/config/types.h"

namespace koord::descheduler {

namespace {

constexpr auto kInt32 = std::numeric_limits<std::int32_t>::max();
constexpr std::string_view kNative[] = {"MigrationController", "LowNodeLoad", "CustomPriority",
                                        "FragmentationAware", "ScaleDownBinPack"};

void readClient(Fields fields, DeschedulerConfiguration& out) {
  out.kubeconfig = fields.text("kubeconfig");
  out.acceptContentTypes = fields.text("acceptContentTypes");
  if (auto type = fields.text("contentType"); !type.empty()) {
    out.contentType = std::move(type);
  } else if (out.acceptContentTypes.empty()) {
    out.acceptContentTypes = "application/vnd.kubernetes.protobuf,application/json";
  }
  if (const double qps = fields.number("qps", 0); qps != 0) out.qps = qps;
  if (const auto burst = fields.integer("burst", 0, -kInt32, kInt32); burst != 0)
    out.burst = static_cast<std::int32_t>(burst);
  fields.refuseUnknown();
}

std::optional<std::uint32_t> readLimit(Fields& fields, std::string_view name) {
  const bool given = fields.has(name);
  const auto limit = fields.integer(name, 0, 0, std::numeric_limits<std::uint32_t>::max());
  return given ? std::optional(static_cast<std::uint32_t>(limit)) : std::nullopt;
}

struct GivenSet {
  std::vector<PluginRef> enabled;
  std::vector<PluginRef> disabled;
};

GivenSet readSet(Fields fields) {
  GivenSet set;
  for (const auto& [list, into] :
       {std::pair{"enabled", &set.enabled}, std::pair{"disabled", &set.disabled}}) {
    for (Fields& item : fields.list(list)) {
      PluginRef ref{item.text("name"), item.path()};
      if (ref.name.empty()) item.error("name", "Required value");
      item.refuseUnknown();
      into->push_back(std::move(ref));
    }
  }
  fields.refuseUnknown();
  return set;
}

// The defaults without disabled plugins; plugins that are enabled again keep their default's
// position, others follow.
std::vector<PluginRef> merged(const std::vector<std::string>& defaults, const GivenSet& given) {
  const auto named = [](const std::vector<PluginRef>& list, std::string_view name) {
    return std::ranges::find(list, name, &PluginRef::name);
  };
  std::vector<PluginRef> result;
  std::set<std::string> replaced;
  if (named(given.disabled, "*") == given.disabled.end()) {
    for (const std::string& name : defaults) {
      if (named(given.disabled, name) != given.disabled.end()) continue;
      const auto again = named(given.enabled, name);
      result.push_back(again == given.enabled.end() ? PluginRef{name, ""} : *again);
      if (again != given.enabled.end()) replaced.insert(again->path);
    }
  }
  for (const PluginRef& ref : given.enabled)
    if (!replaced.contains(ref.path)) result.push_back(ref);
  return result;
}

const std::vector<std::string>& defaultsAt(std::string_view point) {
  static const std::vector<std::string> kMigration{"MigrationController"};
  static const std::vector<std::string> kNone;
  return point == "evict" || point == "filter" ? kMigration : kNone;
}

PluginArgs readPluginArgs(Fields& item) {
  PluginArgs args;
  args.name = item.text("name");
  args.path = item.pathOf("args");
  if (args.name.empty()) item.error("name", "Required value");
  const json::value* document = item.raw("args");
  item.refuseUnknown();
  if (!document) return args;
  args.args = *document;
  auto* object = args.args.if_object();
  if (!object) return args;
  const std::string expected = args.name + "Args";
  const bool native = std::ranges::find(kNative, args.name) != std::end(kNative);
  const std::string kind(textAt(args.args, "kind"));
  const std::string version(textAt(args.args, "apiVersion"));
  if (native && !kind.empty() && kind != expected) {
    item.error("args.kind", fmt::format("args for plugin {} were not of type {}, got {}", args.name,
                                        expected, kind));
  }
  if (native && !version.empty() && version != kConfigApiVersion) {
    item.error("args.apiVersion", fmt::format("Unsupported value: \"{}\": supported values: \"{}\"",
                                              version, kConfigApiVersion));
  }
  object->erase("kind");
  object->erase("apiVersion");
  return args;
}

ProfileConfig readProfile(Fields fields) {
  ProfileConfig profile;
  profile.path = fields.path();
  profile.name = fields.text("name");
  if (const json::value* selector = fields.raw("nodeSelector")) profile.nodeSelector = *selector;
  Fields plugins = fields.object("plugins");
  for (const std::string_view point : kExtensionPoints)
    profile.at(point) = merged(defaultsAt(point), readSet(plugins.object(point)));
  plugins.refuseUnknown();
  std::set<std::string> seen;
  for (Fields& item : fields.list("pluginConfig")) {
    PluginArgs args = readPluginArgs(item);
    if (!seen.insert(args.name).second)
      item.error("name", fmt::format("Duplicate value: \"{}\"", args.name));
    profile.pluginConfig.push_back(std::move(args));
  }
  fields.refuseUnknown();
  return profile;
}

void readServing(Fields& fields, DeschedulerConfiguration& out) {
  for (const auto& [name, into] : {std::pair{"healthzBindAddress", &out.healthzBindAddress},
                                   std::pair{"metricsBindAddress", &out.metricsBindAddress}})
    if (fields.has(name)) *into = completeBindAddress(fields.text(name));
  fields.raw("healthzBindAddress");
  fields.raw("metricsBindAddress");
  out.enableProfiling = fields.boolean("enableProfiling", true);
  out.enableContentionProfiling = fields.boolean("enableContentionProfiling", out.enableProfiling);
}

DeschedulerConfiguration readDocument(Fields& fields) {
  DeschedulerConfiguration out;
  const std::string version = fields.text("apiVersion");
  const std::string kind = fields.text("kind");
  if (version != kConfigApiVersion || kind != "DeschedulerConfiguration") {
    fields.error(
        version == kConfigApiVersion ? "kind" : "apiVersion",
        fmt::format("couldn't decode as DeschedulerConfiguration, got {}, Kind={}; must be "
                    "{}, Kind=DeschedulerConfiguration",
                    version, kind, kConfigApiVersion));
  }
  kube::readElection(fields.object("leaderElection"), out.leaderElection);
  readClient(fields.object("clientConnection"), out);
  readServing(fields, out);
  out.interval = fields.duration("deschedulingInterval", {});
  out.dryRun = fields.boolean("dryRun", false);
  if (const json::value* selector = fields.raw("nodeSelector")) out.nodeSelector = *selector;
  out.maxPerNode = readLimit(fields, "maxNoOfPodsToEvictPerNode");
  out.maxPerNamespace = readLimit(fields, "maxNoOfPodsToEvictPerNamespace");
  out.maxTotal = readLimit(fields, "maxNoOfPodsToEvictTotal");
  for (Fields& profile : fields.list("profiles"))
    out.profiles.push_back(readProfile(std::move(profile)));
  fields.refuseUnknown();
  if (out.profiles.empty()) out.profiles = defaultConfiguration().profiles;
  if (out.profiles.size() == 1 && out.profiles[0].name.empty())
    out.profiles[0].name = "koord-descheduler";
  return out;
}

}  // namespace

const std::vector<PluginRef>& ProfileConfig::at(std::string_view point) const {
  return point == "deschedule" ? deschedule
         : point == "balance"  ? balance
         : point == "evict"    ? evict
                               : filter;
}
std::vector<PluginRef>& ProfileConfig::at(std::string_view point) {
  return const_cast<std::vector<PluginRef>&>(std::as_const(*this).at(point));
}

DeschedulerConfiguration defaultConfiguration() {
  DeschedulerConfiguration configuration;
  ProfileConfig& profile = configuration.profiles.emplace_back();
  profile.name = "koord-descheduler";
  profile.path = "profiles[0]";
  for (const std::string_view point : kExtensionPoints)
    profile.at(point) = merged(defaultsAt(point), {});
  return configuration;
}

DeschedulerConfiguration readConfiguration(std::string_view text,
                                           std::vector<std::string>& errors) {
  const auto documents = parseYamlDocuments(text);
  if (!documents) {
    errors.push_back(documents.error().message);
    return defaultConfiguration();
  }
  if (documents->size() > 1) {
    errors.push_back("<document>: there are several; a configuration is one document");
    return defaultConfiguration();
  }
  Fields fields(documents->empty() ? nullptr : &documents->front(), "", errors);
  DeschedulerConfiguration out = readDocument(fields);
  std::ranges::copy(validate(out), std::back_inserter(errors));
  return out;
}

std::vector<std::string> validate(const DeschedulerConfiguration& configuration) {
  std::vector<std::string> errors;
  if (configuration.burst < 0) {
    errors.push_back(fmt::format("clientConnection.burst: Invalid value: {}: must be non-negative",
                                 configuration.burst));
  }
  kube::checkElection(configuration.leaderElection, errors);
  if (configuration.interval < Duration::zero())
    errors.emplace_back("deschedulingInterval: must not be negative; 0 means one cycle");
  for (const auto& [name, address] :
       {std::pair{"healthzBindAddress", &configuration.healthzBindAddress},
        std::pair{"metricsBindAddress", &configuration.metricsBindAddress}})
    if (const auto problem = checkBindAddress(*address); !problem.empty())
      errors.push_back(fmt::format("{}: Invalid value: \"{}\": {}", name, *address, problem));
  std::set<std::string> names;
  for (const ProfileConfig& profile : configuration.profiles) {
    if (profile.name.empty()) {
      errors.push_back(profile.path + ".name: Required value");
    } else if (!names.insert(profile.name).second) {
      errors.push_back(fmt::format("{}.name: Duplicate value: \"{}\"", profile.path, profile.name));
    }
  }
  return errors;
}

}  // namespace koord::descheduler
