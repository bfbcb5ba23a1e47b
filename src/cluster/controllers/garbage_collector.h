#pragma once

// Deletes objects whose owners (metadata.ownerReferences) are all gone, and carries out foreground
// and orphaning deletion. Watches every kind of the API server, custom kinds included, and stores
// only the ownership fields of each object.

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "apiserver/registry/registry.h"
#include "kube/reflector.h"
#include "kube/work_queue.h"

namespace koord::cluster {

class GarbageCollector {
 public:
  GarbageCollector(kube::Api& api, Executor& executor, const apiserver::Registry& registry,
                   Random random);
  ~GarbageCollector();

  void start();

 private:
  struct Item {
    apiserver::ResourcePtr resource;
    api::ObjectKey key;
    std::string uid;
    std::string version;
    api::List<api::OwnerReference> owners;
    api::List<std::string> finalizers;
    bool deleting = false;
  };
  class Watcher;  // of one kind

  Task<void> followRegistry();
  void upsert(const apiserver::ResourcePtr& resource, const api::ObjectMeta& meta);
  void remove(const std::string& uid);
  void forgetOwners(const Item& item);
  bool synced() const;
  Task<Result<>> sync(std::string uid);
  Task<Result<bool>> ownerExists(std::string namespace_, api::OwnerReference owner);
  Task<Result<>> releaseOwner(Item item, std::string finalizer);
  // Writes metadata lists computed from those of the item. The write names the version that these
  // were read from, so that additions by other clients are not lost. Conflict: compute the lists
  // again.
  Task<Result<>> setMeta(Item item, json::value metadata);

  kube::Api& api_;
  Executor& executor_;
  const apiserver::Registry& registry_;
  Random random_;
  std::map<std::string, std::unique_ptr<Watcher>> watchers_;  // by table
  std::unordered_map<std::string, Item> items_;               // by uid
  std::unordered_map<std::string, std::unordered_set<std::string>>
      dependents_;  // owner uid -> uids
  kube::WorkQueue queue_;
  TaskGroup tasks_;
};

// The type of a resource, for calls; its strings live as long as the resource.
api::ResourceType typeOf(const apiserver::Resource& resource);

}  // namespace koord::cluster
