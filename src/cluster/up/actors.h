#pragma once

// The parts of a cluster on this host that use its API server.

#include <memory>

#include "cluster/services/service_proxy.h"
#include "cluster/up/cluster_up.h"
#include "cluster/up/pod_access.h"

namespace koord::cluster {

// Destroyed together, before the API server that they use. The supervisor's children are processes:
// a pause ends them, so their watch runs on an executor that does not pause. Logs
// are read while the cluster is paused, too.
struct ClusterUp::Actors {
  Actors(kube::Api& api, kube::Api& accessApi, Executor& executor, Executor& always,
         const apiserver::Registry& registry, Random& random,
         std::function<void(const std::string&)> onChildExit)
      : pods(api, executor, {}, random.fork()),
        nodes(api, executor, {}, random.fork()),
        metrics(api, executor, {}, random.fork()),
        migrations(api, executor, {}, random.fork()),
        leases(api, executor, {"koordinator-system", "", ""}, random.fork()),
        sloConfig(api, executor, {"koordinator-system", "", "metadata.name=slo-controller-config"},
                  random.fork()),
        controllers(api, executor, registry, pods, nodes, random.fork()),
        simNodes(api, executor, nodes, pods, random.fork()),
        access(accessApi, always, pods, nodes),
        supervisor(always, std::move(onChildExit)) {}

  kube::Informer<api::Pod> pods;
  kube::Informer<api::Node> nodes;
  kube::Informer<api::NodeMetric> metrics;
  kube::Informer<api::PodMigrationJob> migrations;
  kube::Informer<api::Lease> leases;
  kube::Informer<api::ConfigMap> sloConfig;
  Controllers controllers;
  SimNodes simNodes;
  std::unique_ptr<services::ServiceProxy> services;  // outlives the host, which asks it
  std::unique_ptr<Host> host;
  PodAccess access;
  Supervisor supervisor;
  TaskGroup tasks;  // they use the rest, so they end first
};

}  // namespace koord::cluster
