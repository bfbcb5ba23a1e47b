#include "cluster/up/status_command.h"

#include <cstdio>

#include "base/event_loop.h"
#include "cluster/up/kubeconfig_choice.h"
#include "cluster/up/status.h"
#include "kube/client.h"
#include "kube/http_api.h"
#include "net/http_client.h"

namespace koord::cluster {

namespace {

template <class T>
std::vector<std::shared_ptr<const T>> shared(std::vector<T> items) {
  std::vector<std::shared_ptr<const T>> list;
  for (auto& item : items) list.push_back(std::make_shared<const T>(std::move(item)));
  return list;
}

Task<Result<>> collect(kube::Api* api, ClusterStatus* status) {
  auto listingNodes = kube::list<api::Node>(*api);
  auto nodes = co_await listingNodes;
  if (!nodes) co_return fail(std::move(nodes.error()));
  auto listingPods = kube::list<api::Pod>(*api);
  auto pods = co_await listingPods;
  if (!pods) co_return fail(std::move(pods.error()));
  auto listingMetrics = kube::list<api::NodeMetric>(*api);
  auto metrics = co_await listingMetrics;
  // A cluster without Koordinator's CRDs has nodes and pods all the same.
  if (!metrics) status->notes.push_back("no NodeMetric: " + metrics.error().message);
  StatusInput input{shared(std::move(nodes->items)), shared(std::move(pods->items)), {}};
  if (metrics) input.metrics = shared(std::move(metrics->items));
  summarize(input, *status);
  auto listingLeases = kube::list<api::Lease>(*api, "koordinator-system");
  auto leases = co_await listingLeases;
  if (leases)
    for (const auto& lease : leases->items)
      status->components.push_back({lease.metadata.name,
                                    lease.spec.holderIdentity.empty() ? "no leader" : "leading", 0,
                                    lease.spec.holderIdentity});
  co_return Result<>{};
}

Task<void> run(kube::Api* api, ClusterStatus* status, Result<>* result, EventLoop* loop) {
  auto collecting = collect(api, status);
  *result = co_await collecting;
  loop->stop();
}

}  // namespace

int runStatus(const std::string& kubeconfig) {
  const KubeconfigChoice choice = chooseKubeconfig(kubeconfig);
  const auto refuse = [&](const Error& error) {
    std::fprintf(stderr, "koordctl: %s\n", explainFailure(choice, error).message.c_str());
    return 1;
  };
  auto config = loadChoice(choice);
  if (!config) return refuse(config.error());
  ClusterStatus status;
  status.server = config->server;
  if (!choice.files.empty()) status.kubeconfig = choice.files.front();
  EventLoop loop;
  Result<> result;
  {
    net::HttpClient http({.userAgent = "koordctl"});
    kube::HttpApi api(http, loop, *std::move(config));
    TaskGroup tasks;
    tasks.spawn(run(&api, &status, &result, &loop));
    loop.run();
  }
  if (!result) return refuse(result.error());
  for (const auto& line : renderStatus(status, 0, 0)) std::puts(line.c_str());
  return 0;
}

}  // namespace koord::cluster
