// Writes a configuration as a document: KubeSchedulerConfiguration v1 with all effective values,
// including defaults.

#include <algorithm>
#include <cmath>
#include <set>

#include "base/time.h"
#include "base/yaml.h"
#include "net/public_url.h"
#include "scheduler/config/plugin_args.h"
#include "scheduler/config/types.h"

namespace koord::scheduler {

namespace {

json::value pluginList(const std::vector<PluginRef>& plugins) {
  json::array list;
  for (const PluginRef& plugin : plugins)
    list.push_back(json::object{{"name", plugin.name}, {"weight", plugin.weight}});
  return list;
}

json::value setDocument(const PluginSet& set) {
  json::object document;
  if (!set.enabled.empty()) document.emplace("enabled", pluginList(set.enabled));
  json::array disabled;
  for (const auto& name : set.disabled)
    disabled.push_back(json::object{{"name", name}, {"weight", 0}});
  if (!disabled.empty()) document.emplace("disabled", std::move(disabled));
  return document;
}

const PluginSet& setOf(const ProfileConfig& profile, std::string_view point) {
  static const PluginSet kEmpty;
  const auto set = profile.plugins.find(point);
  return set == profile.plugins.end() ? kEmpty : set->second;
}

// Only for plugins that the profile uses.
json::array pluginConfig(const ProfileConfig& profile, const std::vector<PluginRef>& multiPoint) {
  std::set<std::string> used;
  for (const PluginRef& plugin : multiPoint) used.insert(plugin.name);
  for (const std::string_view point : kExtensionPoints)
    for (const PluginRef& plugin : setOf(profile, point).enabled) used.insert(plugin.name);
  json::array list;
  for (const std::string& name : used) {
    const auto given = std::ranges::find(profile.pluginConfig, name, &PluginArgs::name);
    json::value args =
        argsInForce(name, given == profile.pluginConfig.end() ? json::value() : given->args);
    if (!args.is_null()) list.push_back(json::object{{"name", name}, {"args", std::move(args)}});
  }
  return list;
}

json::value profileDocument(const ProfileConfig& profile) {
  json::object plugins;
  for (const std::string_view point : kExtensionPoints)
    plugins.emplace(point, setDocument(setOf(profile, point)));
  const PluginSet& own = setOf(profile, "multiPoint");
  PluginSet multiPoint{mergePlugins(defaultPlugins(), own), own.disabled};
  json::array args = pluginConfig(profile, multiPoint.enabled);
  plugins.emplace("multiPoint", setDocument(multiPoint));
  json::object document{{"schedulerName", profile.schedulerName}, {"plugins", std::move(plugins)}};
  if (profile.percentageOfNodesToScore)
    document.emplace("percentageOfNodesToScore", *profile.percentageOfNodesToScore);
  if (!args.empty()) document.emplace("pluginConfig", std::move(args));
  return document;
}

json::value extenderDocument(const ExtenderConfig& extender, Secrets secrets) {
  const std::string& url = extender.urlPrefix;
  json::object document{
      {"urlPrefix", secrets == Secrets::Written ? url : net::withoutCredentials(url)},
      {"httpTimeout", formatDuration(extender.httpTimeout)}};
  if (extender.weight != 0) document.emplace("weight", extender.weight);
  if (extender.enableHttps) document.emplace("enableHTTPS", true);
  if (extender.nodeCacheCapable) document.emplace("nodeCacheCapable", true);
  if (extender.ignorable) document.emplace("ignorable", true);
  const auto add = [](json::object& into, std::string_view name, const std::string& value) {
    if (!value.empty()) into.emplace(name, value);
  };
  add(document, "filterVerb", extender.filterVerb);
  add(document, "preemptVerb", extender.preemptVerb);
  add(document, "prioritizeVerb", extender.prioritizeVerb);
  add(document, "bindVerb", extender.bindVerb);
  const auto& tls = extender.tls;
  if (tls != ExtenderConfig::Tls{}) {
    json::object settings{{"insecure", tls.insecure}};
    add(settings, "serverName", tls.serverName);
    add(settings, "certFile", tls.certFile);
    add(settings, "keyFile", tls.keyFile);
    add(settings, "caFile", tls.caFile);
    add(settings, "certData", tls.certData);
    if (secrets == Secrets::Written) add(settings, "keyData", tls.keyData);
    add(settings, "caData", tls.caData);
    document.emplace("tlsConfig", std::move(settings));
  }
  json::array managed;
  for (const auto& resource : extender.managedResources) {
    json::object entry{{"name", resource.name}};
    if (resource.ignoredByScheduler) entry.emplace("ignoredByScheduler", true);
    managed.push_back(std::move(entry));
  }
  if (!managed.empty()) document.emplace("managedResources", std::move(managed));
  return document;
}

// Writes whole numbers without an exponent.
json::value numberOf(double number) {
  constexpr double kExact = 1LL << 53;  // up to this value all whole numbers are exact doubles
  const bool whole = std::abs(number) <= kExact && number == std::trunc(number);
  return whole ? json::value(static_cast<std::int64_t>(number)) : json::value(number);
}

}  // namespace

json::value configurationDocument(const SchedulerConfiguration& configuration, Secrets secrets) {
  json::array profiles, extenders;
  for (const auto& profile : configuration.profiles) profiles.push_back(profileDocument(profile));
  for (const auto& extender : configuration.extenders)
    extenders.push_back(extenderDocument(extender, secrets));
  json::object document{
      {"apiVersion", "kubescheduler.config.k8s.io/v1"},
      {"kind", "KubeSchedulerConfiguration"},
      {"parallelism", configuration.parallelism},
      {"leaderElection", kube::electionDocument(configuration.leaderElection)},
      {"clientConnection", json::object{{"kubeconfig", configuration.kubeconfig},
                                        {"acceptContentTypes", configuration.acceptContentTypes},
                                        {"contentType", configuration.contentType},
                                        {"qps", numberOf(configuration.qps)},
                                        {"burst", configuration.burst}}},
      {"enableProfiling", configuration.enableProfiling},
      {"enableContentionProfiling", configuration.enableContentionProfiling},
      {"percentageOfNodesToScore", configuration.percentageOfNodesToScore},
      {"podInitialBackoffSeconds", configuration.podInitialBackoffSeconds},
      {"podMaxBackoffSeconds", configuration.podMaxBackoffSeconds},
      {"profiles", std::move(profiles)}};
  if (configuration.delayCacheUntilActive) document.emplace("delayCacheUntilActive", true);
  if (!extenders.empty()) document.emplace("extenders", std::move(extenders));
  return document;
}

std::string writeConfiguration(const SchedulerConfiguration& configuration) {
  return toYaml(configurationDocument(configuration, Secrets::Written));
}

}  // namespace koord::scheduler
