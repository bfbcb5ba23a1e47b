#pragma once

// Controllers of objects. An object has at most one controller, the ownerReference with controller:
// true. A controller adopts orphans that its selector matches, and releases its objects that the
// selector does not match; it does neither while it is being deleted.

#include <memory>
#include <string>

#include "api/selector.h"
#include "kube/api.h"
#include "kube/informer.h"
#include "kube/work_queue.h"

namespace koord::cluster {

// Default for the number of old templates kept of a set or deployment.
inline constexpr int kDefaultHistory = 10;

// The owner of other objects. The objects that it refers to must outlive it.
struct Owner {
  const api::ResourceType& type;
  const api::ObjectMeta& meta;
};

// The ownerReferences of an object that `owner` creates.
json::array controlledBy(Owner owner);

// Claims objects of one kind for one owner, during one sync. Before the first adoption it checks
// with the API server that the owner exists and is not being deleted, because the caller's copy may
// be old.
class Claims {
 public:
  using Meta = std::shared_ptr<const api::ObjectMeta>;

  // An adoption adds the finalizer, if there is one; a release removes it.
  Claims(kube::Api& api, Owner owner, const api::ResourceType& type, std::string finalizer = "")
      : api_(api), owner_(owner), type_(type), finalizer_(std::move(finalizer)) {}

  // Returns true if the object belongs to the owner, already or after adoption. `matches`: the
  // selector selects it. The patches name the object's uid, so that they never change a new object
  // of the same name.
  Task<Result<bool>> claim(Meta object, bool matches);
  // Returns true if the object belongs to the owner and stays: nothing needs to be written.
  bool isSettled(const api::ObjectMeta& object, bool matches) const {
    const auto* controller = api::controllerOf(object);
    return matches && controller && controller->uid == owner_.meta.uid;
  }

 private:
  Task<Result<>> mayAdopt();
  Task<Result<>> adopt(Meta object);
  Task<Result<>> release(Meta object);

  kube::Api& api_;
  Owner owner_;
  const api::ResourceType& type_;
  std::string finalizer_;
  bool asked_ = false;
};

// The selector of a controller's spec; an absent or empty selector selects nothing.
Result<api::Selector> ownSelector(const std::optional<api::LabelSelector>& selector);
bool selects(const std::optional<api::LabelSelector>& selector, const api::StringMap& labels);

// Enqueues every object of an informer when it is added, changes or is deleted.
template <class T>
void enqueueChanged(kube::Informer<T>& informer, kube::WorkQueue& queue) {
  const auto add = [&queue](const auto& object) {
    queue.add(api::keyOf(object->metadata).toString());
  };
  informer.addHandler({add, [add](const auto&, const auto& after) { add(after); }, add});
}

// Enqueues controllers of kind Parent when one of their objects is added, changes or is deleted:
// its current controller, its previous one, and, if it has none, those that might adopt it.
template <class Child, class Parent>
void enqueueControllersOf(kube::Informer<Child>& children, kube::Informer<Parent>& parents,
                          kube::WorkQueue& queue) {
  const auto addOwner = [&queue](const api::ObjectMeta& meta) {
    const auto* owner = api::controllerOf(meta);
    if (owner && owner->kind == Parent::kType.kind)
      queue.add(api::ObjectKey{meta.namespace_, owner->name}.toString());
    return owner != nullptr;
  };
  const auto seen = [addOwner, &parents, &queue](const api::ObjectMeta& meta) {
    if (addOwner(meta)) return;
    if constexpr (requires(const Parent& parent) { parent.spec.selector; })
      for (const auto& parent : parents.objects())
        if (parent->metadata.namespace_ == meta.namespace_ &&
            selects(parent->spec.selector, meta.labels))
          queue.add(api::keyOf(parent->metadata).toString());
  };
  children.addHandler({[seen](const auto& child) { seen(child->metadata); },
                       [seen, addOwner](const auto& before, const auto& after) {
                         const auto* had = api::controllerOf(before->metadata);
                         const auto* has = api::controllerOf(after->metadata);
                         const bool moved = (had ? had->uid : "") != (has ? has->uid : "");
                         if (moved) addOwner(before->metadata);
                         if (has || moved || before->metadata.labels != after->metadata.labels)
                           seen(after->metadata);
                       },
                       [addOwner](const auto& child) { addOwner(child->metadata); }});
}

// Creates an object of the owner. Succeeds if an object of that name already belongs to the owner,
// because an earlier call created it. Returns AlreadyExists if it belongs to another owner.
struct Made {
  json::value object;
  bool now = false;  // created by this call
};
Task<Result<Made>> createOrFind(kube::Api& api, Owner owner, const api::ResourceType& type,
                                json::value object);
// Returns true if a create failed because its namespace is being deleted, which needs no retry.
bool namespaceEnds(const Error& error);
// Patches an object; succeeds if it does not exist.
Task<Result<>> patchIfExists(kube::Api& api, const api::ResourceType& type, api::ObjectKey key,
                             json::value patch, std::string subresource = "");
// The same for a patch that names a resourceVersion; succeeds on a conflict, because the event of
// the other write enqueues the object again.
Task<Result<>> patchIfUnchanged(kube::Api& api, const api::ResourceType& type, api::ObjectKey key,
                                json::value patch, std::string subresource);
// Writes the members of a status; succeeds if the object was deleted or replaced.
Task<Result<>> writeStatus(kube::Api& api, Owner owner, json::value status);
Task<Result<>> deleteIfExists(kube::Api& api, const api::ResourceType& type,
                              const api::ObjectMeta& meta, std::string propagationPolicy = "");

}  // namespace koord::cluster
