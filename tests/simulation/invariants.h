#pragma once

// Invariants: the objects in the store, read without faults, and the invariants that are checked
// with every change, whatever the schedulers believe:
//  - a pod is bound once, to a node that a scheduler chose for it;
//  - a node that gets a pod has enough free for it, in every resource, and its host ports are free;
//  - required anti-affinity holds between pods that schedulers placed;
//  - a ReadWriteOncePod claim has one user, no node has more volumes than it can attach, and a
//    volume is usable where its pod is; a volume has one claim and a claim one volume, permanently;
//  - the invariants of features (feature.h);
//  - a victim of preemption was chosen by upstream's rules and has a lower priority.
//
// If a node changed in between, any of its states since the scheduler chose it is acceptable: no
// scheduler can know better. Likewise, a scheduler that was a standby may not have seen yet what
// its predecessor bound last; it must know what was bound before it started.
//
// Each pod is checked against the pods for which a node was chosen before it: what is free for one
// may not be free for another (a reservation that matches), so sums alone say nothing. Bindings
// arrive in any order; after a late one, the pods that were chosen after it are checked again.

#include <map>
#include <string>

#include "api/storage.h"
#include "base/virtual_loop.h"
#include "kube/informer.h"
#include "simulation/decision_checker.h"
#include "simulation/journal.h"

namespace koord::simulation {

// The simulation itself assigns pods with this label to nodes.
inline constexpr const char* kForeign = "foreign";

class Feature;
using Features = std::vector<std::unique_ptr<Feature>>;

// Returns true if a scheduler has marked the pod as a victim.
bool wasPreempted(const api::Pod& pod);

class Invariants {
 public:
  Invariants(kube::Api& api, VirtualLoop& loop, Journal& journal, const Decisions& decisions,
             const Features& features);

  kube::Informer<api::Pod> pods;
  kube::Informer<api::Node> nodes;
  kube::Informer<api::PersistentVolumeClaim> claims;
  kube::Informer<api::PersistentVolume> volumes;
  kube::Informer<api::PodDisruptionBudget> budgets;
  void start();

  // By name, so that a run does not depend on the order of hash tables.
  std::vector<PodObject> sortedPods() const;
  // When anything last changed.
  SteadyTime lastChange() const { return lastChange_; }
  std::size_t boundCount() const { return bindings_.size(); }

  // --- For features.
  using NodeObject = std::shared_ptr<const api::Node>;
  // Called when a unit that is not a Pod has been bound; `pod` represents it.
  void bound(const PodObject& pod);
  // Called when something other than a pod or node has changed.
  void touched() { lastChange_ = loop_.steadyNow(); }
  // The states of the node since the scheduler chose it; the first is what the scheduler
  // saw.
  std::vector<NodeObject> versionsSince(const Choice& choice) const;
  // Returns true if the process that made this choice must know that the unit is on the node.
  bool hasReceived(const Choice& choice, const std::string& uid, const std::string& node) const;
  // When the process started.
  SteadyTime startOf(const std::string& process) const { return decisions_.starts.at(process); }
  // The running pods that the process that made this choice must know, by name; on one node or on
  // all.
  std::vector<PodObject> others(const Choice& choice, const std::string& node = "") const;
  // The pods on its node, and units that are not Pods.
  std::vector<PodObject> holders(const Choice& choice) const;
  const Features& features() const { return features_; }
  // Units that were bound to the node and chosen for it at or after that time.
  struct Arrival {
    std::string process;
    PodObject pod;
  };
  std::vector<Arrival> arrivalsOn(const std::string& node, SteadyTime since) const;
  // The pod or other unit with this uid in the store; nullptr if it does not exist.
  PodObject stored(const api::Pod& pod) const;

 private:
  void changed(const PodObject& before, const PodObject& after);
  // The last choice of its node; nullptr if no scheduler chose it.
  const Choice* choiceOf(const api::Pod& pod) const;
  void check(const api::Pod& pod, const Choice& choice);
  void evicted(const api::Pod& pod);
  void promised(const api::PersistentVolume* before, const api::PersistentVolume& after);
  void claimed(const api::PersistentVolumeClaim& before, const api::PersistentVolumeClaim& after);
  void checkRoom(const api::Pod& pod, const Choice& choice);
  void checkPorts(const api::Pod& pod, const Choice& choice);
  void checkApart(const api::Pod& pod, const Choice& choice);
  void checkVolumes(const api::Pod& pod, const Choice& choice);
  std::shared_ptr<const api::PersistentVolume> volumeOf(const api::Pod& pod,
                                                        const std::string& claim) const;

  VirtualLoop& loop_;
  Journal& journal_;
  const Decisions& decisions_;
  const Features& features_;
  std::map<std::string, std::vector<NodeObject>> history_;  // of nodes, by name; oldest first
  struct Binding {
    std::string process;
    SteadyTime time{};
    std::uint64_t number = 0;  // of the choice
    PodObject pod;
    SteadyTime chosen{};
  };
  std::map<std::string, Binding> bindings_;  // by the pod's uid
  SteadyTime lastChange_{};
};

// How many volumes a node of the simulation can attach.
inline constexpr int kVolumesPerNode = 2;

}  // namespace koord::simulation
