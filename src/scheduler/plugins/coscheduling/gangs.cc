#include "scheduler/plugins/coscheduling/gangs.h"

#include <algorithm>

#include "kube/events.h"
#include "scheduler/plugins/coscheduling/messages.h"

namespace koord::scheduler {

namespace {

bool assigned(const PodInfo& pod) {
  return !pod.pod->spec.nodeName.empty();
}

// Returns true if the minimum once had nodes, even if its pods have finished since. With a minimum
// of 0, also of 0 until a moment ago, the phase is Scheduled or Finished though no pod has had a
// node. That says nothing about the other gangs of the group.
bool hadNodes(const api::PodGroup& group) {
  const auto& [phase, occupiedBy, scheduled, running, succeeded, failed, start] = group.status;
  if (group.spec.minMember <= 0) return false;
  if (scheduled + running + succeeded + failed <= 0) return false;
  return phase == "Scheduled" || phase == "Running" || phase == "Finished" || phase == "Failed";
}
bool hadNodes(const api::WorkloadPodGroup&) {
  return false;  // only its existing members count
}

// Returns true if the pod has no node and cannot get one now: it is gated or terminating.
bool heldBack(const PodInfo& pod) {
  return !assigned(pod) &&
         (!pod.pod->spec.schedulingGates.empty() || pod.pod->metadata.deletionTimestamp);
}

// Returns true if a's annotations take precedence over b's.
bool older(const PodInfo& a, const PodInfo& b) {
  const auto time = [](const PodInfo& pod) {
    return pod.pod->metadata.creationTimestamp.value_or(WallTime());
  };
  if (time(a) != time(b)) return time(a) < time(b);
  return a.pod->metadata.name < b.pod->metadata.name;
}

}  // namespace

api::ObjectReference Gang::reference() const {
  return object ? kube::referenceTo(api::PodGroup::kType, object->metadata)
                : kube::referenceTo(api::WorkloadPodGroup::kType, workload->metadata);
}

std::string_view Gang::minimumField() const {
  return object     ? "spec.minMember"
         : workload ? "spec.schedulingPolicy.gang.minCount"
                    : "the gang's minimum";
}

Gangs::Gangs(Handle& handle, const CoschedulingArgs& args) : handle_(handle), args_(args) {
  handle.knownPods().listen(
      [this](const PodPtr& before, const PodPtr& after) { onPod(before, after); },
      [this](const PodInfo& pod) { return !alone(pod); });
  handle.stores().of<api::PodGroup>().listen([this](const auto& before, const auto& after) {
    objectSeen(api::keyOf((after ? after : before)->metadata).toString(), &Gang::object, after);
  });
  handle.stores().of<api::WorkloadPodGroup>().listen([this](const auto& before, const auto& after) {
    objectSeen(gangIdOf(after ? *after : *before), &Gang::workload, after);
  });
}

Gangs& gangsOf(Handle& handle, const CoschedulingArgs& args) {
  return handle.shared().of<Gangs>([&] { return std::make_unique<Gangs>(handle, args); });
}

const Gang* Gangs::find(const std::string& id) const {
  const auto it = gangs_.find(id);
  return it == gangs_.end() ? nullptr : &it->second;
}

const Gang* Gangs::gangOf(const PodInfo& pod) const {
  if (alone(pod)) return nullptr;
  return find(gangIdOf(*pod.pod));
}

std::vector<std::string> Gangs::groupOf(const Gang& gang) const {
  return gang.spec ? gang.spec->group : std::vector<std::string>{gang.id};
}

std::string Gangs::groupIdOf(const Gang& gang) {
  return gang.spec ? gang.spec->groupId() : gang.id;
}

std::vector<const Gang*> Gangs::partnersOf(const Gang& gang) const {
  if (!gang.spec || gang.spec->group.size() == 1) return {&gang};
  std::vector<const Gang*> partners;
  for (const std::string& id : gang.spec->group) {
    const Gang* other = find(id);
    if (other && other->spec && other->spec->group == gang.spec->group) partners.push_back(other);
  }
  return partners;
}

const std::vector<NetworkGather>* Gangs::networkOf(const Gang& gang) const {
  for (const Gang* partner : partnersOf(gang))
    if (partner->spec && partner->spec->network) return &*partner->spec->network;
  return nullptr;
}

bool Gangs::satisfied(const Gang& gang) const {
  return satisfied_.contains(groupIdOf(gang)) ||
         std::ranges::any_of(partnersOf(gang), [](const Gang* partner) {
           return partner->bound > 0 || !partner->released.empty();
         });
}

bool Gangs::free(const Gang& gang) const {
  if (!gang.spec) return false;
  return gang.spec->basic || (gang.spec->policy == MatchPolicy::OnceSatisfied && satisfied(gang));
}

Status Gangs::check(const PodInfo& pod) const {
  const std::string id = gangIdOf(*pod.pod);
  const Gang* gang = find(id);
  if (!gang || gang->deleted) return Status::unresolvable(messages::noGang(id, pod));
  if (!gang->spec) return Status::unresolvable(messages::notInitialised(id, pod));
  if (free(*gang)) return {};
  messages::GroupShortage gangShortages;
  for (const std::string& other : gang->spec->group) {
    const Gang* member = find(other);
    if (!member || member->deleted) {
      gangShortages.absent.push_back(other);
    } else if (!member->spec) {
      gangShortages.notInitialised.push_back(other);
    } else if (!member->complete()) {
      gangShortages.incomplete = true;
    }
  }
  if (!gangShortages.any()) return {};
  return Status::unresolvable(messages::basicCheck(gang->spec->group, gangShortages, id, pod));
}

std::vector<PodPtr> Gangs::pendingOf(const Gang& gang) const {
  std::vector<PodPtr> pending;
  for (const auto& [uid, pod] : gang.members)
    if (!assigned(*pod) && !handle_.cluster().findPod(uid)) pending.push_back(pod);
  std::ranges::sort(pending, {}, [](const PodPtr& pod) { return pod->pod->metadata.name; });
  return pending;
}

std::size_t Gangs::waitingIn(const Gang& gang) const {
  if (gang.bound == gang.members.size()) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(gang.members, [&](const auto& member) {
    const auto* record = handle_.cluster().findPod(member.first);
    return record && record->assumed;
  }));
}

void Gangs::release(const Gang& gang, std::span<const PodPtr> members) {
  const auto together =
      std::make_shared<const GangRelease>(GangRelease{groupIdOf(gang), members.size()});
  for (const PodPtr& pod : members) {
    const auto it = gangs_.find(gangIdOf(*pod->pod));
    if (it != gangs_.end()) it->second.released[pod->uid()] = together;
  }
}

std::shared_ptr<const GangRelease> Gangs::releaseOf(const PodInfo& pod) const {
  const Gang* gang = gangOf(pod);
  if (!gang) return nullptr;
  const auto it = gang->released.find(pod.uid());
  return it == gang->released.end() ? nullptr : it->second;
}

void Gangs::placeLost(const PodInfo& pod) {
  const auto it = gangs_.find(gangIdOf(*pod.pod));
  if (it != gangs_.end()) it->second.released.erase(pod.uid());
}

Gang& Gangs::gangNamed(const std::string& id) {
  Gang& gang = gangs_[id];
  if (gang.id.empty()) {
    gang.id = id;
    namedBy_[id].insert(id);
  }
  return gang;
}

void Gangs::onPod(const PodPtr& before, const PodPtr& after) {
  if ((!before || alone(*before)) && (!after || alone(*after))) return;  // nearly every pod
  const std::string was = before ? gangIdOf(*before->pod) : std::string();
  const std::string is = after ? gangIdOf(*after->pod) : std::string();
  if (!was.empty() && was != is) leave(was, *before);
  // A pod that waits for another scheduler is not a member.
  const bool ours =
      after && (assigned(*after) || handle_.knownPods().ours().contains(after->uid()));
  if (!is.empty() && ours) join(is, after);
}

void Gangs::count(Gang& gang, const PodInfo& pod, bool add) {
  const auto shift = [add](std::size_t& number, bool counts) {
    if (counts) add ? ++number : --number;
  };
  shift(gang.bound, assigned(pod));
  shift(gang.notReady, heldBack(pod));
}

void Gangs::join(const std::string& id, const PodPtr& pod) {
  Gang& gang = gangNamed(id);
  const bool wasComplete = gang.complete();
  gang.deleted = false;
  PodPtr& slot = gang.members[pod->uid()];
  const bool came = !slot;
  // Bound since the last call, or on arrival: a new process may see pending members first.
  const bool becameBound = assigned(*pod) && (!slot || !assigned(*slot));
  if (slot) count(gang, *slot, false);
  slot = pod;
  count(gang, *pod, true);
  if (assigned(*pod)) gang.released.erase(pod->uid());
  const bool specified =
      came || !gang.spec || gang.source == pod->uid() ? specifyBy(gang, *pod) : false;
  if (gang.bound > 0) noteSatisfied(gang);
  if (specified || (!wasComplete && gang.complete())) {
    activate(id);
  } else if (becameBound) {
    scheduleCheck(id);
  }
  changed(id);
}

void Gangs::leave(const std::string& id, const PodInfo& pod) {
  const auto it = gangs_.find(id);
  if (it == gangs_.end()) return;
  Gang& gang = it->second;
  const auto member = gang.members.find(pod.uid());
  if (member == gang.members.end()) return;
  count(gang, *member->second, false);
  gang.members.erase(member);
  gang.released.erase(pod.uid());
  if (gang.source == pod.uid() && specify(gang)) activate(id);
  if (!gang.members.empty()) scheduleCheck(id);
  changed(id);
  dropIfEmpty(id);
}

template <class T>
void Gangs::objectSeen(const std::string& id, std::shared_ptr<const T> Gang::* slot,
                       const std::shared_ptr<const T>& after) {
  Gang& gang = gangNamed(id);
  const bool gone = gang.hasObject() && !after;
  gang.*slot = after;
  gang.deleted = false;
  const std::string groupBefore = groupIdOf(gang);
  const std::vector<std::string> gangsBefore = groupOf(gang);
  const bool specified = specify(gang);
  if (gone) forgetGroup(groupBefore, gangsBefore);
  const bool satisfiedBefore = satisfied(gang);
  if (after && hadNodes(*after)) noteSatisfied(gang);
  if (specified || satisfied(gang) != satisfiedBefore) activate(id);
  if (!after && !gang.spec) gang.deleted = true;
  changed(id);
  dropIfEmpty(id);
}

bool Gangs::specify(Gang& gang) {
  gang.unreadable.clear();
  gang.source.clear();
  if (gang.object) return setSpec(gang, gangSpecOf(*gang.object, args_));
  if (gang.workload) return setSpec(gang, gangSpecOf(*gang.workload, args_));
  std::optional<GangSpec> spec;
  const PodInfo* source = nullptr;
  for (const auto& [uid, pod] : gang.members) {
    if (!maySpecify(*pod->pod) || (source && !older(*pod, *source))) continue;
    auto said = gangSpecOf(*pod->pod, args_);
    if (said) {
      spec = *std::move(said);
      source = pod.get();
      gang.source = uid;
    } else if (gang.unreadable.empty()) {
      gang.unreadable = "pod " + pod->key() + ": " + said.error().message;
    }
  }
  return setSpec(gang, std::move(spec));
}

bool Gangs::specifyBy(Gang& gang, const PodInfo& member) {
  if (gang.hasObject() || !maySpecify(*member.pod)) return false;
  if (gang.source == member.uid()) return specify(gang);
  const auto source = gang.members.find(gang.source);
  if (gang.spec && source != gang.members.end() && !older(member, *source->second)) return false;
  auto said = gangSpecOf(*member.pod, args_);
  if (said) {
    gang.source = member.uid();
    gang.unreadable.clear();
    return setSpec(gang, *std::move(said));
  }
  if (!gang.spec) gang.unreadable = "pod " + member.key() + ": " + said.error().message;
  return false;
}

bool Gangs::setSpec(Gang& gang, std::optional<GangSpec> spec) {
  if (spec == gang.spec) return false;
  const std::vector<std::string> before = groupOf(gang);
  const std::string groupBefore = groupIdOf(gang);
  gang.spec = std::move(spec);
  relist(gang.id, before, groupOf(gang));
  if (groupIdOf(gang) != groupBefore) forgetGroup(groupBefore, before);
  if (gang.bound > 0) noteSatisfied(gang);
  return true;
}

void Gangs::relist(const std::string& id, const std::vector<std::string>& before,
                   const std::vector<std::string>& after) {
  if (before == after) return;
  for (const std::string& other : before) {
    if (other == id) continue;
    const auto it = namedBy_.find(other);
    if (it == namedBy_.end()) continue;
    it->second.erase(id);
    if (it->second.empty()) namedBy_.erase(it);
  }
  for (const std::string& other : after) namedBy_[other].insert(id);
}

void Gangs::dropIfEmpty(const std::string& id) {
  const auto it = gangs_.find(id);
  if (it == gangs_.end() || it->second.hasObject() || !it->second.members.empty()) return;
  const std::string groupId = groupIdOf(it->second);
  const std::vector<std::string> group = groupOf(it->second);
  relist(id, group, {id});
  gangs_.erase(it);
  forgetGroup(groupId, group);
  const auto names = namedBy_.find(id);
  if (names == namedBy_.end()) return;
  names->second.erase(id);
  if (names->second.empty()) namedBy_.erase(names);
}

void Gangs::forgetGroup(const std::string& groupId, const std::vector<std::string>& gangs) {
  const bool used = std::ranges::any_of(gangs, [&](const std::string& id) {
    const Gang* gang = find(id);
    return gang && gang->spec && groupIdOf(*gang) == groupId;
  });
  if (used) return;
  satisfied_.erase(groupId);
  activated_.erase(groupId);
}

bool Gangs::groupComplete(const Gang& gang) const {
  return gang.spec && (free(gang) || std::ranges::all_of(gang.spec->group, [&](const auto& id) {
                         const Gang* other = find(id);
                         return other && other->complete();
                       }));
}

void Gangs::activate(const std::string& id) {
  const auto names = namedBy_.find(id);
  if (names == namedBy_.end()) return;
  std::vector<PodPtr> pods;
  for (const std::string& other : names->second) {
    const Gang* gang = find(other);
    if (!gang || !groupComplete(*gang)) continue;
    for (PodPtr& pod : pendingOf(*gang)) pods.push_back(std::move(pod));
  }
  if (!pods.empty()) handle_.activate(pods);
}

void Gangs::scheduleCheck(const std::string& id) {
  if (checks_.empty()) {
    handle_.executor().post([this, alive = alive_] {
      if (*alive) checkWaiting();
    });
  }
  checks_.insert(id);
}

// If a member was deleted, it may have been the member that did not fit, and the others waited for
// it alone. If a member was bound, the group is satisfied and its held members may be scheduled;
// they are activated for the group's first bound member only.
void Gangs::checkWaiting() {
  for (const std::string& id : std::exchange(checks_, {})) {
    const Gang* gang = find(id);
    if (!gang) continue;
    const std::string group = groupIdOf(*gang);
    const bool now = satisfied(*gang);
    const bool before = activated_.contains(group);
    if (now && before) continue;
    if (now) {
      activated_.insert(group);
    } else {
      activated_.erase(group);
    }
    activate(id);
  }
}

std::string Gangs::verify(const std::string& id) {
  const auto it = gangs_.find(id);
  if (it == gangs_.end()) return "";
  Gang& gang = it->second;
  std::string difference;
  const auto note = [&](std::string text) {
    if (!difference.empty()) difference += "; ";
    difference += std::move(text);
  };
  std::size_t bound = 0, notReady = 0;
  std::vector<PodPtr> strangers;
  for (const auto& [uid, pod] : gang.members) {
    bound += assigned(*pod);
    notReady += heldBack(*pod);
    const auto* record = handle_.cluster().findPod(uid);
    const bool known =
        assigned(*pod) ? record != nullptr : handle_.knownPods().ours().contains(uid);
    if (!known || gangIdOf(*pod->pod) != id) strangers.push_back(pod);
  }
  for (const PodPtr& pod : strangers) {
    note("pod " + pod->key() + " is a member of this gang by mistake");
    gang.members.erase(pod->uid());
    bound -= assigned(*pod);
    notReady -= heldBack(*pod);
  }
  if (std::exchange(gang.bound, bound) != bound) note("the number of bound members was wrong");
  if (std::exchange(gang.notReady, notReady) != notReady)
    note("the number of members that are held back was wrong");
  std::erase_if(gang.released, [&](const auto& entry) {
    const auto* record = handle_.cluster().findPod(entry.first);
    if (record && record->assumed) return false;
    note("a released member has no node");
    return true;
  });
  if (specify(gang)) note("its requirements differed from its objects");
  dropIfEmpty(id);
  return difference;
}

std::string Gangs::verify(const PodPtr& pod) {
  const std::string id = gangIdOf(*pod->pod);
  const Gang* gang = find(id);
  if (id.empty() || (gang && gang->members.contains(pod->uid()))) return "";
  join(id, pod);
  return "pod " + pod->key() + " was not a member";
}

}  // namespace koord::scheduler
