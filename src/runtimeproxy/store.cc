#include "runtimeproxy/store.h"

#include "runtimeproxy/merge.h"

namespace koord::runtimeproxy {

runtimehook::ContainerResourceHookRequest ContainerRecord::info() const {
  runtimehook::ContainerResourceHookRequest all = own;
  if (!pod) return all;
  *all.mutable_pod_meta() = pod->info.pod_meta();
  *all.mutable_pod_annotations() = pod->info.annotations();
  *all.mutable_pod_labels() = pod->info.labels();
  if (pod->info.has_resources()) *all.mutable_pod_resources() = pod->info.resources();
  if (all.pod_cgroup_parent().empty()) all.set_pod_cgroup_parent(pod->info.cgroup_parent());
  return all;
}

PodPtr Store::pod(const std::string& id) const {
  const auto found = pods_.find(id);
  return found == pods_.end() ? nullptr : found->second;
}

ContainerPtr Store::container(const std::string& id) const {
  const auto found = containers_.find(id);
  return found == containers_.end() ? nullptr : found->second;
}

void Store::change(const std::string& id, const runtimehook::ContainerResourceHookRequest& before,
                   const runtimehook::ContainerResourceHookRequest& after) {
  const auto found = containers_.find(id);
  if (found == containers_.end()) return;
  auto record = std::make_shared<ContainerRecord>(*found->second);
  mergeChanges(before, after, record->own);
  found->second = std::move(record);
}

void Store::takeBack(const std::string& id, const runtimehook::ContainerResourceHookRequest& before,
                     const runtimehook::ContainerResourceHookRequest& after) {
  const auto found = containers_.find(id);
  if (found == containers_.end()) return;
  auto record = std::make_shared<ContainerRecord>(*found->second);
  takeBackChanges(before, after, record->own);
  found->second = std::move(record);
}

void Store::eraseContainersOf(const std::string& podId) {
  std::erase_if(containers_, [&](const auto& entry) { return entry.second->podId == podId; });
}

}  // namespace koord::runtimeproxy
