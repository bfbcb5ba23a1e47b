#include <cmath>

#include "base/time.h"
#include "base/yaml.h"
#include "descheduler/config/types.h"

namespace koord::descheduler {

namespace {

json::array names(const std::vector<PluginRef>& plugins) {
  json::array list;
  for (const auto& plugin : plugins) list.push_back(json::object{{"name", plugin.name}});
  return list;
}

json::value profileDocument(const ProfileConfig& profile) {
  json::object plugins;
  for (const std::string_view point : kExtensionPoints) {
    // Disables the defaults, so that reading the document does not add them.
    json::object set{{"enabled", names(profile.at(point))}};
    if (point == "evict" || point == "filter")
      set.emplace("disabled", json::array{json::object{{"name", "*"}}});
    plugins.emplace(point, std::move(set));
  }
  json::object document{{"name", profile.name}, {"plugins", std::move(plugins)}};
  if (!profile.nodeSelector.is_null()) document.emplace("nodeSelector", profile.nodeSelector);
  json::array config;
  for (const PluginArgs& args : profile.pluginConfig) {
    json::object shown{{"apiVersion", json::string(kConfigApiVersion)},
                       {"kind", args.name + "Args"}};
    if (const auto* object = args.args.if_object())
      for (const auto& member : *object) shown.insert_or_assign(member.key(), member.value());
    config.push_back(json::object{{"name", args.name}, {"args", std::move(shown)}});
  }
  if (!config.empty()) document.emplace("pluginConfig", std::move(config));
  return document;
}

// Shows whole numbers without an exponent.
json::value shownNumber(double number) {
  constexpr double kExact = 1LL << 53;
  const bool whole = std::abs(number) <= kExact && number == std::trunc(number);
  return whole ? json::value(static_cast<std::int64_t>(number)) : json::value(number);
}

}  // namespace

json::value configurationDocument(const DeschedulerConfiguration& configuration) {
  json::array profiles;
  for (const auto& profile : configuration.profiles) profiles.push_back(profileDocument(profile));
  json::object document{
      {"apiVersion", json::string(kConfigApiVersion)},
      {"kind", "DeschedulerConfiguration"},
      {"leaderElection", kube::electionDocument(configuration.leaderElection)},
      {"clientConnection", json::object{{"kubeconfig", configuration.kubeconfig},
                                        {"acceptContentTypes", configuration.acceptContentTypes},
                                        {"contentType", configuration.contentType},
                                        {"qps", shownNumber(configuration.qps)},
                                        {"burst", configuration.burst}}},
      {"enableProfiling", configuration.enableProfiling},
      {"enableContentionProfiling", configuration.enableContentionProfiling},
      {"healthzBindAddress", configuration.healthzBindAddress},
      {"metricsBindAddress", configuration.metricsBindAddress},
      {"deschedulingInterval", formatDuration(configuration.interval)},
      {"dryRun", configuration.dryRun},
      {"profiles", std::move(profiles)}};
  if (!configuration.nodeSelector.is_null())
    document.emplace("nodeSelector", configuration.nodeSelector);
  const auto limit = [&](const char* name, const std::optional<std::uint32_t>& value) {
    if (value) document.emplace(name, *value);
  };
  limit("maxNoOfPodsToEvictPerNode", configuration.maxPerNode);
  limit("maxNoOfPodsToEvictPerNamespace", configuration.maxPerNamespace);
  limit("maxNoOfPodsToEvictTotal", configuration.maxTotal);
  return document;
}

std::string writeConfiguration(const DeschedulerConfiguration& configuration) {
  return toYaml(configurationDocument(configuration));
}

}  // namespace koord::descheduler
