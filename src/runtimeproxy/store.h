#pragma once

// The proxy's records of the runtime's pods and containers, from which hook requests are filled. In
// memory only: the runtime is the source of truth (runtime_view.h).
//
// Records are shared and immutable; a change replaces the record. A running call keeps the record
// that it began with, and at its end merges only its own changes into the current record: kubelet's
// CPU manager and a resize may update one container at the same time. Updates that are on their way
// to the runtime are kept apart from the settled record, in order, so that a failed update leaves
// no trace in the updates of other calls.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime_hook.pb.h"

namespace koord::runtimeproxy {

struct PodRecord {
  runtimehook::PodSandboxHookRequest info;
  bool complete = true;  // false: as listed, without the cgroup; the runtime has it
};
using PodPtr = std::shared_ptr<const PodRecord>;

struct ContainerRecord {
  std::string podId;
  PodPtr pod;  // as of the container's creation; nullptr if unknown
  runtimehook::ContainerResourceHookRequest own;  // all but the pod's labels and annotations
  bool complete = true;  // false: as listed, without resources and environment

  // `own` with the pod's part.
  runtimehook::ContainerResourceHookRequest info() const;
};
using ContainerPtr = std::shared_ptr<const ContainerRecord>;

// Applies a call's changes to a container.
using ContainerChange = std::function<void(runtimehook::ContainerResourceHookRequest& known)>;

class Store {
 public:
  PodPtr pod(const std::string& id) const;
  // The record with the updates that are on their way to the runtime.
  ContainerPtr container(const std::string& id) const;
  void put(const std::string& id, PodPtr pod) { pods_[id] = std::move(pod); }
  void put(const std::string& id, ContainerPtr container);
  // Does nothing if the container has been removed.
  void change(const std::string& id, const ContainerChange& change);
  void erasePod(const std::string& id) { pods_.erase(id); }
  void eraseContainer(const std::string& id) { containers_.erase(id); }
  // Called when a sandbox is removed.
  void eraseContainersOf(const std::string& podId);
  std::size_t pods() const { return pods_.size(); }
  std::size_t containers() const { return containers_.size(); }

 private:
  friend class PendingUpdate;
  struct Update {
    ContainerChange change;
    bool applied = false;  // else it is on its way
  };
  struct Known {
    ContainerPtr settled;                          // without the updates
    std::vector<std::shared_ptr<Update>> updates;  // in the order in which they were sent
    ContainerPtr now;                              // with them
  };
  static void settle(Known& known);
  std::shared_ptr<Update> begin(const std::string& id, ContainerChange change);
  void end(const std::string& id, const std::shared_ptr<Update>& update, bool applied);

  std::unordered_map<std::string, PodPtr> pods_;
  std::unordered_map<std::string, Known> containers_;
};

// An update that has been sent to the runtime and not answered yet. Other calls see it, because a
// later update has all fields and must not undo it. Destroying it reverts the update unless keep()
// was called, also if its caller has disconnected.
class PendingUpdate {
 public:
  PendingUpdate() = default;
  PendingUpdate(Store& store, std::string id, ContainerChange change)
      : store_(&store), id_(std::move(id)), update_(store.begin(id_, std::move(change))) {}
  PendingUpdate(const PendingUpdate&) = delete;
  PendingUpdate(PendingUpdate&& other) noexcept { *this = std::move(other); }
  PendingUpdate& operator=(PendingUpdate&& other) noexcept {
    std::swap(store_, other.store_);
    std::swap(id_, other.id_);
    std::swap(update_, other.update_);
    return *this;
  }
  ~PendingUpdate() { end(false); }
  void keep() { end(true); }

 private:
  void end(bool applied) {
    if (const auto update = std::exchange(update_, nullptr)) store_->end(id_, update, applied);
  }

  Store* store_ = nullptr;
  std::string id_;
  std::shared_ptr<Store::Update> update_;
};

// Called when the hooks have agreed to an update; adds it to the store as on its way. `asked` is
// the record that the hooks got, with the request merged in; `answered` is the record after their
// answers. Returns the resources to send instead of the request's; nullopt: the hooks changed
// nothing, send the request unchanged.
std::optional<runtimehook::LinuxContainerResources> beginUpdate(
    Store& store, const std::string& id, const runtimehook::LinuxContainerResources& request,
    const runtimehook::ContainerResourceHookRequest& asked,
    const runtimehook::ContainerResourceHookRequest& answered, bool changed, PendingUpdate& into);

}  // namespace koord::runtimeproxy
