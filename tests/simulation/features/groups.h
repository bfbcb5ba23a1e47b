#pragma once

// Groups of pods that are placed together or not at all (scheduler/testing/small_plugins.h).
// Invariants: a process that binds a member has nodes for as many as the group needs, and no group
// waits that would fit.

#include <set>

#include "simulation/feature.h"

namespace koord::simulation {

class GroupsFeature final : public Feature {
 public:
  using Feature::Feature;
  void join(scheduler::Registry& registry) override;
  std::vector<std::string> plugins() const override;
  void begin() override;
  void act() override;
  void addRules(scheduler::Handle& handle, const std::string& without, Model& model) override;
  bool placesTogether(const api::Pod& pod) const override;
  void chosen(scheduler::Handle& handle, const api::Pod& pod, const Model& before,
              Choice& choice) override;
  void bound(const api::Pod& pod, const Choice& choice) override;
  std::string waitsInVain(const Model& model) override;

 private:
  void createMember(const std::string& group, int n, const std::string& cpu,
                    const std::string& priority, bool gated);

  std::map<std::string, std::set<std::string>> members_;  // uids by group, including deleted pods
  // Members for which a process chose a node at that moment.
  std::map<std::tuple<std::string, SteadyTime, std::string>, std::set<std::string>> chosen_;
  int lastGroup_ = 0;
};

}  // namespace koord::simulation
