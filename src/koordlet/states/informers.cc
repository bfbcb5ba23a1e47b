#include "koordlet/states/informers.h"

#include "model/resources.h"
#include "model/well_known.h"

namespace koord::koordlet {

kube::WatchScope scopeOf(const std::string& name) {
  return {"", "", "metadata.name=" + name};
}

NodeInformers::NodeInformers(kube::Api& api, Executor& executor, const std::string& nodeName,
                             States& states, Metrics& metrics, Random random)
    : states_(states),
      metrics_(metrics),
      node_(api, executor, scopeOf(nodeName), random.fork()),
      slo_(api, executor, scopeOf(nodeName), random.fork()) {
  node_.addHandler({[this](const auto& node) { takeNode(node); },
                    [this](const auto&, const auto& node) { takeNode(node); }, nullptr});
  slo_.addHandler({[this](const auto& slo) { takeSlo(slo); },
                   [this](const auto&, const auto& slo) { takeSlo(slo); }, nullptr});
}

void NodeInformers::start() {
  node_.start();
  slo_.start();
}

void NodeInformers::takeNode(const std::shared_ptr<const api::Node>& node) {
  metrics_.setNode(node->metadata.name);
  const auto amount = [&](std::string_view name) {
    return model::amountOf(node->status.allocatable, name).toDouble();
  };
  metrics_.nodeAllocatable(std::string(model::kBatchCpu), "integer", amount(model::kBatchCpu));
  metrics_.nodeAllocatable(std::string(model::kBatchMemory), "byte", amount(model::kBatchMemory));
  metrics_.nodeAllocatable(std::string(model::kMidCpu), "integer", amount(model::kMidCpu));
  metrics_.nodeAllocatable(std::string(model::kMidMemory), "byte", amount(model::kMidMemory));
  states_.setNode(node);
}

void NodeInformers::takeSlo(const std::shared_ptr<const api::NodeSLO>& slo) {
  std::vector<std::string> problems;
  EffectiveSlo effective =
      effectiveSlo(slo->spec, states_.slo() ? *states_.slo() : defaultSlo(), problems);
  for (const auto& problem : problems) log::warn("NodeSLO {}: {}", slo->metadata.name, problem);
  states_.setSlo(std::move(effective));
}

}  // namespace koord::koordlet
