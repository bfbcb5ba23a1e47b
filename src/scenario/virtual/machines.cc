#include "scenario/virtual/machines.h"

#include "base/log.h"
#include "cluster/simnode/kwok.h"
#include "scenario/virtual/machine.h"

namespace koord::scenario {

Machines::Machines(kube::Api& api, kube::Api& asKoordlet, Executor& executor,
                   kube::Informer<api::Node>& nodes, kube::Informer<api::Pod>& pods, Random random)
    : api_(api),
      asKoordlet_(asKoordlet),
      executor_(executor),
      nodes_(nodes),
      pods_(pods),
      random_(random.fork()) {}

Machines::~Machines() = default;

void Machines::start() {
  nodes_.addHandler({[this](const auto& node) { nodeSeen(node); },
                     [this](const auto&, const auto& node) { nodeSeen(node); },
                     [this](const auto& node) { machines_.erase(node->metadata.name); }});
}

void Machines::nodeSeen(const std::shared_ptr<const api::Node>& node) {
  const std::string& name = node->metadata.name;
  if (const auto known = machines_.find(name); known != machines_.end())
    return known->second->take(node);
  const auto* annotation = api::findIn(node->metadata.annotations, cluster::kMachine);
  if (!annotation) return;
  auto spec = machineSpecOf(*node, *annotation);
  auto gates = koordlet::FeatureGates::parse(spec ? spec->gates : "");
  if (!spec || !gates) {
    log::error("annotation {} of node {}: {}", cluster::kMachine, name,
               spec ? gates.error().message : spec.error().message);
    return;
  }
  auto machine = std::make_unique<Machine>(api_, asKoordlet_, executor_, node, *std::move(spec),
                                           pods_, *std::move(gates), random_.fork());
  machine->start();
  machines_.emplace(name, std::move(machine));
}

}  // namespace koord::scenario
