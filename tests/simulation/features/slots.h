#pragma once

// Numbered slots of nodes (scheduler/testing/small_plugins.h). Invariants: no slot is allocated to
// two pods, and a pod gets as many as it requests, from the slots of its node.

#include "simulation/feature.h"

namespace koord::simulation {

class SlotsFeature final : public Feature {
 public:
  using Feature::Feature;
  void join(scheduler::Registry& registry) override;
  std::vector<std::string> plugins() const override;
  void shape(scheduler::testing::PodBuilder& pod) override;
  void shape(scheduler::testing::NodeBuilder& node) override;
  void act() override;
  void addRules(scheduler::Handle& handle, const std::string& without, Model& model) override;
  void told(const api::Pod& pod) override;
  void bound(const api::Pod& pod, const Choice& choice) override;
};

}  // namespace koord::simulation
