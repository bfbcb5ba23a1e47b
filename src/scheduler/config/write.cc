// A configuration as a document again: KubeSchedulerConfiguration v1 with everything that is in
// force, defaults included.

#include "base/time.h"
#include "base/yaml.h"
#include "scheduler/config/types.h"

namespace koord::scheduler {

namespace {

json::value pluginList(const std::vector<PluginRef>& plugins) {
  json::array list;
  for (const PluginRef& plugin : plugins) {
    json::object entry{{"name", plugin.name}};
    if (plugin.weight != 0) entry.emplace("weight", plugin.weight);
    list.push_back(std::move(entry));
  }
  return list;
}

json::value setDocument(const PluginSet& set) {
  json::object document;
  if (!set.enabled.empty()) document.emplace("enabled", pluginList(set.enabled));
  json::array disabled;
  for (const auto& name : set.disabled) disabled.push_back(json::object{{"name", name}});
  if (!disabled.empty()) document.emplace("disabled", std::move(disabled));
  return document;
}

// What multiPoint comes to is written as what replaces all defaults, so that reading it gives the
// same order whatever the defaults are by then.
json::value profileDocument(const ProfileConfig& profile) {
  json::object plugins;
  PluginSet multi;
  for (const auto& [point, set] : profile.plugins) {
    if (point == "multiPoint") {
      multi = set;
    } else {
      plugins.emplace(point, setDocument(set));
    }
  }
  plugins.emplace("multiPoint", setDocument({mergePlugins(defaultPlugins(), multi), {"*"}}));
  json::array args;
  for (const PluginArgs& entry : profile.pluginConfig) {
    json::object item{{"name", entry.name}};
    if (!entry.args.is_null()) item.emplace("args", entry.args);
    args.push_back(std::move(item));
  }
  json::object document{{"schedulerName", profile.schedulerName}, {"plugins", std::move(plugins)}};
  if (profile.percentageOfNodesToScore)
    document.emplace("percentageOfNodesToScore", *profile.percentageOfNodesToScore);
  if (!args.empty()) document.emplace("pluginConfig", std::move(args));
  return document;
}

json::value extenderDocument(const ExtenderConfig& extender) {
  json::object document{{"urlPrefix", extender.urlPrefix},
                        {"weight", extender.weight},
                        {"enableHTTPS", extender.enableHttps},
                        {"httpTimeout", formatDuration(extender.httpTimeout)},
                        {"nodeCacheCapable", extender.nodeCacheCapable},
                        {"ignorable", extender.ignorable}};
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
    add(settings, "keyData", tls.keyData);
    add(settings, "caData", tls.caData);
    document.emplace("tlsConfig", std::move(settings));
  }
  json::array managed;
  for (const auto& resource : extender.managedResources) {
    managed.push_back(
        json::object{{"name", resource.name}, {"ignoredByScheduler", resource.ignoredByScheduler}});
  }
  if (!managed.empty()) document.emplace("managedResources", std::move(managed));
  return document;
}

}  // namespace

std::string writeConfiguration(const SchedulerConfiguration& configuration) {
  const LeaderElectionConfig& election = configuration.leaderElection;
  json::array profiles, extenders;
  for (const auto& profile : configuration.profiles) profiles.push_back(profileDocument(profile));
  for (const auto& extender : configuration.extenders)
    extenders.push_back(extenderDocument(extender));
  json::object document{
      {"apiVersion", "kubescheduler.config.k8s.io/v1"},
      {"kind", "KubeSchedulerConfiguration"},
      {"parallelism", configuration.parallelism},
      {"leaderElection", json::object{{"leaderElect", election.leaderElect},
                                      {"leaseDuration", formatDuration(election.leaseDuration)},
                                      {"renewDeadline", formatDuration(election.renewDeadline)},
                                      {"retryPeriod", formatDuration(election.retryPeriod)},
                                      {"resourceLock", election.resourceLock},
                                      {"resourceName", election.resourceName},
                                      {"resourceNamespace", election.resourceNamespace}}},
      {"clientConnection", json::object{{"kubeconfig", configuration.kubeconfig},
                                        {"qps", configuration.qps},
                                        {"burst", configuration.burst}}},
      {"enableProfiling", configuration.enableProfiling},
      {"enableContentionProfiling", configuration.enableContentionProfiling},
      {"percentageOfNodesToScore", configuration.percentageOfNodesToScore},
      {"podInitialBackoffSeconds", configuration.podInitialBackoffSeconds},
      {"podMaxBackoffSeconds", configuration.podMaxBackoffSeconds},
      {"delayCacheUntilActive", configuration.delayCacheUntilActive},
      {"profiles", std::move(profiles)}};
  if (!extenders.empty()) document.emplace("extenders", std::move(extenders));
  return toYaml(document);
}

}  // namespace koord::scheduler
