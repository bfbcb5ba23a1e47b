#pragma once

// What a node reports each minute, and what koord-manager offers for it: the NodeMetric of a
// simulated machine, koordlet's forecast of what prod pods leave unused, and the batch and mid
// resources that koord-manager's plugins compute from them.

#include <memory>
#include <string>
#include <vector>

#include "api/core.h"
#include "api/slo.h"
#include "koordctl/colocation/machine.h"
#include "koordlet/prediction/models.h"
#include "koordlet/prediction/reclaim.h"
#include "model/colocation_strategy.h"

namespace koord::koordctl::colocation {

// koordlet's models of a node: trained each minute from the samples of the machine.
class Forecaster {
 public:
  // Both must outlive it.
  Forecaster(const Parameters& parameters, const NodeSize& size);
  // One step of training with the last minute of samples. Services come in a fixed order.
  void train(const Machine& machine, WallTime now);
  // Trains with the demand of one more day before the start, as a node has that runs for a while.
  void learn(std::size_t service, double cores, double gib, WallTime time);
  void learnSum(double cores, double gib, WallTime time);
  // nullopt until the models are trained.
  std::optional<koordlet::prediction::Forecast> forecast(const Machine& machine) const;

 private:
  koordlet::prediction::Model& modelOf(std::size_t service);

  const Parameters& parameters_;
  const NodeSize& size_;
  std::vector<koordlet::prediction::Model> services_;
  koordlet::prediction::Model prod_, system_, none_;
  bool trained_ = false;
};

// forecast: may be nullopt.
api::NodeMetric nodeMetricOf(const Machine& machine, WallTime now,
                             const std::optional<koordlet::prediction::Forecast>& forecast);

// The node with the batch and mid resources that koord-manager writes; nullptr if it writes
// nothing now. overdue: updateTimeThresholdSeconds have passed since the last write.
std::shared_ptr<const api::Node> withResources(
    const model::ColocationStrategy& strategy, const api::Node& node, const api::NodeMetric& metric,
    const std::vector<std::shared_ptr<const api::Pod>>& pods, WallTime now, bool overdue);

}  // namespace koord::koordctl::colocation
