#include "koordctl/status/status_command.h"

#include <cstdio>

#include "base/event_loop.h"
#include "cluster/screen/live/screen.h"
#include "cluster/screen/overview.h"
#include "cluster/up/components.h"
#include "koordctl/common/cluster_flags.h"
#include "koordctl/common/kubeconfig_choice.h"
#include "kube/client.h"
#include "kube/http_api.h"
#include "net/http_client.h"

namespace koord::koordctl {

namespace {

template <class T>
std::vector<std::shared_ptr<const T>> shared(std::vector<T> items) {
  std::vector<std::shared_ptr<const T>> list;
  for (auto& item : items) list.push_back(std::make_shared<const T>(std::move(item)));
  return list;
}

Task<Result<>> collect(kube::Api* api, WallTime now, cluster::ClusterStatus* status) {
  auto listingNodes = kube::list<api::Node>(*api);
  auto nodes = co_await listingNodes;
  if (!nodes) co_return fail(std::move(nodes.error()));
  auto listingPods = kube::list<api::Pod>(*api);
  auto pods = co_await listingPods;
  if (!pods) co_return fail(std::move(pods.error()));
  auto listingMetrics = kube::list<api::NodeMetric>(*api);
  auto metrics = co_await listingMetrics;
  // A cluster without Koordinator's CRDs still has nodes and pods.
  if (!metrics) status->notes.push_back("no NodeMetric: " + metrics.error().message);
  cluster::Objects input{
      shared(std::move(nodes->items)), shared(std::move(pods->items)), {}, {}, {}, now, {}, {}};
  if (metrics) input.metrics = shared(std::move(metrics->items));
  auto listingJobs = kube::list<api::PodMigrationJob>(*api);
  auto jobs = co_await listingJobs;
  if (jobs) input.migrations = shared(std::move(jobs->items));
  const api::ObjectKey config{"koordinator-system", "slo-controller-config"};
  auto reading = kube::get<api::ConfigMap>(*api, config);
  auto sloConfig = co_await reading;
  if (sloConfig) input.sloConfig = std::make_shared<const api::ConfigMap>(*std::move(sloConfig));
  cluster::summarize(input, *status);
  auto listingLeases = kube::list<api::Lease>(*api, "koordinator-system");
  auto leases = co_await listingLeases;
  if (leases)
    for (const auto& lease : leases->items)
      status->components.push_back(
          {lease.metadata.name, lease.spec.holderIdentity.empty() ? "no leader" : "leading",
           std::nullopt,
           lease.spec.renewTime ? std::optional<Duration>(now - lease.spec.renewTime->time)
                                : std::nullopt,
           lease.spec.holderIdentity});
  co_return Result<>{};
}

// The koordlet of a 'koordctl up' on this host also reports its actions. Without it they are
// missing, which is not an error.
Task<void> queryKoordlet(net::HttpClient* http, EventLoop* loop, std::string url,
                         cluster::ClusterStatus* status) {
  net::HttpRequest request;
  request.url = std::move(url) + "/apis/v1/qos";
  request.timeout = std::chrono::seconds(1);
  auto fetching = http->fetch(*loop, std::move(request));
  auto reply = co_await fetching;
  if (!reply || reply->status != 200) co_return;
  if (const auto document = parseJson(reply->body))
    status->qos.push_back(cluster::describeQos(*document));
}

struct Asked {
  net::HttpClient* http;
  kube::Api* api;
  std::string koordlet;  // its address; "" if unknown
};

Task<void> run(Asked asked, cluster::ClusterStatus* status, Result<>* result, EventLoop* loop) {
  auto collecting = collect(asked.api, loop->wallNow(), status);
  *result = co_await collecting;
  if (*result && !asked.koordlet.empty()) {
    auto asking = queryKoordlet(asked.http, loop, asked.koordlet, status);
    co_await asking;
  }
  loop->stop();
}

std::string koordletOf(const KubeconfigChoice& choice) {
  for (const auto& folder : dataDirsOf(choice))
    if (auto url = cluster::componentUrl(folder, "koordlet"); !url.empty()) return url;
  return {};
}

int runStatus(const std::string& kubeconfig) {
  const KubeconfigChoice choice = chooseKubeconfig(kubeconfig);
  const auto refuse = [&](const Error& error) {
    std::fprintf(stderr, "koordctl: %s\n", explainFailure(choice, error).message.c_str());
    return 1;
  };
  auto config = loadChoice(choice);
  if (!config) return refuse(config.error());
  cluster::ClusterStatus status;
  status.server = config->server;
  if (!choice.files.empty()) status.kubeconfig = choice.files.front();
  EventLoop loop;
  Result<> result;
  {
    net::HttpClient http({.userAgent = "koordctl"});
    kube::HttpApi api(http, loop, *std::move(config));
    TaskGroup tasks;
    tasks.spawn(run({&http, &api, koordletOf(choice)}, &status, &result, &loop));
    loop.run();
  }
  if (!result) return refuse(result.error());
  for (const auto& line : cluster::overviewOf(status, cluster::terminalWidth(), 0))
    std::puts(line.text.c_str());
  return 0;
}

}  // namespace

void addStatusCommand(flags::Commands& commands, std::string& kubeconfig) {
  auto& status = commands.add("status", "Show nodes, batch resources and pods of a cluster once");
  addKubeconfigFlag(status.flags, kubeconfig);
  status.run = [&kubeconfig](const auto&) { return runStatus(kubeconfig); };
}

}  // namespace koord::koordctl
