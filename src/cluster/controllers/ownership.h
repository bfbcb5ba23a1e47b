#pragma once

// Who controls what. An object has at most one controller, the ownerReference with controller:
// true. A controller adopts objects of nobody that its selector matches, and releases those of its
// own that it no longer matches; it does neither while it is being deleted.

#include <memory>
#include <string>

#include "api/selector.h"
#include "kube/api.h"
#include "kube/informer.h"
#include "kube/work_queue.h"

namespace koord::cluster {

// Old templates that are kept of a set or deployment that does not say how many.
inline constexpr int kDefaultHistory = 10;

// The object others belong to. What it refers to has to outlive it.
struct Owner {
  const api::ResourceType& type;
  const api::ObjectMeta& meta;
};

// The ownerReferences of an object that `owner` makes.
json::array controlledBy(Owner owner);

// Claims objects of one kind for one owner, for the length of one sync. Before the first adoption
// it asks the API whether the owner is still there and not being deleted, since the caller's copy
// may be old.
class Claims {
 public:
  using Meta = std::shared_ptr<const api::ObjectMeta>;

  // The finalizer, if there is one, comes with an adoption and goes with a release.
  Claims(kube::Api& api, Owner owner, const api::ResourceType& type, std::string finalizer = "")
      : api_(api), owner_(owner), type_(type), finalizer_(std::move(finalizer)) {}

  // True when the object is the owner's, from now on or as before. `matches`: the selector selects
  // it. The patches name the object's uid, so that they never hit one that came after it.
  Task<Result<bool>> claim(Meta object, bool matches);

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

// The selector of a controller's spec; one that is absent or empty selects nothing.
Result<api::Selector> ownSelector(const std::optional<api::LabelSelector>& selector);
bool selects(const std::optional<api::LabelSelector>& selector, const api::StringMap& labels);

// Puts every object of an informer on a queue when it comes, changes or goes.
template <class T>
void enqueueChanged(kube::Informer<T>& informer, kube::WorkQueue& queue) {
  const auto add = [&queue](const auto& object) {
    queue.add(api::keyOf(object->metadata).toString());
  };
  informer.addHandler({add, [add](const auto&, const auto& after) { add(after); }, add});
}

// Puts the controllers of kind Parent on a queue when an object below them comes, changes or goes:
// the one it has, the one it had, and those that might adopt it when it has none.
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

// Creates an object of the owner's. One of that name which is the owner's already, made by us a
// moment ago, is as good; one of somebody else is AlreadyExists.
struct Made {
  json::value object;
  bool now = false;  // not before
};
Task<Result<Made>> createOrFind(kube::Api& api, Owner owner, const api::ResourceType& type,
                                json::value object);
// The refusal of a namespace that is on its way out: nothing can be made there, and nothing needs
// to be.
bool namespaceEnds(const Error& error);
// Writes to an object that may be gone by now, which is as good.
Task<Result<>> patchIfThere(kube::Api& api, const api::ResourceType& type, api::ObjectKey key,
                            json::value patch, std::string subresource = "");
// The same for a patch that names a resourceVersion: if another came between, its event brings the
// object back to whoever handles it.
Task<Result<>> patchIfUnchanged(kube::Api& api, const api::ResourceType& type, api::ObjectKey key,
                                json::value patch, std::string subresource);
// Writes the members of a status; the object may be gone or another one by now, which is as good.
Task<Result<>> writeStatus(kube::Api& api, Owner owner, json::value status);
Task<Result<>> deleteIfThere(kube::Api& api, const api::ResourceType& type,
                             const api::ObjectMeta& meta, std::string propagationPolicy = "");

}  // namespace koord::cluster
