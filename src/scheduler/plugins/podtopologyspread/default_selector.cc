#include "scheduler/plugins/podtopologyspread/default_selector.h"

#include <algorithm>

namespace koord::scheduler {

PodSpreadDefaults::PodSpreadDefaults(Stores& stores)
    : replicationControllers_(stores.of<api::ReplicationControllerSelection>()),
      replicaSets_(stores.of<api::ReplicaSetSelection>()),
      statefulSets_(stores.of<api::StatefulSetSelection>()) {
  const auto note = [this](const Store<api::Service>::Object& before,
                           const Store<api::Service>::Object& after) {
    const api::ObjectMeta& meta = (after ? after : before)->metadata;
    Services& here = services_[meta.namespace_];
    // A Service without a selector selects nothing.
    if (after && !after->spec.selector.empty()) {
      here[meta.name] = after->spec.selector;
    } else {
      here.erase(meta.name);
    }
    if (here.empty()) services_.erase(meta.namespace_);
  };
  for (const auto& [key, service] : stores.of<api::Service>().all()) note(nullptr, service);
  stores.of<api::Service>().listen(note);
}

api::Selector PodSpreadDefaults::selectorFor(const api::Pod& pod) const {
  api::StringMap labels;
  if (const auto here = services_.find(pod.metadata.namespace_); here != services_.end()) {
    for (const auto& [name, selector] : here->second) {
      const bool selects = std::ranges::all_of(selector, [&](const auto& wanted) {
        const auto* value = api::findIn(pod.metadata.labels, wanted.first);
        return value && *value == wanted.second;
      });
      if (selects)
        for (const auto& [key, value] : selector) labels[key] = value;
    }
  }
  const api::OwnerReference* owner = api::controllerOf(pod.metadata);
  if (!owner) return labels.empty() ? api::Selector() : api::Selector::ofLabels(labels);
  const api::ObjectKey key{pod.metadata.namespace_, owner->name};
  std::optional<api::LabelSelector> owners;
  if (owner->apiVersion == "v1" && owner->kind == "ReplicationController") {
    if (const auto controller = replicationControllers_.get(key))
      for (const auto& [name, value] : controller->spec.selector) labels[name] = value;
  } else if (owner->apiVersion == "apps/v1" && owner->kind == "ReplicaSet") {
    if (const auto set = replicaSets_.get(key)) owners = set->spec.selector;
  } else if (owner->apiVersion == "apps/v1" && owner->kind == "StatefulSet") {
    if (const auto set = statefulSets_.get(key)) owners = set->spec.selector;
  }
  auto requirements = api::Selector::ofLabels(labels).requirements();
  if (owners) {
    if (const auto selector = api::Selector::compile(*owners))
      std::ranges::copy(selector->requirements(), std::back_inserter(requirements));
  }
  return api::Selector::of(std::move(requirements)).value_or(api::Selector());
}

}  // namespace koord::scheduler
