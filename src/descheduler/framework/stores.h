#pragma once

// The local copies of API objects that plugins share. A kind is watched if a plugin requested it on
// creation. All stores are synced before a plugin is started. On the leader only.
//
// Nodes are transformed: reserved resources are subtracted from allocatable, old resource names are
// replaced. Pods are slim and have facts (pod.h).

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <typeindex>
#include <unordered_map>
#include <vector>

#include "api/sharing.h"
#include "base/random.h"
#include "descheduler/framework/nodes.h"
#include "descheduler/framework/pod.h"
#include "kube/informer.h"
#include "model/transforms.h"

namespace koord::descheduler {

class Stores {
 public:
  Stores(kube::Api& api, Executor& executor, Random random, model::PodTransforms transforms = {});
  ~Stores();

  // Pods, nodes, namespaces and priority classes are always watched.
  kube::Informer<Pod>& pods() { return of<Pod>(); }
  kube::Informer<api::Node>& nodes() { return of<api::Node>(); }
  kube::Informer<api::Namespace>& namespaces() { return of<api::Namespace>(); }
  kube::Informer<api::PriorityClass>& priorityClasses() { return of<api::PriorityClass>(); }

  // Any other kind (PodDisruptionBudget, Reservation, PodMigrationJob, ReplicaSet, NodeMetric):
  // watched from now on, or from start() on. Add handlers to the returned informer.
  template <class T>
  kube::Informer<T>& of() {
    auto& slot = kinds_[std::type_index(typeid(T))];
    if (!slot) slot = std::make_unique<Kind<T>>(*this);
    return static_cast<Kind<T>&>(*slot).informer;
  }

  // Called before start() by a plugin that reads conditions of pods. Otherwise they are dropped.
  void keepPodConditions() { keepsConditions_ = true; }

  PodPtr pod(const api::ObjectKey& key) { return pods().get(key); }
  // The pods of a node; never nullptr. Terminal pods stay until they are deleted.
  std::shared_ptr<const NodePods> podsOn(std::string_view node) const;
  // The pods with this uid among their owners, by namespace and name.
  std::vector<PodPtr> podsOwnedBy(std::string_view uid) const;

  void start();
  // Calls fn when every requested kind is synced; at once if they are.
  void onSynced(std::function<void()> fn);

 private:
  struct AnyKind {
    virtual ~AnyKind() = default;
    virtual void start() = 0;
    virtual bool synced() const = 0;
    virtual void onSynced(std::function<void()> fn) = 0;
  };
  template <class T>
  struct Kind final : AnyKind {
    explicit Kind(Stores& stores)
        : informer(stores.api_, stores.executor_, {}, stores.random_.fork()) {
      if (stores.started_) informer.start();
    }
    void start() override { informer.start(); }
    bool synced() const override { return informer.synced(); }
    void onSynced(std::function<void()> fn) override { informer.onSynced(std::move(fn)); }
    kube::Informer<T> informer;
  };

  void index(const PodPtr& pod);
  void unindex(const PodPtr& pod);
  void checkSynced();
  NodePods& podsToChange(std::string_view node);

  kube::Api& api_;
  Executor& executor_;
  Random random_;
  std::map<std::type_index, std::unique_ptr<AnyKind>> kinds_;
  bool started_ = false;
  bool keepsConditions_ = false;
  api::PodSharing sharing_;
  std::vector<std::function<void()>> waiting_;
  // Copy on write: copied before a change if it is shared.
  struct ByName {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>{}(name);
    }
  };
  std::unordered_map<std::string, std::shared_ptr<NodePods>, ByName, std::equal_to<>> byNode_;
  std::unordered_map<std::string, std::vector<PodPtr>, ByName, std::equal_to<>> byOwner_;
};

}  // namespace koord::descheduler

namespace koord::kube {
extern template class Informer<descheduler::Pod>;
}  // namespace koord::kube
