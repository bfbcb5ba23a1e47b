#pragma once

// Gangs (plugins/coscheduling): PodGroups and gangs in annotations of their members, Strict and
// NonStrict, alone and bound together with others. Invariants: a process that binds a member has
// nodes for the minimum of every gang of the group, and no gang waits that would fit.

#include <set>

#include "api/podgroup.h"
#include "simulation/feature.h"

namespace koord::simulation {

class GangsFeature final : public Feature {
 public:
  GangsFeature(const Surroundings& world, Random random);
  void join(scheduler::Registry&) override {}
  std::vector<std::string> plugins() const override { return {"Coscheduling"}; }
  void configure(scheduler::ProfileConfig& profile) const override;
  void begin() override;
  void start() override;
  void act() override;
  void tick() override;
  void quiet() override { quiet_ = true; }
  bool calm() override;
  void addRules(scheduler::Handle& handle, const std::string& without, Model& model) override;
  bool placesTogether(const api::Pod& pod) const override;
  std::string groupState(const api::Pod& pod) const override;
  bool mayEvict(const api::Pod& pod) const override;
  void chosen(scheduler::Handle& handle, const api::Pod& pod, const Model& before,
              Choice& choice) override;
  void bound(const api::Pod& pod, const Choice& choice) override;
  std::string differences(scheduler::Handle& handle, const Model& model) override;
  std::string waitsInVain(const Model& model) override;

 private:
  // The gang's definition, as created.
  struct Plan {
    std::string name, namespace_;
    int minimum = 0;
    bool podGroup = false;  // its PodGroup defines it, else its members
    std::string mode, policy, wait;
    std::vector<std::string> group;  // ids of the gangs that are bound together; empty: only this
    std::string cpu, priority, quota;
    std::string id() const { return namespace_ + '/' + name; }
  };
  // The progress of a gang when a process chose a node for a member of its group, as the process
  // knew it.
  struct Standing {
    std::string id;
    int minimum = 0;
    std::string policy;
    int waiting = 0;  // with a node that the API server does not show yet
    int running = 0;
    bool satisfied = false;  // a member of its group runs
  };

  void plan(Plan& plan);
  void createGang(const Plan& plan);
  void createMember(const Plan& plan, int n, bool gated);
  void changeOne();
  void replaceMembers();
  void noteSatisfied();
  bool inCrowd() const;
  std::vector<std::string> groupOf(const std::string& id) const;
  std::string groupIdOf(const api::Pod& pod) const;
  // From the store; 0 if no object says it.
  int minimumOf(const std::string& id) const;
  // The lowest that the store has shown at that time or since.
  int lowestMinimumSince(const std::string& id, SteadyTime time) const;
  std::string whyVain(const Model& model, const std::vector<std::string>& group) const;

  kube::Informer<api::PodGroup> groups_;
  // Gangs whose PodGroup's status has said that their members had nodes.
  std::set<std::string> hadNodes_;
  std::map<std::string, Plan> plans_;  // by id, including deleted ones
  // The minimums that PodGroups have had, by the gang's id and the time of the change.
  std::map<std::string, std::map<SteadyTime, int>> minimums_;
  // All gangs of a group at one moment, by process and group.
  std::map<std::pair<std::string, std::string>, std::map<SteadyTime, std::vector<Standing>>> past_;
  // Groups of which the leader has seen a bound member; never reset.
  std::set<std::string> satisfied_;
  std::string satisfiedFor_;  // the leader's name
  const std::function<Process*()> leader_;
  const bool preempts_;
  bool quiet_ = false;
  int lastGang_ = 0;
};

}  // namespace koord::simulation
