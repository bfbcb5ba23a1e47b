#pragma once

// Crowds: full clusters. Few and small nodes that seldom change; pods that request CPUs only, with
// priorities from negative to the system's; some terminate slowly. Schedulers die while victims
// terminate. Controllers create members of gangs again that have ended or were deleted, and pods
// again that were preempted. decision_checker.h, departures.h and invariants.h check the decisions.

#include "simulation/feature.h"

namespace koord::simulation {

class CrowdsFeature final : public Feature {
 public:
  CrowdsFeature(const Surroundings& world, Random random);
  void join(scheduler::Registry&) override {}
  std::vector<std::string> plugins() const override { return {}; }
  void begin() override;
  void shape(scheduler::testing::PodBuilder& pod) override;
  void shape(scheduler::testing::NodeBuilder& node) override;
  bool crowded() const override { return true; }
  void quiet() override { quiet_ = true; }

 private:
  void podChanged(const PodObject& before, const PodObject& after);
  void onPodDeleted(const api::Pod& pod);

  const std::function<Process*()> leader_;
  bool quiet_ = false;
  int replaced_ = 0;
};

}  // namespace koord::simulation
