#pragma once

// All controllers on a cluster of virtual time; the test plays kubelet.

#include <gtest/gtest.h>

#include <algorithm>

#include "api/workloads.h"
#include "cluster/controllers/controllers.h"
#include "cluster/controllers/pod_control.h"
#include "cluster/testing/test_cluster.h"

namespace koord::cluster {

class ControllersTest : public testing::Test {
 protected:
  ControllersTest()
      : controllers(cluster.api, cluster.loop, cluster.server().registry(), cluster.pods,
                    cluster.nodes, Random(7)) {
    controllers.start();
    cluster.pods.start();
    cluster.nodes.start();
    cluster.loop.advance(2s);
  }

  std::vector<api::Pod> activePods(std::string selector = "") {
    auto pods = cluster.list<api::Pod>(std::move(selector));
    std::erase_if(pods, [](const auto& pod) { return !isActive(pod); });
    return pods;
  }
  bool untilPods(std::size_t count, std::string selector = "") {
    return cluster.until([&] { return activePods(selector).size() == count; });
  }
  // Plays kubelet: sets the phase of the pods, and whether they are ready.
  void setPhase(const std::string& phase, std::string selector = "", int limit = 1000) {
    for (const auto& pod : activePods(std::move(selector))) {
      if (pod.status.phase == phase || limit-- <= 0) continue;
      cluster.patch<api::Pod>(pod.metadata.name,
                              "status: {phase: " + phase +
                                  ", conditions: [{type: Ready, status: '" +
                                  (phase == "Running" ? "True" : "False") + "'}]}",
                              "status");
    }
    cluster.loop.advance(1s);
  }

  TestCluster cluster;
  Controllers controllers;
};

}  // namespace koord::cluster
