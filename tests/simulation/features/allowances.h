#pragma once

// Limits of the cpu that the pods of a namespace use together (scheduler/testing/small_plugins.h).
// Invariant: no scheduler exceeds the limit that it knows.

#include "scheduler/testing/small_objects.h"
#include "simulation/feature.h"

namespace koord::simulation {

class AllowancesFeature final : public Feature {
 public:
  AllowancesFeature(const Surroundings& world, Random random);
  void join(scheduler::Registry& registry) override;
  std::vector<std::string> plugins() const override;
  void begin() override;
  void start() override;
  void act() override;
  void addRules(scheduler::Handle& handle, const std::string& without, Model& model) override;
  void chosen(scheduler::Handle& handle, const api::Pod& pod, const Model& before,
              Choice& choice) override;
  void bound(const api::Pod& pod, const Choice& choice) override;
  std::string differences(scheduler::Handle& handle, const Model& model) override;

 private:
  using Limit = scheduler::testing::AllowanceLimit;
  struct Known {
    SteadyTime time{};
    std::int64_t limit = 0;
  };

  kube::Informer<Limit> limits_;
  // What processes knew when they chose a node for a pod, by process and namespace.
  std::map<std::pair<std::string, std::string>, std::vector<Known>> known_;
};

}  // namespace koord::simulation
