#pragma once

// What the proxy knows of the pods and containers of the runtime, so that every hook request can
// tell all of it. In memory only: the runtime itself is the record (runtime_view.h).
//
// Records are shared and never changed in place; who changes one puts another in its place. Calls
// that are under way keep what they began with, and put only what they change into the record as it
// is then: kubelet's CPU manager and a resize may update one container at the same time.

#include <memory>
#include <string>
#include <unordered_map>

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

class Store {
 public:
  PodPtr pod(const std::string& id) const;
  ContainerPtr container(const std::string& id) const;
  void put(const std::string& id, PodPtr pod) { pods_[id] = std::move(pod); }
  void put(const std::string& id, ContainerPtr container) {
    containers_[id] = std::move(container);
  }
  // What a call has changed between the two. A container that is gone meanwhile stays gone.
  void change(const std::string& id, const runtimehook::ContainerResourceHookRequest& before,
              const runtimehook::ContainerResourceHookRequest& after);
  // Such a change did not happen after all.
  void takeBack(const std::string& id, const runtimehook::ContainerResourceHookRequest& before,
                const runtimehook::ContainerResourceHookRequest& after);
  void erasePod(const std::string& id) { pods_.erase(id); }
  void eraseContainer(const std::string& id) { containers_.erase(id); }
  // Those of a sandbox that is removed go with it.
  void eraseContainersOf(const std::string& podId);
  std::size_t pods() const { return pods_.size(); }
  std::size_t containers() const { return containers_.size(); }

 private:
  std::unordered_map<std::string, PodPtr> pods_;
  std::unordered_map<std::string, ContainerPtr> containers_;
};

// An update that others know of already, and of which nobody knows yet whether it happens: with its end it is taken
// back, unless it has been kept. So it is, too, when its caller leaves and nobody carries it on.
class PendingUpdate {
 public:
  PendingUpdate() = default;
  PendingUpdate(Store& store, std::string id, runtimehook::ContainerResourceHookRequest before)
      : store_(&store), id_(std::move(id)), before_(std::move(before)), now_(before_) {}
  PendingUpdate(const PendingUpdate&) = delete;
  PendingUpdate(PendingUpdate&& other) noexcept { *this = std::move(other); }
  PendingUpdate& operator=(PendingUpdate&& other) noexcept {
    std::swap(store_, other.store_);
    std::swap(id_, other.id_);
    before_.Swap(&other.before_);
    now_.Swap(&other.now_);
    return *this;
  }
  ~PendingUpdate() {
    if (store_) store_->takeBack(id_, before_, now_);
  }
  // It says this from now on.
  void change(const runtimehook::ContainerResourceHookRequest& now) {
    store_->change(id_, now_, now);
    now_ = now;
  }
  void keep() { store_ = nullptr; }

 private:
  Store* store_ = nullptr;
  std::string id_;
  runtimehook::ContainerResourceHookRequest before_;
  runtimehook::ContainerResourceHookRequest now_;
};

}  // namespace koord::runtimeproxy
