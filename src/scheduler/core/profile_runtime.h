#pragma once

// ProfileRuntime: a running profile, and the Handle of its plugins.

#include <set>

#include "base/random.h"
#include "kube/events.h"
#include "scheduler/extender/extenders.h"
#include "scheduler/framework/audit.h"
#include "scheduler/framework/build_profile.h"
#include "scheduler/framework/node_search.h"
#include "scheduler/framework/pod_units.h"

namespace koord::scheduler {

// State that all profiles share.
struct Shared {
  Shared(Executor& executorToUse, kube::Api* apiToUse);

  Executor& executor;
  kube::Api* api;
  Cluster cluster;
  Nominator nominator;
  WaitingPods waiting;
  Stores stores;
  KnownPods known;
  SharedStates states;
  PodUnits podUnits;
  UnitFeed* units = nullptr;
  Observer* observer = nullptr;
  WorkloadAudit* audit = nullptr;
  std::unique_ptr<Extenders> extenders;  // nullptr if there are none
  std::function<void(const std::vector<PodPtr>&)> activate;
  std::function<void(const std::vector<PodPtr>&)> requeue;
  std::function<void(const ClusterEvent&)> notify;
  std::function<PodPtr(const api::ObjectKey&)> pending;
  std::set<std::string, std::less<>> gates;  // enabled gates

  UnitKind& kindOf(const PodInfo& unit) { return unit.kind ? *unit.kind : podUnits; }
};

class ProfileRuntime final : public Handle {
 public:
  ProfileRuntime(Shared& shared, const ProfileConfig& config, const Registry& registry,
                 std::int32_t percentage, Random random, std::vector<std::string>& errors);
  ~ProfileRuntime() override;

  const Profile& profile() const override { return *profile_; }

  Cluster& cluster() override { return shared_.cluster; }
  Executor& executor() override { return shared_.executor; }
  Nominator& nominator() override { return shared_.nominator; }
  WaitingPods& waitingPods() override { return shared_.waiting; }
  Stores& stores() override { return shared_.stores; }
  KnownPods& knownPods() override { return shared_.known; }
  SharedStates& shared() override { return shared_.states; }
  NodeSearch& search() override { return *search_; }
  UnitFeed& units() override { return *shared_.units; }
  UnitKind& kindOf(const PodInfo& unit) override { return shared_.kindOf(unit); }
  Random random() override { return random_.fork(); }
  PodPtr pendingPod(const api::ObjectKey& key) override { return shared_.pending(key); }
  void activate(const std::vector<PodPtr>& pods) override { shared_.activate(pods); }
  void requeue(const std::vector<PodPtr>& pods) override { shared_.requeue(pods); }
  void notify(const ClusterEvent& event) override {
    if (shared_.notify) shared_.notify(event);
  }
  kube::Api* api() override { return shared_.api; }
  kube::EventRecorder* events() override { return events_.get(); }
  Observer* observer() override { return shared_.observer; }
  Extenders* extenders() override { return shared_.extenders.get(); }
  bool enabled(std::string_view gate) const override { return shared_.gates.contains(gate); }

 private:
  Shared& shared_;
  Random random_;
  std::unique_ptr<kube::EventRecorder> events_;
  std::unique_ptr<Profile> profile_;
  std::unique_ptr<NodeSearch> search_;
};

}  // namespace koord::scheduler
