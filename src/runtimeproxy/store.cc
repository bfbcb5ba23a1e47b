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
  return found == containers_.end() ? nullptr : found->second.now;
}

namespace {

ContainerPtr changed(const ContainerRecord& record, const ContainerChange& change) {
  auto copy = std::make_shared<ContainerRecord>(record);
  change(copy->own);
  return copy;
}

}  // namespace

// Merges the oldest completed updates into the settled record. A completed update after a running
// one waits for it, because the order matters.
void Store::settle(Known& known) {
  auto& updates = known.updates;
  while (!updates.empty() && updates.front()->applied) {
    known.settled = changed(*known.settled, updates.front()->change);
    updates.erase(updates.begin());
  }
  known.now = known.settled;
  for (const auto& update : updates) known.now = changed(*known.now, update->change);
}

void Store::put(const std::string& id, ContainerPtr container) {
  Known& known = containers_[id];
  known.settled = std::move(container);
  settle(known);
}

void Store::change(const std::string& id, const ContainerChange& change) {
  const auto found = containers_.find(id);
  if (found == containers_.end()) return;
  found->second.settled = changed(*found->second.settled, change);
  settle(found->second);
}

std::shared_ptr<Store::Update> Store::begin(const std::string& id, ContainerChange change) {
  const auto found = containers_.find(id);
  if (found == containers_.end()) return nullptr;
  auto update = std::make_shared<Update>(Update{std::move(change), false});
  found->second.updates.push_back(update);
  settle(found->second);
  return update;
}

void Store::end(const std::string& id, const std::shared_ptr<Update>& update, bool applied) {
  const auto found = containers_.find(id);
  if (found == containers_.end()) return;
  update->applied = applied;
  if (!applied) std::erase(found->second.updates, update);
  settle(found->second);
}

void Store::eraseContainersOf(const std::string& podId) {
  std::erase_if(containers_, [&](const auto& entry) { return entry.second.now->podId == podId; });
}

std::optional<Resources> beginUpdate(Store& store, const std::string& id, const Resources& request,
                                     const runtimehook::ContainerResourceHookRequest& asked,
                                     const runtimehook::ContainerResourceHookRequest& answered,
                                     bool changed, PendingUpdate& into) {
  if (!changed) {
    into = PendingUpdate(store, id, [request](auto& known) {
      mergeUpdate(request, *known.mutable_container_resources());
    });
    return std::nullopt;
  }
  // Includes the changes of other calls since this one began.
  const ContainerPtr now = store.container(id);
  auto all = now ? now->own : asked;
  mergeUpdate(request, *all.mutable_container_resources());
  mergeChanges(asked, answered, all);
  Resources whole = all.container_resources();
  into = PendingUpdate(store, id, [asked, answered, whole](auto& known) {
    mergeChanges(asked, answered, known);
    *known.mutable_container_resources() = whole;
  });
  return whole;
}

}  // namespace koord::runtimeproxy
