#pragma once

// Feature: a part of the scheduler beyond Kubernetes' own plugins, for the simulation: the plugins
// of every process, the objects that users create and change for it, its rules for the plain
// evaluation, and its invariants. Each feature is a file below features/; a line in features.cc
// adds it to some of the seeds.
//
//   definitions   begin() creates custom resources, before any scheduler runs; start() the first
//                 objects and watches
//   arrivals      shape() adds to pods and nodes that are about to be created; act() does something
//   rules         addRules() gives plain evaluation the state and the rules of the plugins
//   invariants    bound() is called with every pod and unit that the store shows bound,
//                 differences() when all is quiet
//
// Features have their own source of random numbers: a seed without features runs as before.

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "api/reservation.h"
#include "apiserver/http_front.h"
#include "scheduler/config/types.h"
#include "scheduler/framework/registry.h"
#include "scheduler/testing/builders.h"
#include "simulation/invariants.h"
#include "simulation/writes.h"

namespace koord::simulation {

class Process;

// The environment of a feature.
struct Surroundings {
  kube::Api& api;  // straight to the server
  VirtualLoop& loop;
  Journal& journal;
  Invariants& invariants;
  apiserver::HttpFront& front;
  std::function<Process*()> leader;  // the leading scheduler; nullptr if none leads
};

class Feature : protected Writes {
 public:
  Feature(const Surroundings& world, Random random)
      : Writes(world.api, world.journal),
        loop_(world.loop),
        invariants_(world.invariants),
        random_(random) {}
  virtual ~Feature() = default;

  // --- For every scheduler process.
  virtual void join(scheduler::Registry& registry) = 0;
  virtual std::vector<std::string> plugins() const = 0;  // enabled at all extension points
  virtual void configure(scheduler::ProfileConfig& profile) const;

  // --- The life of the cluster.
  virtual void begin() {}
  virtual void start() {}
  virtual void shape(scheduler::testing::PodBuilder& /*pod*/) {}
  virtual void shape(scheduler::testing::NodeBuilder& /*node*/) {}
  virtual void shape(api::Reservation& /*reservation*/) {}
  // True for clusters whose nodes seldom change and whose pods request resources only.
  virtual bool crowded() const { return false; }
  virtual void act() {}
  virtual void tick() {}   // called about every second
  virtual void quiet() {}  // called when processes stop dying and networks work from now on
  // Called if the cluster does not become quiet: ends what keeps pods moving by design. Returns
  // false if there is no such thing.
  virtual bool calm() { return false; }

  // --- For plain evaluation, with the state of a process.
  // The model leaves out the pod with this uid.
  virtual void addRules(scheduler::Handle& /*handle*/, const std::string& /*without*/,
                        Model& /*model*/) {}
  // Returns true if the pod is placed together with others, so that a verdict on it alone means
  // little.
  virtual bool placesTogether(const api::Pod& /*pod*/) const { return false; }
  // The group of the pod and its requirements, from the store; "": the pod is alone.
  virtual std::string groupState(const api::Pod& /*pod*/) const { return ""; }

  // --- Invariants.
  // Called when a process reserves a node for the unit; `choice` can keep facts until it is bound.
  virtual void chosen(scheduler::Handle& /*handle*/, const api::Pod& /*pod*/,
                      const Model& /*before*/, Choice& /*choice*/) {}
  // Called with every pod that the store shows bound, and again if a pod that was chosen before it
  // is bound after it.
  virtual void bound(const api::Pod& /*pod*/, const Choice& /*choice*/) {}
  virtual void told(const api::Pod& /*pod*/) {}  // called once, before the first bound()
  // Adds the amounts on the pod's node, in addition to its pods, that are not for this pod, as far
  // as the process that chose the node must know them.
  virtual void addUsed(const api::Pod& /*pod*/, const Choice& /*choice*/,
                       std::map<std::string, std::int64_t>& /*used*/) {}
  // Called when a process is about to evict these pods of one node for the preemptor.
  virtual void departing(const api::Pod& /*preemptor*/, std::span<const PodObject> /*victims*/) {}
  // Returns true if the feature's own preemption may have evicted the pod.
  virtual bool mayEvict(const api::Pod& /*pod*/) const { return false; }
  // The units of the store that are not Pods, as the scheduler sees them.
  virtual std::vector<PodObject> units() const { return {}; }
  // When limits last changed that decide whether pods may run on the node, other than pods and
  // nodes.
  virtual SteadyTime rulesChanged(const std::string& /*node*/) const { return SteadyTime::min(); }
  // Called when all is quiet: the difference between the process's state and the store; "" if none.
  virtual std::string differences(scheduler::Handle& /*handle*/, const Model& /*model*/) {
    return "";
  }
  // Called at any moment: the difference between what the process counts for a node and what the
  // node's pods say; "" if none.
  virtual std::string check(scheduler::Handle& /*handle*/, scheduler::NodeId /*node*/) {
    return "";
  }
  // Called when all is quiet: which units wait though they could run, apart from single pods; "" if
  // none.
  virtual std::string waitsInVain(const Model& /*model*/) { return ""; }

 protected:
  // Defines a custom resource with arbitrary content, with or without a status subresource.
  enum class Status { Apart, Within };
  void define(const api::ResourceType& type, Status status = Status::Apart);
  // Adds the plugin to PostFilter in the order of the default configuration: the checker comes
  // first, and DefaultPreemption last.
  static void addToPostFilter(scheduler::ProfileConfig& profile, const std::string& plugin);
  // Enables all extension points of the plugin, PostFilter in that order.
  static void enableAsShipped(scheduler::ProfileConfig& profile, const std::string& plugin);
  template <class T>
  const T* anyOf(const std::vector<T>& all) {
    return all.empty() ? nullptr : &all[random_.below(all.size())];
  }
  const char* pick(std::initializer_list<const char*> texts) {
    return texts.begin()[random_.below(texts.size())];
  }

  VirtualLoop& loop_;
  Invariants& invariants_;
  Random random_;
};

// The features of this seed: none for an eighth of the seeds, small ones for two eighths; plugins
// for jobs, for nodes, or both for three; plugins for jobs in a crowd for two. Some of all but the
// first have resource claims, too. `only` replaces the choice for every seed.
Features featuresOf(std::uint64_t seed, const Surroundings& world,
                    const std::set<std::string>& only);

// The text of an annotation or label; "" if it is missing.
inline std::string textOf(const api::StringMap& map, const char* key) {
  const auto* text = api::findIn(map, key);
  return text ? *text : std::string();
}

}  // namespace koord::simulation
