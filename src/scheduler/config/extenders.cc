#include "scheduler/config/extenders.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

namespace koord::scheduler {

namespace {

ExtenderConfig::Tls readTls(Fields fields) {
  ExtenderConfig::Tls tls;
  tls.insecure = fields.boolean("insecure", false);
  tls.serverName = fields.text("serverName");
  tls.certFile = fields.text("certFile");
  tls.keyFile = fields.text("keyFile");
  tls.caFile = fields.text("caFile");
  tls.certData = fields.text("certData");
  tls.keyData = fields.text("keyData");
  tls.caData = fields.text("caData");
  fields.refuseUnknown();
  return tls;
}

ExtenderConfig readExtender(Fields& fields) {
  ExtenderConfig extender;
  extender.path = fields.path();
  extender.urlPrefix = fields.text("urlPrefix");
  extender.filterVerb = fields.text("filterVerb");
  extender.preemptVerb = fields.text("preemptVerb");
  extender.prioritizeVerb = fields.text("prioritizeVerb");
  extender.bindVerb = fields.text("bindVerb");
  extender.weight = fields.integer("weight", 0, std::numeric_limits<std::int64_t>::min(),
                                   std::numeric_limits<std::int64_t>::max());
  extender.enableHttps = fields.boolean("enableHTTPS", false);
  extender.tls = readTls(fields.object("tlsConfig"));
  extender.httpTimeout = fields.duration("httpTimeout", extender.httpTimeout);
  if (extender.httpTimeout == Duration::zero()) extender.httpTimeout = ExtenderConfig{}.httpTimeout;
  extender.nodeCacheCapable = fields.boolean("nodeCacheCapable", false);
  for (Fields& resource : fields.list("managedResources")) {
    extender.managedResources.push_back(
        {resource.text("name"), resource.boolean("ignoredByScheduler", false)});
    resource.refuseUnknown();
  }
  extender.ignorable = fields.boolean("ignorable", false);
  if (!extender.prioritizeVerb.empty() && extender.weight <= 0) {
    fields.error("weight",
                 fmt::format("Invalid value: {}: must have a positive weight applied to it",
                             extender.weight));
  }
  fields.refuseUnknown();
  return extender;
}

}  // namespace

std::vector<ExtenderConfig> readExtenders(Fields& configuration) {
  std::vector<ExtenderConfig> extenders;
  std::set<std::string> managed;
  for (Fields& fields : configuration.list("extenders")) {
    const ExtenderConfig& extender = extenders.emplace_back(readExtender(fields));
    for (std::size_t i = 0; i < extender.managedResources.size(); ++i) {
      const std::string& name = extender.managedResources[i].name;
      if (!managed.insert(name).second) {
        fields.error(
            fmt::format("managedResources[{}].name", i),
            fmt::format("Invalid value: \"{}\": duplicate extender managed resource name", name));
      }
    }
  }
  const auto binders =
      std::ranges::count_if(extenders, [](const auto& e) { return !e.bindVerb.empty(); });
  if (binders > 1) {
    configuration.error("extenders",
                        fmt::format("Invalid value: \"found {} extenders implementing bind\": only "
                                    "one extender can implement bind",
                                    binders));
  }
  return extenders;
}

void ignoreManagedResources(SchedulerConfiguration& configuration) {
  json::array ignored;
  for (const ExtenderConfig& extender : configuration.extenders)
    for (const auto& resource : extender.managedResources)
      if (resource.ignoredByScheduler) ignored.push_back(json::string(resource.name));
  if (ignored.empty()) return;
  for (ProfileConfig& profile : configuration.profiles) {
    auto args = std::ranges::find(profile.pluginConfig, "NodeResourcesFit", &PluginArgs::name);
    if (args == profile.pluginConfig.end()) {
      profile.pluginConfig.push_back(
          {"NodeResourcesFit", json::object(), profile.path + ".NodeResourcesFit"});
      args = profile.pluginConfig.end() - 1;
    }
    if (args->args.is_null()) args->args = json::object();
    if (auto* object = args->args.if_object()) (*object)["ignoredResources"] = ignored;
  }
}

}  // namespace koord::scheduler
