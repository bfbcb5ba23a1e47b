#pragma once

// The objects that the server creates itself: the namespaces and priority classes of every cluster,
// the bootstrap policy, the Service "kubernetes", and in every namespace the ServiceAccount
// "default" and the ConfigMap kube-root-ca.crt.
//
// Upstream's controllers create the latter some moments after their namespace, and fast clients
// must retry. Here they are written in the same turn as the namespace, so that a pod can follow at
// once. If a client deletes one of these objects, the server creates it again.

#include <functional>
#include <memory>
#include <string>

#include "apiserver/quota/quotas.h"
#include "apiserver/registry/registry.h"
#include "apiserver/store/store.h"
#include "base/random.h"

namespace koord::apiserver {

class SystemObjects {
 public:
  struct Options {
    bool rbac = false;
    bool serviceAccounts = false;
    std::string rootCaPem;  // of this server's certificate; "" = unknown
  };
  // All arguments must outlive it.
  SystemObjects(Executor& executor, Store& store, const Registry& registry, Quotas& quotas,
                Random& random, Options options);
  ~SystemObjects() { *alive_ = false; }
  SystemObjects(const SystemObjects&) = delete;
  SystemObjects& operator=(const SystemObjects&) = delete;

  // Creates the missing objects. Call at start.
  void addAll();
  // The endpoint of the Service "kubernetes": an IP address and a port of this server.
  void publish(const std::string& address, int port);

 private:
  void add(const char* table, json::object object);
  void addNamespaces();
  void addPriorityClasses();
  void addPolicy();
  void addAccounts(const std::string& namespace_);
  void addClientAuthority();
  void addKubernetesService();
  void later(std::function<void()> fn);

  Executor& executor_;
  Store& store_;
  const Registry& registry_;
  Quotas& quotas_;
  Random& random_;
  Options options_;
  std::string address_;
  int port_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace koord::apiserver
