#pragma once

// Feature: a part of the scheduler beyond Kubernetes' own plugins, as the simulation tries it out:
// the plugins of every process, the objects that people create and change for it, what plain
// evaluation has to know, and what must hold. One file below features/ for each; a line in
// features.cc takes it into some of the seeds.
//
//   definitions   begin() creates custom resources, before any scheduler runs; start() the first
//                 objects and watches
//   arrivals      shape() adds to pods and nodes that are about to be created; act() does something
//   rules         addRules() tells plain evaluation what the feature's plugins know and decide by
//   invariants    bound() is called with every pod and unit that the store shows bound, differences()
//                 when all is quiet
//
// Features have a source of random numbers of their own: a seed without them goes as it ever did.

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/reservation.h"
#include "apiserver/http_front.h"
#include "scheduler/config/types.h"
#include "scheduler/framework/registry.h"
#include "scheduler/testing/builders.h"
#include "simulation/truth.h"
#include "simulation/writes.h"

namespace koord::simulation {

class Process;

// Where a feature lives.
struct Surroundings {
  kube::Api& api;  // straight to the server
  VirtualLoop& loop;
  Journal& journal;
  Truth& truth;
  apiserver::HttpFront& front;
  std::function<Process*()> leader;  // the scheduler that leads; nullptr: none does
};

class Feature : protected Writes {
 public:
  Feature(const Surroundings& world, Random random)
      : Writes(world.api, world.journal), loop_(world.loop), truth_(world.truth), random_(random) {}
  virtual ~Feature() = default;

  // --- Of every scheduler process.
  virtual void join(scheduler::Registry& registry) = 0;
  virtual std::vector<std::string> plugins() const = 0;  // all of their points are enabled
  virtual void configure(scheduler::ProfileConfig& profile) const;

  // --- The life of the cluster.
  virtual void begin() {}
  virtual void start() {}
  virtual void shape(scheduler::testing::PodBuilder& /*pod*/) {}
  virtual void shape(scheduler::testing::NodeBuilder& /*node*/) {}
  virtual void shape(api::Reservation& /*reservation*/) {}
  // Clusters whose nodes seldom change and whose pods ask for room and nothing else.
  virtual bool crowded() const { return false; }
  virtual void act() {}
  virtual void tick() {}   // about every second
  virtual void quiet() {}  // nobody dies and networks are good from now on
  // When it does not become quiet: ends what keeps pods moving by its nature; false when nothing does.
  virtual bool calm() { return false; }

  // --- Plain evaluation, with what a process knows. The model leaves out the pod of this uid.
  virtual void addRules(scheduler::Handle& /*handle*/, const std::string& /*without*/,
                        Model& /*model*/) {}
  // Whether the pod is placed together with others: a verdict on it alone means little then.
  virtual bool placesTogether(const api::Pod& /*pod*/) const { return false; }
  // What the pod is placed together with and what that asks for, as it is in the store; "": it alone.
  virtual std::string groupState(const api::Pod& /*pod*/) const { return ""; }

  // --- What must hold.
  // A process reserves a node for the unit; `choice` can keep facts until it is bound.
  virtual void chosen(scheduler::Handle& /*handle*/, const api::Pod& /*pod*/,
                      const Model& /*before*/, Choice& /*choice*/) {}
  // With every pod that the store shows bound, and again when one that was chosen before it is bound
  // after it.
  virtual void bound(const api::Pod& /*pod*/, const Choice& /*choice*/) {}
  virtual void told(const api::Pod& /*pod*/) {}  // the first time only, before
  // What is taken of the pod's node beside the pods on it and is not for this pod, as far as who
  // chose the node has to know.
  virtual void addUsed(const api::Pod& /*pod*/, const Choice& /*choice*/,
                       std::map<std::string, std::int64_t>& /*used*/) {}
  // Whether the feature's own kind of preemption may have sent the pod away.
  virtual bool mayEvict(const api::Pod& /*pod*/) const { return false; }
  // The store's units that are no Pods, as the scheduler sees them.
  virtual std::vector<PodObject> units() const { return {}; }
  // When what decides who may run has changed last, beside pods and nodes: limits.
  virtual SteadyTime rulesChanged() const { return SteadyTime::min(); }
  // When all is quiet: how what the process believes differs from the store; "" when it does not.
  virtual std::string differences(scheduler::Handle& /*handle*/, const Model& /*model*/) {
    return "";
  }
  // At any moment: how what the process counts of a node differs from what its pods say.
  virtual std::string check(scheduler::Handle& /*handle*/, scheduler::NodeId /*node*/) {
    return "";
  }
  // When all is quiet: whether somebody waits who could run, in words, beside pods that stand alone.
  virtual std::string waitsInVain(const Model& /*model*/) { return ""; }

 protected:
  // A custom resource of any content, with or without a status of its own.
  enum class Status { Apart, Within };
  void define(const api::ResourceType& type, Status status = Status::Apart);
  // All points of the plugin, and preemption in the order of the configuration that is shipped:
  // DefaultPreemption comes last, and the witness looks first.
  static void enableAsShipped(scheduler::ProfileConfig& profile, const std::string& plugin);
  template <class T>
  const T* anyOf(const std::vector<T>& all) {
    return all.empty() ? nullptr : &all[random_.below(all.size())];
  }
  const char* pick(std::initializer_list<const char*> texts) {
    return texts.begin()[random_.below(texts.size())];
  }

  VirtualLoop& loop_;
  Truth& truth_;
  Random random_;
};

// Those that this seed is tried with: none for an eighth, small ones for two, plugins of jobs, of
// machines, or both for three, and those of jobs in a crowd for two; `only` names those that every seed has
// instead.
Features featuresOf(std::uint64_t seed, const Surroundings& world,
                    const std::set<std::string>& only);

// The text of an annotation or label; "" when there is none.
inline std::string textOf(const api::StringMap& map, const char* key) {
  const auto* text = api::findIn(map, key);
  return text ? *text : std::string();
}

}  // namespace koord::simulation
