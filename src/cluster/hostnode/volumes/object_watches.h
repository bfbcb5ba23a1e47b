#pragma once

// Watches on single ConfigMaps and Secrets, each shared by the pods that use it. On the executor of
// the Api.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "api/core.h"
#include "base/random.h"
#include "cluster/hostnode/podspec/environment.h"
#include "kube/informer.h"

namespace koord::cluster {

class ObjectWatches {
 public:
  // changed: called later, never inside of a call to this class.
  ObjectWatches(kube::Api& api, Executor& executor, Random random,
                std::function<void(const std::string& uid)> changed);
  ~ObjectWatches();

  // Sets the names that this pod uses.
  void set(const std::string& uid, const std::string& namespace_, const ReferencedNames& names);
  void forget(const std::string& uid) { set(uid, "", {}); }
  std::size_t size() const { return configMaps_.size() + secrets_.size(); }

 private:
  template <class T>
  struct Watched {
    std::unique_ptr<kube::Informer<T>> informer;
    std::set<std::string> users;  // uids of pods
  };
  template <class T>
  using Table = std::map<api::ObjectKey, Watched<T>>;

  template <class T>
  void use(Table<T>& table, const std::string& uid, const std::string& namespace_,
           const std::vector<std::string>& names);
  template <class T>
  void onChange(Table<T>& table, const api::ObjectKey& key);

  kube::Api& api_;
  Executor& executor_;
  Random random_;
  std::function<void(const std::string&)> changed_;
  Table<api::ConfigMap> configMaps_;
  Table<api::Secret> secrets_;
  std::shared_ptr<ObjectWatches*> self_;  // for posted functions; null after the destructor
};

}  // namespace koord::cluster
