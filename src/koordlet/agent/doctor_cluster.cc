#include "koordlet/agent/doctor_cluster.h"

#include <fmt/format.h>

#include "api/slo.h"
#include "kube/client.h"

namespace koord::koordlet {
namespace {

// If kubelet does not answer, koordlet watches the same pods at the API server
// (states/pod_fallback.h).
Task<Finding> queryPods(DoctorSources sources, api::Node node) {
  auto listing = sources.kubelet->list(node);
  const auto pods = co_await listing;
  if (pods) co_return Finding{true, fmt::format("kubelet lists {} pods", pods->size())};
  auto watching = kube::list<api::Pod>(*sources.api, "", "", "spec.nodeName=" + node.metadata.name);
  const auto watched = co_await watching;
  if (watched)
    co_return Finding{false, fmt::format("kubelet does not list its pods, so koordlet watches them "
                                         "at the API server ({} now), with a delay: {}",
                                         watched->items.size(), pods.error().message)};
  co_return Finding{false, fmt::format("neither kubelet nor the API server lists the node's pods: "
                                       "no QoS strategy applies. {}. {}",
                                       pods.error().message, watched.error().message)};
}

Task<Finding> queryConfig(DoctorSources sources, api::Node node) {
  auto asking = sources.config->config(node);
  const auto config = co_await asking;
  if (!config)
    co_return Finding{
        false, fmt::format("kubelet does not serve its configuration: NodeResourceTopology uses "
                           "the state file of its CPU manager and has no topology policy: {}",
                           config.error().message)};
  co_return Finding{true,
                    fmt::format("kubelet's configuration: CPU manager {}, topology manager {}",
                                textAt(*config, "kubeletconfig", "cpuManagerPolicy"),
                                textAt(*config, "kubeletconfig", "topologyManagerPolicy"))};
}

}  // namespace

Task<std::vector<Finding>> examineCluster(DoctorSources sources, std::string nodeName) {
  std::vector<Finding> findings;
  const api::ObjectKey key{"", nodeName};
  auto getting = kube::get<api::Node>(*sources.api, key);
  const auto node = co_await getting;
  if (!node) {
    findings.push_back(
        {false, fmt::format("Node {} cannot be read (NODE_NAME names it), so nothing "
                            "is reported or enforced: {}",
                            nodeName, node.error().message)});
    co_return findings;
  }
  findings.push_back({true, fmt::format("Node {} exists", nodeName)});
  auto askingPods = queryPods(sources, *node);
  auto pods = co_await askingPods;
  findings.push_back(std::move(pods));
  if (sources.config) {
    auto askingConfig = queryConfig(sources, *node);
    auto config = co_await askingConfig;
    findings.push_back(std::move(config));
  }
  auto reading = kube::get<api::NodeSLO>(*sources.api, key);
  const auto slo = co_await reading;
  if (slo) {
    findings.push_back({true, fmt::format("NodeSLO {} has the strategies", nodeName)});
  } else {
    findings.push_back(
        {false,
         fmt::format("no strategy applies without a NodeSLO, which koord-manager creates: {}",
                     slo.error().message)});
  }
  co_return findings;
}

}  // namespace koord::koordlet
