#pragma once

// The objects that are there by themselves: the namespaces and priority classes of every cluster,
// the bootstrap policy, the Service "kubernetes", and in every namespace the ServiceAccount
// "default" and the ConfigMap kube-root-ca.crt.
//
// Upstream's controllers make the latter some moments after their namespace; a client that is quick
// is told to come again. Here they are written in the turn that writes the namespace, so that a pod
// can follow at once. When somebody deletes one of these objects it is made again.

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
  // All of them must outlive it.
  SystemObjects(Executor& executor, Store& store, const Registry& registry, Quotas& quotas,
                Random& random, Options options);
  ~SystemObjects() { *alive_ = false; }
  SystemObjects(const SystemObjects&) = delete;
  SystemObjects& operator=(const SystemObjects&) = delete;

  // What is missing; at start.
  void addAll();
  // Where the Service "kubernetes" leads: an IP address and a port of this server.
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
