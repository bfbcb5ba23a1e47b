#pragma once

// Pods are placed where they waste least (plugins/fragmentationaware). Which node is best is not
// compared, because it follows from what the plugin has learnt. Everything else is: a pod gets a
// node that fits, DeviceShare packs GPUs within their capacity, oracles foretell and replays repeat
// what the scheduler decides. Needs the feature "devices" to be of interest.

#include "simulation/feature.h"

namespace koord::simulation {

class PackingFeature final : public Feature {
 public:
  using Feature::Feature;
  void join(scheduler::Registry&) override {}
  std::vector<std::string> plugins() const override { return {"FragmentationAware"}; }
  void addRules(scheduler::Handle&, const std::string&, Model& model) override {
    model.scoredByOthers = true;
  }
};

}  // namespace koord::simulation
