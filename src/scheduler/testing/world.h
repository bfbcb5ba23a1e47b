#pragma once

// World: a cluster and the framework of one profile on it, for tests of plugins and of the search.
// Without API and queue; time is virtual.

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/virtual_loop.h"
#include "scheduler/framework/build_profile.h"
#include "scheduler/framework/node_search.h"
#include "scheduler/framework/pod_units.h"
#include "scheduler/testing/builders.h"

namespace koord::scheduler::testing {

// The prefixes of World::filter's texts: where an event could help the pod, and where it could not.
inline const std::string kUnschedulable = "Unschedulable: ";
inline const std::string kUnresolvable = "UnschedulableAndUnresolvable: ";

class World final : public Handle {
 public:
  World();
  ~World() override;
  Cluster& cluster() override { return cluster_; }
  Executor& executor() override { return loop_; }
  Nominator& nominator() override { return nominator_; }
  WaitingPods& waitingPods() override { return waiting_; }
  Stores& stores() override { return stores_; }
  KnownPods& knownPods() override { return known_; }
  SharedStates& shared() override { return states_; }
  NodeSearch& search() override { return *search_; }
  UnitFeed& units() override { return units_; }
  UnitKind& kindOf(const PodInfo& unit) override { return unit.kind ? *unit.kind : podKind_; }
  Random random() override { return random_.fork(); }
  void requeue(const std::vector<PodPtr>& pods) override { activate(pods); }
  void activate(const std::vector<PodPtr>& pods) override {
    for (const PodPtr& pod : pods) activated.push_back(pod->key());
  }
  PodPtr pendingPod(const api::ObjectKey& key) override {
    const auto it = pending.find(key);
    return it == pending.end() ? nullptr : it->second;
  }
  kube::Api* api() override { return apiToUse; }
  kube::EventRecorder* events() override { return nullptr; }
  bool enabled(std::string_view gate) const override { return gates.contains(gate); }

  NodeId node(const NodeBuilder& node);
  PodPtr pod(const PodBuilder& pod) { return makePodInfo(cluster_, pod.build()); }
  // Adds a pod that runs on its spec.nodeName.
  PodPtr bound(const PodBuilder& builder);

  // Builds the profile from the YAML of a whole configuration ("" = defaults); returns the errors.
  std::vector<std::string> configure(const Registry& registry, const std::string& yaml = "",
                                     std::uint64_t seed = 1);
  // A profile of this plugin only, at every point that it extends.
  Plugin& only(std::unique_ptr<Plugin> plugin, std::uint64_t seed = 1);
  // Adds a plugin that takes part in no point, for what it offers to others.
  void offer(std::unique_ptr<Plugin> plugin) { profile_->plugins.push_back(std::move(plugin)); }

  // The verdict on each node: "" = passes, else "Code: reasons".
  std::map<std::string, std::string> filter(const PodPtr& pod);
  // Weighted, normalised totals of the given nodes.
  std::map<std::string, std::int64_t> scores(const PodPtr& pod,
                                             std::vector<std::string> nodes = {});
  // The name of the selected node, or the failure's message.
  std::string place(const PodPtr& pod);

  VirtualLoop& loop() { return loop_; }
  kube::Api* apiToUse = nullptr;
  std::set<std::string, std::less<>> gates;  // feature gates that are on
  std::vector<std::string> activated;
  std::map<api::ObjectKey, PodPtr> pending;
  const Profile& profile() const override { return *profile_; }

  // Units that plugins have added; those with a node are counted there.
  class Units final : public UnitFeed {
   public:
    explicit Units(World& world) : world_(world) {}
    void added(const Object& unit, UnitKind& kind) override;
    void updated(const Object&, const Object& after, UnitKind& kind) override {
      added(after, kind);
    }
    void removed(const Object& last) override { world_.cluster().removePod(last->metadata.uid); }

   private:
    World& world_;
  };

 private:
  VirtualLoop loop_;
  Cluster cluster_;
  Nominator nominator_;
  WaitingPods waiting_;
  Stores stores_;
  KnownPods known_;
  SharedStates states_;
  Units units_{*this};
  PodUnits podKind_{nullptr, loop_};
  Random random_{1};
  std::unique_ptr<Profile> profile_ = std::make_unique<Profile>();
  std::unique_ptr<NodeSearch> search_;
};

}  // namespace koord::scheduler::testing
