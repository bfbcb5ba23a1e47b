#include "cluster/controllers/garbage_collector.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/any_object.h"
#include "api/group_version.h"
#include "kube/client.h"

// The graph of owners: items by uid, and for each owner the uids of its dependents, built from a
// watch of every kind. An edge points to a uid, possibly of an object that has not been seen yet.
// Names are not used, because a deleted and re-created owner is another object.
//
// Work begins when an edge may have lost its owner: an owner was removed (its dependents are
// examined), an object with an unknown owner was added (it is examined itself), or an object with
// one of our finalizers is being deleted. For one object:
//   - all owners gone: it is deleted, in the background, or in the foreground if its owner was;
//   - some owners gone: the references to these are removed;
//   - it is being deleted with "orphan": its dependents lose the reference, then it loses the
//     finalizer;
//   - with "foregroundDeletion": its dependents are deleted first; it loses the finalizer when none
//     is left that has blockOwnerDeletion.
//
// The server decides whether an owner is gone, not the graph, because watches of different kinds
// are not synchronized: a new ReplicaSet may be seen before its Deployment. Deletions name the uid,
// so that a new object of the same name is safe. Lists of owners and finalizers are written with
// the version that they were read from, and computed again after a conflict. Nothing is done before
// every watch has its initial state.
//
// Cost: an event is O(owners of the object); a deletion O(dependents). Memory is some hundred bytes
// per object of the cluster. Rules: the garbage collector of kube-controller-manager.

namespace koord::cluster {

namespace {

constexpr const char* kForeground = "foregroundDeletion";
constexpr const char* kOrphan = "orphan";
constexpr Duration kRegistryPoll = std::chrono::seconds(1);

bool has(const api::List<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

// Events are many and have neither owners nor dependents; the second name of one table is skipped.
bool collected(const apiserver::Resource& resource) {
  return resource.table != "events";
}

json::array without(const api::List<std::string>& list, std::string_view text) {
  json::array rest;
  for (const auto& item : list)
    if (item != text) rest.emplace_back(item);
  return rest;
}

json::value referenceJson(const api::OwnerReference& owner) {
  json::object reference{{"apiVersion", owner.apiVersion},
                         {"kind", owner.kind},
                         {"name", owner.name},
                         {"uid", owner.uid}};
  if (owner.controller) reference["controller"] = true;
  if (owner.blockOwnerDeletion) reference["blockOwnerDeletion"] = true;
  return reference;
}

}  // namespace

api::ResourceType typeOf(const apiserver::Resource& resource) {
  return {resource.group, resource.storageVersion().name, resource.plural, resource.kind,
          resource.namespaced};
}

class GarbageCollector::Watcher final : kube::ReflectorSink {
 public:
  Watcher(GarbageCollector& collector, apiserver::ResourcePtr resource, Random random)
      : collector_(collector),
        resource_(std::move(resource)),
        reflector_(collector.api_, collector.executor_, typeOf(*resource_), {}, *this, random) {
    reflector_.start();
  }
  ~Watcher() override {
    for (const auto& uid : known_) collector_.remove(uid);
  }
  bool synced() const { return synced_; }
  const apiserver::ResourcePtr& resource() const { return resource_; }

 private:
  bool readsProtobuf() const override { return true; }
  void beginReplace() override { unseen_ = known_; }
  void upsert(const kube::Received& received) override {
    const std::string uid(received.uid());
    known_.insert(uid);
    unseen_.erase(uid);
    if (const auto object = received.as<api::AnyObject>())
      collector_.upsert(resource_, object->metadata);
  }
  void remove(const kube::Received& received) override { erase(std::string(received.uid())); }
  void endReplace() override {
    for (const auto& uid : std::exchange(unseen_, {})) erase(uid);
    synced_ = true;
    collector_.queue_.start();
  }
  void erase(const std::string& uid) {
    known_.erase(uid);
    collector_.remove(uid);
  }

  GarbageCollector& collector_;
  apiserver::ResourcePtr resource_;
  std::unordered_set<std::string> known_;
  std::unordered_set<std::string> unseen_;
  bool synced_ = false;
  kube::Reflector reflector_;
};

GarbageCollector::GarbageCollector(kube::Api& api, Executor& executor,
                                   const apiserver::Registry& registry, Random random)
    : api_(api),
      executor_(executor),
      registry_(registry),
      random_(random),
      queue_(executor, "garbage-collector",
             [this](std::string uid) { return sync(std::move(uid)); }) {}

GarbageCollector::~GarbageCollector() = default;

void GarbageCollector::start() {
  tasks_.spawn(followRegistry());
}

Task<void> GarbageCollector::followRegistry() {
  std::uint64_t generation = ~std::uint64_t{0};
  while (true) {
    if (registry_.generation() != generation) {
      generation = registry_.generation();
      const auto& all = registry_.all();
      std::erase_if(watchers_, [&](const auto& watcher) {
        const auto now = all.find(watcher.first);
        return now == all.end() || now->second != watcher.second->resource();
      });
      for (const auto& [table, resource] : all)
        if (collected(*resource) && !watchers_.contains(table))
          watchers_[table] = std::make_unique<Watcher>(*this, resource, random_.fork());
    }
    auto pause = sleepFor(executor_, kRegistryPoll);
    co_await pause;
  }
}

bool GarbageCollector::synced() const {
  return std::ranges::all_of(watchers_,
                             [](const auto& watcher) { return watcher.second->synced(); });
}

void GarbageCollector::forgetOwners(const Item& item) {
  for (const auto& owner : item.owners) {
    const auto dependents = dependents_.find(owner.uid);
    if (dependents == dependents_.end()) continue;
    dependents->second.erase(item.uid);
    if (dependents->second.empty()) dependents_.erase(dependents);
  }
}

void GarbageCollector::upsert(const apiserver::ResourcePtr& resource, const api::ObjectMeta& meta) {
  if (meta.uid.empty()) return;
  Item& item = items_[meta.uid];
  forgetOwners(item);
  item = {resource,
          api::keyOf(meta),
          meta.uid,
          meta.resourceVersion,
          meta.ownerReferences,
          meta.finalizers,
          meta.deletionTimestamp.has_value()};
  for (const auto& owner : item.owners) {
    dependents_[owner.uid].insert(item.uid);
    // An owner in foreground deletion waits for the dependents that block it.
    if (const auto above = items_.find(owner.uid); above == items_.end() || above->second.deleting)
      queue_.add(item.uid);
  }
  if (item.deleting && (has(item.finalizers, kForeground) || has(item.finalizers, kOrphan)))
    queue_.add(item.uid);
}

void GarbageCollector::remove(const std::string& uid) {
  const auto found = items_.find(uid);
  if (found == items_.end()) return;
  for (const auto& owner : found->second.owners)
    if (const auto above = items_.find(owner.uid); above != items_.end() && above->second.deleting)
      queue_.add(owner.uid);
  forgetOwners(found->second);
  items_.erase(found);
  if (const auto dependents = dependents_.find(uid); dependents != dependents_.end())
    for (const auto& dependent : dependents->second) queue_.add(dependent);
}

Task<Result<bool>> GarbageCollector::ownerExists(std::string namespace_,
                                                 api::OwnerReference owner) {
  if (items_.contains(owner.uid)) co_return true;
  // The watch may be behind, so the server is asked.
  const auto resource =
      registry_.findByKind(api::splitApiVersion(owner.apiVersion).group, owner.kind);
  if (!resource) co_return true;  // of an unknown kind: leave it alone
  const api::ObjectKey key{resource->namespaced ? namespace_ : "", owner.name};
  const api::ResourceType type = typeOf(*resource);
  auto getting = kube::getObject(api_, type, key);
  auto object = co_await getting;
  if (object) co_return textAt(*object, "metadata", "uid") == owner.uid;
  if (object.error().code == ErrorCode::NotFound) co_return false;
  co_return fail(std::move(object.error()));
}

Task<Result<>> GarbageCollector::sync(std::string uid) {
  if (!synced()) {
    queue_.addAfter(uid, std::chrono::milliseconds(200));
    co_return Result<>{};
  }
  const auto found = items_.find(uid);
  if (found == items_.end()) co_return Result<>{};
  const Item item = found->second;
  if (item.deleting) {
    for (const char* finalizer : {kOrphan, kForeground}) {
      if (!has(item.finalizers, finalizer)) continue;
      auto releasing = releaseOwner(item, finalizer);
      co_return co_await releasing;
    }
    co_return Result<>{};
  }
  if (item.owners.empty()) co_return Result<>{};
  bool foreground = false;
  json::array kept;
  for (const auto& owner : item.owners) {
    auto checking = ownerExists(item.key.namespace_, owner);
    auto exists = co_await checking;
    if (!exists) co_return fail(std::move(exists.error()));
    const auto above = items_.find(owner.uid);
    const bool leaving = above != items_.end() && above->second.deleting &&
                         has(above->second.finalizers, kForeground);
    foreground |= leaving;
    if (*exists && !leaving) kept.push_back(referenceJson(owner));
  }
  if (kept.size() == item.owners.size()) co_return Result<>{};
  if (!kept.empty()) {
    json::value metadata = json::object{{"ownerReferences", std::move(kept)}};
    auto setting = setMeta(item, std::move(metadata));
    co_return co_await setting;
  }
  kube::DeleteOptions options;
  options.uid = uid;
  options.propagationPolicy = foreground ? "Foreground" : "Background";
  const api::ResourceType type = typeOf(*item.resource);
  auto deleting = kube::deleteObject(api_, type, item.key, std::move(options));
  auto deleted = co_await deleting;
  if (deleted) co_return Result<>{};
  const auto code = deleted.error().code;
  if (code == ErrorCode::NotFound || code == ErrorCode::Conflict) co_return Result<>{};
  co_return deleted;
}

// Removes the finalizer of an owner that is being deleted, once its dependents are gone
// (foreground) or released (orphan).
Task<Result<>> GarbageCollector::releaseOwner(Item item, std::string finalizer) {
  std::vector<std::string> uids;
  if (const auto dependents = dependents_.find(item.uid); dependents != dependents_.end())
    uids.assign(dependents->second.begin(), dependents->second.end());
  const bool orphaning = finalizer == kOrphan;
  bool waiting = false;
  for (const auto& uid : uids) {
    const auto found = items_.find(uid);
    if (found == items_.end()) continue;
    const Item dependent = found->second;
    if (!orphaning) {
      if (!dependent.deleting) queue_.add(uid);
      waiting |= std::ranges::any_of(dependent.owners, [&](const auto& owner) {
        return owner.uid == item.uid && owner.blockOwnerDeletion;
      });
      continue;
    }
    json::array kept;
    for (const auto& owner : dependent.owners)
      if (owner.uid != item.uid) kept.push_back(referenceJson(owner));
    json::value metadata = json::object{{"ownerReferences", std::move(kept)}};
    auto setting = setMeta(dependent, std::move(metadata));
    auto set = co_await setting;
    if (!set) co_return set;
  }
  if (waiting) co_return Result<>{};
  json::value metadata = json::object{{"finalizers", without(item.finalizers, finalizer)}};
  auto setting = setMeta(item, std::move(metadata));
  co_return co_await setting;
}

Task<Result<>> GarbageCollector::setMeta(Item item, json::value metadata) {
  metadata.get_object()["uid"] = item.uid;
  metadata.get_object()["resourceVersion"] = item.version;
  json::value patch = json::object{{"metadata", std::move(metadata)}};
  const api::ResourceType type = typeOf(*item.resource);
  auto patching = kube::mergePatch(api_, type, item.key, std::move(patch));
  auto patched = co_await patching;
  if (patched || patched.error().code == ErrorCode::NotFound) co_return Result<>{};
  co_return fail(std::move(patched.error()));
}

}  // namespace koord::cluster
