#pragma once

// Gangs: all gangs, their requirements and their members. All profiles share one Gangs.
//
// Members are pods as the API shows them (framework/known_pods.h). The requirements come from the
// gang's PodGroup, or from its oldest member that states them. Which members have a node, wait or
// are bound is read from the Cluster, whose records change with every attempt and its revert.
//
// Two more facts are remembered:
//   - Which members were released to be bound together: the other members must know it before the
//     API shows it, and it is written to the pods. It ends when the API shows the pod bound or
//     deleted, or when the pod loses its node.
//   - Which groups were satisfied: a member that replaces a finished or failed member does not wait
//     for the finished ones. A group is satisfied when a member of it is seen on a node, or when a
//     PodGroup's status says that the minimum had nodes, which is all that a restart knows of
//     finished members. It ends with the PodGroup, or with the last member of a gang without one.
//
// A gang is complete if it has as many schedulable members as it needs; a group is complete if all
// of its gangs are. A change that completes a group, or changes what it needs, wakes its members
// (activate).

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "scheduler/framework/handle.h"
#include "scheduler/framework/status.h"
#include "scheduler/plugins/coscheduling/gang_spec.h"

namespace koord::scheduler {

template <>
struct KindOf<api::PodGroup> {
  // Registers no event: Gangs activates the members if the object makes a difference.
  static constexpr ObjectKind value{.firstList = FirstList::BeforePods};
};
template <>
struct KindOf<api::WorkloadPodGroup> {
  static constexpr ObjectKind value{.firstList = FirstList::BeforePods, .optional = true};
};

// Members that were released to be bound together.
struct GangRelease {
  std::string groupId;
  std::size_t members = 0;
};

struct Gang {
  std::string id;
  std::shared_ptr<const api::PodGroup> object;            // nullptr if there is none
  std::shared_ptr<const api::WorkloadPodGroup> workload;  // Kubernetes' own, likewise
  std::optional<GangSpec> spec;                           // nullopt until something states it
  std::string source;      // uid of the member that states the spec if no PodGroup does
  std::string unreadable;  // why a member's annotations cannot be read
  bool deleted = false;    // its PodGroup was deleted while it had members
  std::unordered_map<std::string, PodPtr> members;  // by uid, as the API shows them
  std::size_t notReady = 0;  // members without a node that are gated or terminating
  std::size_t bound = 0;     // members with a node as the API shows it
  std::unordered_map<std::string, std::shared_ptr<const GangRelease>> released;  // not bound yet

  bool hasObject() const { return object || workload; }
  // For events. hasObject() must be true.
  api::ObjectReference reference() const;
  // The field that states how many pods the gang needs.
  std::string_view minimumField() const;
  std::size_t ready() const { return members.size() - notReady; }
  bool complete() const { return spec && static_cast<std::int64_t>(ready()) >= spec->minimum; }
};

class Gangs {
 public:
  // The handle is that of the first profile that has the plugin. Must outlive this object.
  Gangs(Handle& handle, const CoschedulingArgs& args);
  Gangs(const Gangs&) = delete;
  Gangs& operator=(const Gangs&) = delete;

  // nullptr if it has no member and no PodGroup.
  const Gang* find(const std::string& id) const;
  const Gang* gangOf(const PodInfo& pod) const;
  // Returns true if the pod is in no gang.
  bool alone(const PodInfo& pod) const {
    return alone_.of(pod, [&] { return gangNameOf(*pod.pod).empty(); });
  }
  const std::unordered_map<std::string, Gang>& all() const { return gangs_; }

  // The ids of the gangs that are bound together with this gang, including it. A gang without a
  // spec is alone.
  std::vector<std::string> groupOf(const Gang& gang) const;
  static std::string groupIdOf(const Gang& gang);
  // The network rules of the group: those of its first gang that has any; nullptr if none has.
  const std::vector<NetworkGather>* networkOf(const Gang& gang) const;
  // The gangs of the group that name the same group.
  std::vector<const Gang*> partnersOf(const Gang& gang) const;
  // Returns true if a member of the gang's group is bound, is about to be bound, or was bound.
  bool satisfied(const Gang& gang) const;
  // Returns true if members are scheduled like single pods: the group is satisfied and the policy
  // is once-satisfied, or the gang is basic.
  bool free(const Gang& gang) const;
  // Success, or why the pod has to wait for other members or gangs.
  Status check(const PodInfo& pod) const;
  // Members without a node, sorted by name.
  std::vector<PodPtr> pendingOf(const Gang& gang) const;
  // The number of members that have a node and are not yet bound as the API shows it.
  std::size_t waitingIn(const Gang& gang) const;

  // Records that these members are released to be bound together.
  void release(const Gang& gang, std::span<const PodPtr> members);
  std::shared_ptr<const GangRelease> releaseOf(const PodInfo& pod) const;
  // Called when the pod has lost its node.
  void placeLost(const PodInfo& pod);

  // Wakes the members of all gangs whose group names this gang.
  void activate(const std::string& id);
  // `fn` is called with each gang whose members or spec have changed.
  void listen(std::function<void(const std::string& id)> fn) {
    listeners_.push_back(std::move(fn));
  }

  // Recounts a gang from the existing pods and corrects what differs. Returns the differences; ""
  // if there are none.
  std::string verify(const std::string& id);
  // The same for one existing pod: checks that it is a member of its gang.
  std::string verify(const PodPtr& pod);

  Handle& handle() { return handle_; }
  const CoschedulingArgs& args() const { return args_; }

 private:
  void onPod(const PodPtr& before, const PodPtr& after);
  // Called when one of the gang's two kinds of objects was added, changed or deleted.
  template <class T>
  void objectSeen(const std::string& id, std::shared_ptr<const T> Gang::* slot,
                  const std::shared_ptr<const T>& after);
  Gang& gangNamed(const std::string& id);
  void join(const std::string& id, const PodPtr& pod);
  void leave(const std::string& id, const PodInfo& pod);
  void count(Gang& gang, const PodInfo& pod, bool add);
  // Reads the gang's requirements, from its object and all members or from a new member. Returns
  // true if they have changed.
  bool specify(Gang& gang);
  bool specifyBy(Gang& gang, const PodInfo& member);
  bool setSpec(Gang& gang, std::optional<GangSpec> spec);
  void relist(const std::string& id, const std::vector<std::string>& before,
              const std::vector<std::string>& after);
  void dropIfEmpty(const std::string& id);
  void noteSatisfied(const Gang& gang) {
    if (gang.spec) satisfied_.insert(groupIdOf(gang));
  }
  // Forgets the group's state if none of these gangs is in the group.
  void forgetGroup(const std::string& groupId, const std::vector<std::string>& gangs);
  bool groupComplete(const Gang& gang) const;
  // Schedules checkWaiting(), which activates members that waited for a member that was bound or
  // deleted.
  void scheduleCheck(const std::string& id);
  void checkWaiting();
  void changed(const std::string& id) const {
    for (const auto& listener : listeners_) listener(id);
  }

  Handle& handle_;
  const CoschedulingArgs args_;
  std::unordered_map<std::string, Gang> gangs_;
  mutable ByShape<bool> alone_;
  // Gangs whose group names this gang, including it.
  std::unordered_map<std::string, std::set<std::string>> namedBy_;
  std::vector<std::function<void(const std::string& id)>> listeners_;
  std::set<std::string> checks_;
  std::unordered_set<std::string> satisfied_;  // groups of which a member has had a node
  std::unordered_set<std::string> activated_;  // satisfied groups whose members were activated
  // False after destruction; posted callbacks check it first.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// The scheduler's Gangs, created at the first call.
Gangs& gangsOf(Handle& handle, const CoschedulingArgs& args);

}  // namespace koord::scheduler
