#pragma once

// Resources on nodes that are reserved for pods of a team (scheduler/testing/small_plugins.h):
// objects that are scheduled as if they were pods. Invariants: a hold is bound once, to a node with
// enough free; its owners use at most what it has, and no other pod uses any of it.

#include "scheduler/testing/small_objects.h"
#include "simulation/feature.h"

namespace koord::simulation {

class HoldsFeature final : public Feature {
 public:
  HoldsFeature(const Surroundings& world, Random random);
  void join(scheduler::Registry& registry) override;
  std::vector<std::string> plugins() const override;
  void begin() override;
  void start() override;
  void shape(scheduler::testing::PodBuilder& pod) override;
  void act() override;
  void tick() override;
  void addRules(scheduler::Handle& handle, const std::string& without, Model& model) override;
  void told(const api::Pod& pod) override;
  void bound(const api::Pod& pod, const Choice& choice) override;
  void addUsed(const api::Pod& pod, const Choice& choice,
               std::map<std::string, std::int64_t>& used) override;
  std::vector<PodObject> units() const override;

 private:
  using Hold = scheduler::testing::Hold;
  using HoldObject = std::shared_ptr<const Hold>;

  void changed(const HoldObject& before, const HoldObject& after);
  std::vector<HoldObject> sorted() const;

  kube::Informer<Hold> holds_;
  std::map<std::string, HoldObject> ever_;  // by uid, as last seen
  int lastHold_ = 0;
};

}  // namespace koord::simulation
