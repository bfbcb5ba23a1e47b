#pragma once

// Life: what happens in a cluster apart from scheduling. Users create, change and delete pods,
// nodes and budgets at random; kubelets start and stop pods; a provisioner creates volumes; the
// status of budgets is updated; pods of deleted nodes are garbage-collected. It writes straight to
// the server.

#include "scheduler/testing/generator.h"
#include "simulation/feature.h"
#include "simulation/writes.h"

namespace koord::simulation {

class Life : Writes {
 public:
  Life(kube::Api& api, VirtualLoop& loop, Invariants& invariants, Journal& journal,
       const Features& features, Random random);

  // Creates namespaces, classes and the first nodes.
  void begin();
  // Makes one random change.
  void act();
  // Runs the controllers; call it about every second.
  void tick();
  void createPod();

 private:
  void createPods();
  void createNode();
  void createBudget();
  void changeNode();
  void changePod();
  void addVolumes(scheduler::testing::PodBuilder& pod);

  void onPod(const PodObject& pod);
  void startPod(const PodObject& pod);
  void collect();
  void countBudgets();
  void provision();
  void bindClaim(const api::PersistentVolumeClaim& claim, const std::string& volume);

  void patch(const api::ResourceType& type, const api::ObjectMeta& meta, json::value patch,
             std::string subresource = "");

  template <class T>
  const T* anyOf(const std::vector<T>& all) {
    return all.empty() ? nullptr : &all[random_.below(all.size())];
  }
  std::vector<std::shared_ptr<const api::Node>> sortedNodes() const;

  VirtualLoop& loop_;
  Invariants& invariants_;
  const Features& features_;
  Random random_;
  scheduler::testing::Generator generate_;
  std::uint64_t shapes_;
  double volumes_;  // the share of pods that have volumes
  bool crowded_ = false;
  int lastPod_ = 0;
  int lastNode_ = 0;
  std::uint64_t lastVolume_ = 0;
};

}  // namespace koord::simulation
