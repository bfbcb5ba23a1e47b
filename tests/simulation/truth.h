#pragma once

// Truth: the objects in the store, without faults in between, and what must hold of them with every
// change, whatever the schedulers believe:
//  - a pod is bound once, to a node that a scheduler chose for it;
//  - a node that takes a pod has room for it, in every resource, and its host ports are free;
//  - required anti-affinity holds between pods that schedulers placed;
//  - a ReadWriteOncePod claim has one user, no node has more volumes than it can attach, and a
//    volume is usable where its pod is; a volume has one claim and a claim one volume, for good;
//  - what features say (feature.h);
//  - who is evicted for another pod was chosen as a victim by upstream's rules and matters less.
//
// A node that changed on the way counts as it was when the scheduler chose it, or as it was at any
// moment since: nobody can know better. Likewise a scheduler that was a standby may not have seen
// yet what its predecessor bound last; what was bound before it even started it has to know.
//
// Each pod is judged by those that had been chosen a node before it: what is free to one may not be
// to another (a reservation that matches), so sums alone say nothing. Bindings arrive in any order;
// one that is late has those judged anew that were chosen after it.

#include <map>
#include <string>

#include "api/storage.h"
#include "base/virtual_loop.h"
#include "kube/informer.h"
#include "simulation/journal.h"
#include "simulation/witness.h"

namespace koord::simulation {

// Pods with this label are put on their nodes by the simulation itself.
inline constexpr const char* kForeign = "foreign";

class Feature;
using Features = std::vector<std::unique_ptr<Feature>>;

class Truth {
 public:
  Truth(kube::Api& api, VirtualLoop& loop, Journal& journal, const Decisions& decisions,
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
  // A unit that is no Pod, as if it were one, has been bound.
  void bound(const PodObject& pod);
  // Something else than a pod or node has changed.
  void touched() { lastChange_ = loop_.steadyNow(); }
  // What the node was since the scheduler chose it; the first is what the scheduler saw.
  std::vector<NodeObject> versionsSince(const Choice& choice) const;
  // Whether whoever made this choice has to know that this unit is on the node.
  bool knew(const Choice& choice, const std::string& uid, const std::string& node) const;
  // The running pods that whoever made this choice has to know, by name; on one node or on all.
  std::vector<PodObject> others(const Choice& choice, const std::string& node = "") const;
  // Those on its node, and units that are no Pods.
  std::vector<PodObject> holders(const Choice& choice) const;
  const Features& features() const { return features_; }
  // Who was bound to the node after having been chosen for it at or after that time.
  struct Came {
    std::string process;
    PodObject pod;
  };
  std::vector<Came> cameTo(const std::string& node, SteadyTime since) const;
  // The pod or other unit of this uid as it is in the store; nullptr: it is not there.
  PodObject stored(const api::Pod& pod) const;

 private:
  void changed(const PodObject& before, const PodObject& after);
  // The last choice of the node it is on; nullptr: nobody's.
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
