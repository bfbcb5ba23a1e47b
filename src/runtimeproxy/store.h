#pragma once

// What the proxy knows of the pods and containers of the runtime, so that every hook request can
// tell all of it. In memory only: the runtime itself is the record (runtime_view.h).
//
// Records are shared and never changed in place; who changes one puts another in its place. Calls
// that are under way keep what they began with, and put only what they change into the record as it
// is then: kubelet's CPU manager and a resize may update one container at the same time. Updates that
// are on their way to the runtime are kept apart from what is settled, in their order, so that one
// that does not happen leaves no trace, whatever others have done meanwhile.

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
  bool complete = true;  // false: as listed; the runtime can tell more (the cgroup)
};
using PodPtr = std::shared_ptr<const PodRecord>;

struct ContainerRecord {
  std::string podId;
  PodPtr pod;  // as it was when the container was made; null when nobody knows
  runtimehook::ContainerResourceHookRequest own;  // all but the pod's labels and annotations
  bool complete = true;  // false: as listed; the runtime can tell more (resources, environment)

  // With the pod's part.
  runtimehook::ContainerResourceHookRequest info() const;
};
using ContainerPtr = std::shared_ptr<const ContainerRecord>;

// What a call changes of a container.
using ContainerChange = std::function<void(runtimehook::ContainerResourceHookRequest& known)>;

class Store {
 public:
  PodPtr pod(const std::string& id) const;
  // With the updates that are on their way to the runtime.
  ContainerPtr container(const std::string& id) const;
  void put(const std::string& id, PodPtr pod) { pods_[id] = std::move(pod); }
  void put(const std::string& id, ContainerPtr container);
  // A container that is gone meanwhile stays gone.
  void change(const std::string& id, const ContainerChange& change);
  void erasePod(const std::string& id) { pods_.erase(id); }
  void eraseContainer(const std::string& id) { containers_.erase(id); }
  // Those of a sandbox that is removed go with it.
  void eraseContainersOf(const std::string& podId);
  std::size_t pods() const { return pods_.size(); }
  std::size_t containers() const { return containers_.size(); }

 private:
  friend class PendingUpdate;
  struct Update {
    ContainerChange change;
    bool happened = false;  // else it is under way
  };
  struct Known {
    ContainerPtr settled;                          // without the updates
    std::vector<std::shared_ptr<Update>> updates;  // in the order in which they were sent
    ContainerPtr now;                              // with them
  };
  static void settle(Known& known);
  std::shared_ptr<Update> begin(const std::string& id, ContainerChange change);
  void end(const std::string& id, const std::shared_ptr<Update>& update, bool happened);

  std::unordered_map<std::string, PodPtr> pods_;
  std::unordered_map<std::string, Known> containers_;
};

// An update that has been sent to the runtime, and of which nobody knows yet whether it happens: others count with it,
// since one that is sent later says all that is known and must not undo it. With its end it never was, unless it has
// been kept. So it is, too, when its caller leaves and nobody carries it on.
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
  void end(bool happened) {
    if (const auto update = std::exchange(update_, nullptr)) store_->end(id_, update, happened);
  }

  Store* store_ = nullptr;
  std::string id_;
  std::shared_ptr<Store::Update> update_;
};

// Of an update that its hooks have agreed to: from now on it is on its way. `asked` is what was known as they were asked,
// the request's part in it, and `answered` what they made of that. What the runtime is to be sent in place of the
// request; absent: the request as it is, for the hooks changed nothing.
std::optional<runtimehook::LinuxContainerResources> beginUpdate(
    Store& store, const std::string& id, const runtimehook::LinuxContainerResources& request,
    const runtimehook::ContainerResourceHookRequest& asked,
    const runtimehook::ContainerResourceHookRequest& answered, bool changed, PendingUpdate& into);

}  // namespace koord::runtimeproxy
