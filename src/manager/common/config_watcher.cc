#include "manager/common/config_watcher.h"

namespace koord::manager {

ConfigWatcher::ConfigWatcher(kube::Api& api, Executor& executor, kube::EventRecorder& events,
                             std::string configNamespace, std::string configName, Random random)
    : events_(events),
      key_{std::move(configNamespace), std::move(configName)},
      informer_(api, executor, {key_.namespace_, "", "metadata.name=" + key_.name}, random) {
  informer_.addHandler({[this](const auto& added) { update(added.get()); },
                        [this](const auto&, const auto& now) { update(now.get()); },
                        [this](const auto&) {
                          log::warn("ConfigMap {} is gone; its last values stay in force",
                                    key_.toString());
                        }});
  informer_.onSynced([this] {
    if (informer_.size() == 0) {
      log::warn("there is no ConfigMap {}: defaults are in force, co-location is off",
                key_.toString());
      update(nullptr);
    }
  });
}

void ConfigWatcher::update(const api::ConfigMap* configMap) {
  if (configMap && configMap->metadata.name != key_.name) return;
  const auto colocation = colocation_.update(configMap);
  const auto nodeSlo = nodeSlo_.update(configMap);
  report(configMap, colocation.problems);
  report(configMap, nodeSlo.problems);
  const auto ratios = ratios_.update(configMap);
  report(configMap, ratios.problems);
  if (colocation.changed)
    for (const auto& listener : colocationListeners_) listener();
  if (nodeSlo.changed)
    for (const auto& listener : nodeSloListeners_) listener();
  if (ratios.changed)
    for (const auto& listener : ratioListeners_) listener();
}

void ConfigWatcher::report(const api::ConfigMap* configMap,
                           const std::vector<model::ConfigProblem>& problems) {
  for (const auto& problem : problems) {
    log::warn("ConfigMap {}: {}", key_.toString(), problem.message);
    events_.record(kube::referenceTo(api::ConfigMap::kType, configMap->metadata), "Warning",
                   problem.reason, problem.message);
  }
}

}  // namespace koord::manager
