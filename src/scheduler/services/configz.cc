#include "scheduler/services/configz.h"

#include <cctype>

#include "base/time.h"

namespace koord::scheduler {

namespace {

std::string exported(std::string_view name) {
  std::string text(name);
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

json::value pluginSet(const std::vector<PluginRef>& enabled,
                      const std::vector<std::string>& disabled) {
  json::array on, off;
  for (const auto& plugin : enabled)
    on.push_back(json::object{{"Name", plugin.name}, {"Weight", plugin.weight}});
  for (const auto& name : disabled) off.push_back(json::object{{"Name", name}, {"Weight", 0}});
  return json::object{{"Enabled", std::move(on)}, {"Disabled", std::move(off)}};
}

json::value profileJson(const ProfileConfig& profile) {
  json::object plugins;
  for (const std::string_view point : kExtensionPoints) {
    const auto set = profile.plugins.find(point);
    plugins.emplace(exported(point), set == profile.plugins.end()
                                         ? pluginSet({}, {})
                                         : pluginSet(set->second.enabled, set->second.disabled));
  }
  const auto multi = profile.plugins.find("multiPoint");
  const PluginSet own = multi == profile.plugins.end() ? PluginSet{} : multi->second;
  plugins.emplace("MultiPoint", pluginSet(mergePlugins(defaultPlugins(), own), own.disabled));
  json::array args;
  for (const auto& entry : profile.pluginConfig)
    args.push_back(json::object{{"Name", entry.name}, {"Args", entry.args}});
  json::object result{{"SchedulerName", profile.schedulerName},
                      {"PercentageOfNodesToScore", nullptr},
                      {"Plugins", std::move(plugins)},
                      {"PluginConfig", std::move(args)}};
  if (profile.percentageOfNodesToScore)
    result["PercentageOfNodesToScore"] = *profile.percentageOfNodesToScore;
  return result;
}

json::value extenderJson(const ExtenderConfig& extender) {
  json::array managed;
  for (const auto& resource : extender.managedResources)
    managed.push_back(
        json::object{{"Name", resource.name}, {"IgnoredByScheduler", resource.ignoredByScheduler}});
  // No keys: who reads the configuration need not be trusted with them.
  return json::object{{"URLPrefix", extender.urlPrefix},
                      {"FilterVerb", extender.filterVerb},
                      {"PreemptVerb", extender.preemptVerb},
                      {"PrioritizeVerb", extender.prioritizeVerb},
                      {"Weight", extender.weight},
                      {"BindVerb", extender.bindVerb},
                      {"EnableHTTPS", extender.enableHttps},
                      {"HTTPTimeout", formatDuration(extender.httpTimeout)},
                      {"NodeCacheCapable", extender.nodeCacheCapable},
                      {"ManagedResources", std::move(managed)},
                      {"Ignorable", extender.ignorable}};
}

}  // namespace

json::value configz(const SchedulerConfiguration& configuration) {
  json::array profiles, extenders;
  for (const auto& profile : configuration.profiles) profiles.push_back(profileJson(profile));
  for (const auto& extender : configuration.extenders) extenders.push_back(extenderJson(extender));
  const LeaderElectionConfig& election = configuration.leaderElection;
  json::object config{
      {"Parallelism", configuration.parallelism},
      {"LeaderElection", json::object{{"LeaderElect", election.leaderElect},
                                      {"LeaseDuration", formatDuration(election.leaseDuration)},
                                      {"RenewDeadline", formatDuration(election.renewDeadline)},
                                      {"RetryPeriod", formatDuration(election.retryPeriod)},
                                      {"ResourceLock", election.resourceLock},
                                      {"ResourceName", election.resourceName},
                                      {"ResourceNamespace", election.resourceNamespace}}},
      {"ClientConnection", json::object{{"Kubeconfig", configuration.kubeconfig},
                                        {"QPS", configuration.qps},
                                        {"Burst", configuration.burst}}},
      {"EnableProfiling", configuration.enableProfiling},
      {"EnableContentionProfiling", configuration.enableContentionProfiling},
      {"PercentageOfNodesToScore", configuration.percentageOfNodesToScore},
      {"PodInitialBackoffSeconds", configuration.podInitialBackoffSeconds},
      {"PodMaxBackoffSeconds", configuration.podMaxBackoffSeconds},
      {"Profiles", std::move(profiles)},
      {"Extenders", std::move(extenders)},
      {"DelayCacheUntilActive", configuration.delayCacheUntilActive}};
  return json::object{{"componentconfig", std::move(config)}};
}

}  // namespace koord::scheduler
