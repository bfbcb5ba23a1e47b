#include "manager/common/config_watcher.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"

namespace koord::manager {

namespace {

constexpr std::chrono::seconds kReplacing{30};

}  // namespace

ConfigWatcher::ConfigWatcher(kube::Api& api, Executor& executor, kube::EventRecorder& events,
                             std::string configNamespace, std::string configName, Random random)
    : executor_(executor),
      events_(events),
      key_{std::move(configNamespace), std::move(configName)},
      informer_(api, executor, {key_.namespace_, "", "metadata.name=" + key_.name}, random) {
  informer_.addHandler({[this](const auto& added) { update(added.get()); },
                        [this](const auto&, const auto& now) { update(now.get()); },
                        [this](const auto& gone) { deleted(*gone); }});
  informer_.onSynced([this] {
    if (informer_.size() == 0) {
      log::warn("ConfigMap {} does not exist: the defaults are in force, co-location is off",
                key_.toString());
      update(nullptr);
    }
  });
}

ConfigWatcher::~ConfigWatcher() {
  executor_.cancel(forgetting_);
}

void ConfigWatcher::deleted(const api::ConfigMap& configMap) {
  if (configMap.metadata.name != key_.name) return;
  const std::string message = fmt::format(
      "ConfigMap {} was deleted: its values stay in force for {} s, then the defaults, and "
      "co-location is off",
      key_.toString(), kReplacing.count());
  log::warn("{}", message);
  events_.record(kube::referenceTo(api::ConfigMap::kType, configMap.metadata), "Warning",
                 "ConfigMapDeleted", message);
  forgetting_ = executor_.runAfter(kReplacing, [this] {
    api::ConfigMap empty;
    empty.metadata.name = key_.name;
    update(&empty);
  });
}

void ConfigWatcher::update(const api::ConfigMap* configMap) {
  if (configMap && configMap->metadata.name != key_.name) return;
  executor_.cancel(std::exchange(forgetting_, 0));
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
