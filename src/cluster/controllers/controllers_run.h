#pragma once

// Controllers with their own informers, as in a process: a test can stop and restart them at any
// time, and see each of their requests before the API server does.

#include <memory>

#include "cluster/controllers/controllers.h"
#include "cluster/testing/test_cluster.h"

namespace koord::cluster {

class ObservedApi final : public kube::Api {
 public:
  using OnRequest = std::function<void(const kube::Request& request)>;
  explicit ObservedApi(kube::Api& api) : api_(api) {}

  void setOnRequest(OnRequest onRequest) { onRequest_ = std::move(onRequest); }
  Task<Result<std::string>> call(kube::Request request) override {
    if (onRequest_) onRequest_(request);
    return api_.call(std::move(request));
  }
  std::unique_ptr<kube::Watch> watch(kube::Request request, kube::WatchSink sink) override {
    return api_.watch(std::move(request), std::move(sink));
  }
  bool takesProtobuf() const override { return api_.takesProtobuf(); }

 private:
  kube::Api& api_;
  OnRequest onRequest_;
};

struct ControllersRun {
  explicit ControllersRun(TestCluster& cluster, Random random = Random(7))
      : api(cluster.api),
        pods(api, cluster.loop),
        nodes(api, cluster.loop),
        controllers(api, cluster.loop, cluster.server().registry(), pods, nodes, random) {
    controllers.start();
    pods.start();
    nodes.start();
  }

  ObservedApi api;
  kube::Informer<api::Pod> pods;
  kube::Informer<api::Node> nodes;
  Controllers controllers;
};

}  // namespace koord::cluster
