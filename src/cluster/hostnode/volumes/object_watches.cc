#include "cluster/hostnode/volumes/object_watches.h"

#include <algorithm>

namespace koord::cluster {

ObjectWatches::ObjectWatches(kube::Api& api, Executor& executor, Random random,
                             std::function<void(const std::string&)> changed)
    : api_(api),
      executor_(executor),
      random_(random),
      changed_(std::move(changed)),
      self_(std::make_shared<ObjectWatches*>(this)) {}

ObjectWatches::~ObjectWatches() {
  *self_ = nullptr;
}

void ObjectWatches::set(const std::string& uid, const std::string& namespace_,
                        const ReferencedNames& names) {
  use(configMaps_, uid, namespace_, names.configMaps);
  use(secrets_, uid, namespace_, names.secrets);
}

template <class T>
void ObjectWatches::use(Table<T>& table, const std::string& uid, const std::string& namespace_,
                        const std::vector<std::string>& names) {
  for (auto it = table.begin(); it != table.end();) {
    const bool wanted = it->first.namespace_ == namespace_ &&
                        std::ranges::find(names, it->first.name) != names.end();
    if (!wanted) it->second.users.erase(uid);
    it = it->second.users.empty() ? table.erase(it) : std::next(it);
  }
  for (const auto& name : names) {
    const api::ObjectKey key{namespace_, name};
    Watched<T>& watched = table[key];
    watched.users.insert(uid);
    if (watched.informer) continue;
    watched.informer = std::make_unique<kube::Informer<T>>(
        api_, executor_, kube::WatchScope{namespace_, "", "metadata.name=" + name}, random_.fork());
    const auto later = [this, &table, key](const auto&...) { onChange(table, key); };
    watched.informer->addHandler({later, later, later});
    watched.informer->start();
  }
}

template <class T>
void ObjectWatches::onChange(Table<T>& table, const api::ObjectKey& key) {
  const auto found = table.find(key);
  if (found == table.end()) return;
  // The callback may end the watch that reports.
  executor_.post([self = self_, users = found->second.users] {
    for (const auto& uid : users)
      if (*self) (*self)->changed_(uid);
  });
}

}  // namespace koord::cluster
