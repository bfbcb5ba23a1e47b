#pragma once

// Gangs: which gangs there are, what they ask for and who belongs to them. One for all profiles.
//
// Members are pods as the API shows them (framework/known_pods.h), what a gang asks for follows from
// its PodGroup or its oldest member that says it. That is all that is kept. Who has a place, waits or
// is bound is asked of the Cluster, whose records change with every try and its undoing.
//
// The one decision that is remembered is which members were let go to be bound together: the others
// must know before the API shows it, and it is written on the pods. It ends when the API shows the
// pod bound or gone, or when its place is given up.
//
// Which groups were satisfied is remembered, too: a member that takes the place of one that has ended or
// failed does not wait for those who are done. A group was when a member of it is seen on a node, or when
// the status of a PodGroup says that the minimum had one, which is what a restart knows of members that
// have ended. It ends with the PodGroup, or with the last member of a gang that has none.
//
// A gang is complete when as many members as it needs are there and could be placed; a group when all
// of its gangs are. What completes a group, or changes what it needs, wakes its members (activate).

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
  // It wakes nobody by itself: members are told when it makes a difference.
  static constexpr ObjectKind value{.firstList = FirstList::BeforePods};
};
template <>
struct KindOf<api::WorkloadPodGroup> {
  static constexpr ObjectKind value{.firstList = FirstList::BeforePods, .optional = true};
};

// Members that were let go together.
struct GangRelease {
  std::string groupId;
  std::size_t members = 0;
};

struct Gang {
  std::string id;
  std::shared_ptr<const api::PodGroup> object;            // nullptr: there is none
  std::shared_ptr<const api::WorkloadPodGroup> workload;  // Kubernetes' own, likewise
  std::optional<GangSpec> spec;                           // absent: nothing says it yet
  std::string source;      // uid of the member that says it, when no PodGroup does
  std::string unreadable;  // why a member's annotations do not say it
  bool deleted = false;    // its PodGroup went while members were there
  std::unordered_map<std::string, PodPtr> members;  // by uid, as the API shows them
  std::size_t notReady = 0;  // of these, without a node and not to be placed: gated, leaving
  std::size_t bound = 0;     // of these, on a node as the API shows it
  std::unordered_map<std::string, std::shared_ptr<const GangRelease>> released;  // not bound yet

  bool hasObject() const { return object || workload; }
  // To be shown with events; one of the objects is there.
  api::ObjectReference reference() const;
  // Where the object, or a member, says how many pods it needs.
  std::string_view minimumField() const;
  std::size_t ready() const { return members.size() - notReady; }
  bool complete() const { return spec && static_cast<std::int64_t>(ready()) >= spec->minimum; }
};

class Gangs {
 public:
  // The handle is that of the first profile that has the plugin; it outlives this.
  Gangs(Handle& handle, const CoschedulingArgs& args);
  Gangs(const Gangs&) = delete;
  Gangs& operator=(const Gangs&) = delete;

  // nullptr: no member and no PodGroup.
  const Gang* find(const std::string& id) const;
  const Gang* gangOf(const PodInfo& pod) const;
  // Whether the pod is in no gang.
  bool alone(const PodInfo& pod) const {
    return alone_.of(pod, [&] { return gangNameOf(*pod.pod).empty(); });
  }
  const std::unordered_map<std::string, Gang>& all() const { return gangs_; }

  // The gangs that are bound together with this one, itself included; those without a spec stand
  // alone.
  std::vector<std::string> groupOf(const Gang& gang) const;
  static std::string groupIdOf(const Gang& gang);
  // How the group is placed by network topology: as the first of its gangs says that says something;
  // nullptr: it is not.
  const std::vector<NetworkGather>* networkOf(const Gang& gang) const;
  // Gangs of the group that see themselves in the same group.
  std::vector<const Gang*> partnersOf(const Gang& gang) const;
  // Some member of the gang's group is bound, on its way, or was bound before.
  bool satisfied(const Gang& gang) const;
  // Its members are placed as if they stood alone: the group is satisfied, and the gang does not look
  // at more than that; or it never asked for anything else.
  bool free(const Gang& gang) const;
  // Success, or why the pod has to wait for others to come.
  Status check(const PodInfo& pod) const;
  // Members without a place.
  std::vector<PodPtr> pendingOf(const Gang& gang) const;
  // Members that have a place and are not seen as bound.
  std::size_t waitingIn(const Gang& gang) const;

  // These go on to be bound; what they are written down as.
  void release(const Gang& gang, std::span<const PodPtr> members);
  std::shared_ptr<const GangRelease> releaseOf(const PodInfo& pod) const;
  // The pod has lost its place.
  void placeLost(const PodInfo& pod);

  // Tries the members of all gangs whose group has this one.
  void activate(const std::string& id);
  // Calls fn with gangs whose members or spec have changed.
  void listen(std::function<void(const std::string& id)> fn) {
    listeners_.push_back(std::move(fn));
  }

  // Counts a gang anew, from the pods that are there, and mends what differs: how it differed, ""
  // when it did not.
  std::string verify(const std::string& id);
  // The same for one pod that is there: whether it is a member of its gang.
  std::string verify(const PodPtr& pod);

  Handle& handle() { return handle_; }
  const CoschedulingArgs& args() const { return args_; }

 private:
  void podSeen(const PodPtr& before, const PodPtr& after);
  // One of its two kinds of objects has come, changed or gone.
  template <class T>
  void objectSeen(const std::string& id, std::shared_ptr<const T> Gang::* slot,
                  const std::shared_ptr<const T>& after);
  Gang& gangNamed(const std::string& id);
  void join(const std::string& id, const PodPtr& pod);
  void leave(const std::string& id, const PodInfo& pod);
  void count(Gang& gang, const PodInfo& pod, bool add);
  // Reads what the gang asks for, from all of it or because of a member that is new; true when that
  // has changed.
  bool specify(Gang& gang);
  bool specifyBy(Gang& gang, const PodInfo& member);
  bool setSpec(Gang& gang, std::optional<GangSpec> spec);
  void relist(const std::string& id, const std::vector<std::string>& before,
              const std::vector<std::string>& after);
  void dropIfEmpty(const std::string& id);
  void noteSatisfied(const Gang& gang) {
    if (gang.spec) satisfied_.insert(groupIdOf(gang));
  }
  // The group is nothing to any gang any more.
  void forgetGroup(const std::string& groupId, const std::vector<std::string>& gangs);
  bool groupComplete(const Gang& gang) const;
  // Looks again soon whether members that were held, or waited for the one that went, may be tried.
  void lookLater(const std::string& id);
  void look();
  void changed(const std::string& id) const {
    for (const auto& listener : listeners_) listener(id);
  }

  Handle& handle_;
  const CoschedulingArgs args_;
  std::unordered_map<std::string, Gang> gangs_;
  mutable ByShape<bool> alone_;
  // Gangs whose group names this one, itself included.
  std::unordered_map<std::string, std::set<std::string>> namedBy_;
  std::vector<std::function<void(const std::string& id)>> listeners_;
  std::set<std::string> looks_;
  std::unordered_set<std::string> satisfied_;  // groups of which a member has had a node
  std::unordered_set<std::string> told_;       // groups that were when their members were last told
  // Cleared on destruction: posted callbacks look at it first.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// Those of the scheduler.
Gangs& gangsOf(Handle& handle, const CoschedulingArgs& args);

}  // namespace koord::scheduler
