// Handles added, changed and removed pods and nodes.

#include <vector>

#include "base/log.h"
#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

// On destruction, reports to the observer how long handling a pod event took.
class Scheduler::HandlingTimer {
 public:
  HandlingTimer(const Scheduler& scheduler, EventResource resource, Actions actions)
      : observer_(scheduler.observer_), clock_(scheduler.executor_) {
    event_.resource = resource;
    event_.actions = actions;
    if (observer_) since_ = clock_.steadyNow();
  }
  ~HandlingTimer() {
    if (!observer_) return;
    const Duration took = clock_.steadyNow() - since_;
    observer_->handled(event_, took);
    for (const Actions change : changes_) {
      event_.actions = change;
      observer_->handled(event_, took);
    }
  }
  HandlingTimer(const HandlingTimer&) = delete;
  HandlingTimer& operator=(const HandlingTimer&) = delete;

  // Of an update: the specific changes, which are reported in addition to the update itself.
  void changed(const std::vector<Actions>& changes) {
    for (const Actions change : changes)
      if (change != action::kUpdate) changes_.push_back(change);
  }

 private:
  Observer* const observer_;
  const Clock& clock_;
  ClusterEvent event_;
  std::vector<Actions> changes_;
  SteadyTime since_{};
};

// The units that plugins add.
class Scheduler::Units final : public UnitFeed {
 public:
  explicit Units(Scheduler& scheduler) : scheduler_(scheduler) {}
  void added(const Object& unit, UnitKind& kind) override { scheduler_.unitAdded(unit, &kind); }
  void updated(const Object& before, const Object& after, UnitKind& kind) override {
    scheduler_.unitUpdated(before, after, &kind);
  }
  void removed(const Object& last) override { scheduler_.podDeleted(last); }

 private:
  Scheduler& scheduler_;
};

std::unique_ptr<UnitFeed> Scheduler::makeUnits() {
  return std::make_unique<Units>(*this);
}

bool Scheduler::isResponsibleFor(const api::Pod& pod) const {
  return profiles_.contains(pod.spec.schedulerName);
}

PodPtr Scheduler::pending(const api::ObjectKey& key) const {
  const auto uid = pendingUids_.find(key);
  if (uid == pendingUids_.end()) return nullptr;
  const auto it = pending_.find(uid->second);
  return it == pending_.end() ? nullptr : it->second;
}

void Scheduler::notifyPodEvent(EventResource resource, Actions actions, const PodPtr& before,
                               const PodPtr& after,
                               const std::function<bool(const PodInfo&)>& affects) {
  ClusterEvent event;
  event.resource = resource;
  event.actions = actions;
  event.oldPod = before;
  event.newPod = after;
  queue_->moveAllToActiveOrBackoffQueue(event, affects);
}

void Scheduler::notify(const ClusterEvent& event, SteadyTime since) {
  queue_->moveAllToActiveOrBackoffQueue(event);
  if (observer_) observer_->handled(event, executor_.steadyNow() - since);
}

// Hints read the node of a removed pod, which its object does not name yet.
void Scheduler::notifyAssumedPodGone(const PodInfo& pod, const std::string& node,
                                     const std::function<bool(const PodInfo&)>& affects) {
  notifyPodEvent(EventResource::AssignedPod, action::kDelete, placedOn(pod, node), nullptr,
                 affects);
}

// Called after the plugins are created: their state of these objects is current when pods wake.
void Scheduler::watchStores() {
  for (AnyStore* store : shared_.stores.all()) {
    if (!store->kind().event) continue;
    store->onEvent([this](const ClusterEvent& event) { notify(event, executor_.steadyNow()); });
  }
}

void Scheduler::unitAdded(const PodObject& pod, UnitKind* kind) {
  if (api::isTerminal(*pod)) return;
  const PodPtr info = makePodInfo(shared_.cluster, pod, kind);
  if (!pod->spec.nodeName.empty()) {
    onAssignedPod(nullptr, info);
  } else if (isResponsibleFor(*pod)) {
    pendingAdded(info);
  } else {
    onUnassignedPod(info);
  }
}

// A pod that waits for another scheduler.
void Scheduler::onUnassignedPod(const PodPtr& pod) {
  const auto known = shared_.known.others().find(pod->uid());
  const PodPtr before = known == shared_.known.others().end() ? nullptr : known->second;
  shared_.known.setOther(pod);
  if (!options_.gates.contains("CrossSchedulerNomination") ||
      shared_.nominator.nodeOf(pod->uid()) == pod->pod->status.nominatedNodeName)
    return;
  onUnassignedPodDeleted(before);
  shared_.nominator.addForeign(pod);
}

// The pod stopped waiting: its nomination ends.
void Scheduler::onUnassignedPodDeleted(const PodPtr& pod) {
  if (!pod || !shared_.nominator.foreign(pod->uid())) return;
  shared_.nominator.remove(pod->uid());
  notifyPodEvent(EventResource::AssignedPod, action::kDelete, pod, nullptr,
                 [&](const PodInfo& other) { return other.priority < pod->priority; });
}

void Scheduler::unitUpdated(const PodObject& before, const PodObject& after, UnitKind* kind) {
  const bool counted = shared_.cluster.findPod(after->metadata.uid) != nullptr;
  if (api::isTerminal(*after)) {
    if (api::isTerminal(*before)) return;
    return podDeleted(after);
  }
  const PodPtr info = makePodInfo(shared_.cluster, after, kind);
  if (!after->spec.nodeName.empty()) {
    const PodPtr old = counted && !before->spec.nodeName.empty()
                           ? shared_.cluster.findPod(info->uid())->info
                           : nullptr;
    return onAssignedPod(old, info);
  }
  const auto known = pending_.find(info->uid());
  if (!isResponsibleFor(*after)) {
    if (known != pending_.end()) {
      shared_.known.notify(known->second, nullptr);
      pendingGone(known->second, true);
    }
    onUnassignedPod(info);
  } else if (known == pending_.end()) {
    pendingAdded(info);
  } else {
    pendingUpdated(known->second, info);
  }
}

void Scheduler::podDeleted(const PodObject& pod) {
  if (hooks_.podChanging) hooks_.podChanging(pod, nullptr);
  const auto known = pending_.find(pod->metadata.uid);
  if (known != pending_.end()) {
    shared_.known.notify(known->second, nullptr);
    pendingGone(PodPtr(known->second), true);
    dropBinding(pod->metadata.uid);
  } else if (const PodPtr other = shared_.known.removeOther(pod->metadata.uid)) {
    onUnassignedPodDeleted(other);
    shared_.known.notify(other, nullptr);
  } else if (const auto* counted = shared_.cluster.findPod(pod->metadata.uid);
             counted && !counted->assumed) {
    shared_.known.notify(PodPtr(counted->info), nullptr);
  }
  onAssignedPodDeleted(pod);
  decisions_.forget(pod->metadata.namespace_ + "/" + pod->metadata.name);
}

void Scheduler::pendingAdded(const PodPtr& pod) {
  const HandlingTimer handling(*this, EventResource::UnscheduledPod, action::kAdd);
  pending_[pod->uid()] = pod;
  pendingUids_[api::keyOf(pod->pod->metadata)] = pod->uid();
  const PodPtr other = shared_.known.removeOther(pod->uid());
  onUnassignedPodDeleted(other);
  shared_.known.notify(other, pod);
  if (shared_.cluster.findPod(pod->uid()) || isAbandoned(pod->uid())) return;  // being bound
  if (shared_.audit) shared_.audit->onPod(*pod);
  queue_->add(pod);
}

void Scheduler::pendingUpdated(const PodPtr& before, const PodPtr& after) {
  if (before->pod->metadata.resourceVersion == after->pod->metadata.resourceVersion) return;
  const PodPtr old = before;
  HandlingTimer handling(*this, EventResource::UnscheduledPod, action::kUpdate);
  if (observer_) handling.changed(podActions(*old, *after));
  pending_[after->uid()] = after;
  shared_.known.notify(old, after);
  if (const auto* counted = shared_.cluster.findPod(after->uid()); counted && counted->assumed) {
    const bool leaving =
        after->pod->metadata.deletionTimestamp && !old->pod->metadata.deletionTimestamp;
    if (!leaving) return;
    if (const auto waiting = shared_.waiting.find(after->uid()))
      return waiting->reject("", "pod is being deleted");
    return dropBinding(after->uid());
  }
  if (isAbandoned(after->uid())) return;
  if (shared_.audit) shared_.audit->onPod(*after);
  queue_->update(old, after);
  const std::string_view was = old->pod->status.nominatedNodeName;
  // Also if the nomination was cleared before: pods that it excluded are woken now.
  if (!was.empty() && was != after->pod->status.nominatedNodeName) notifyNominationEnded(old);
}

// The pod's nomination did not exclude its own group, which would repeat the try that just failed.
void Scheduler::notifyNominationEnded(const PodPtr& pod) {
  const auto found = profiles_.find(pod->pod->spec.schedulerName);
  const Profile* profile = found == profiles_.end() ? nullptr : &found->second->profile();
  ClusterEvent event;
  event.resource = EventResource::AssignedPod;
  event.actions = action::kDelete;
  event.oldPod = pod;
  event.nominationEnded = profile && !profile->groupOf(*pod).empty();
  queue_->moveAllToActiveOrBackoffQueue(event, [&](const PodInfo& other) {
    return other.priority <= pod->priority && !(profile && profile->sameGroup(*pod, other));
  });
}

// The pod does not need a node: it is gone or has one.
void Scheduler::pendingGone(const PodPtr& pod, bool deleted) {
  const PodPtr gone = pod;
  const HandlingTimer handling(*this, EventResource::UnscheduledPod, action::kDelete);
  pending_.erase(gone->uid());
  const auto uid = pendingUids_.find(api::keyOf(gone->pod->metadata));
  if (uid != pendingUids_.end() && uid->second == gone->uid()) pendingUids_.erase(uid);
  const bool nominated = !shared_.nominator.nodeOf(gone->uid()).empty();
  queue_->remove(gone);
  // Our own binding reports its result itself.
  if (shared_.audit && (deleted || !inFlight_.contains(gone->uid())))
    shared_.audit->onPodDeleted(*gone);
  if (!deleted) return;
  if (const auto* counted = shared_.cluster.findPod(gone->uid()); counted && counted->assumed) {
    if (const auto waiting = shared_.waiting.find(gone->uid()))
      waiting->reject("", "pod was deleted");
    return;
  }
  if (nominated) {
    notifyPodEvent(EventResource::AssignedPod, action::kDelete, gone, nullptr,
                   [&](const PodInfo& other) { return other.priority <= gone->priority; });
  }
}

void Scheduler::onAssignedPod(const PodPtr& before, const PodPtr& after) {
  const auto known = pending_.find(after->uid());
  const PodPtr waiting = known == pending_.end() ? nullptr : known->second;
  const PodPtr other = shared_.known.removeOther(after->uid());
  onUnassignedPodDeleted(other);
  if (waiting) pendingGone(waiting, false);
  const PodPtr old = before;
  HandlingTimer handling(*this, EventResource::AssignedPod, old ? action::kUpdate : action::kAdd);
  const Cluster::Seen seen = shared_.cluster.observePod(after, after->pod->spec.nodeName);
  if (seen == Cluster::Seen::Moved) {
    log::error("pod {} was counted on a node other than {}; corrected", after->key(),
               after->pod->spec.nodeName);
    if (observer_) observer_->cacheCorrected();
  }
  shared_.known.notify(old ? old : waiting ? waiting : other, after);
  if (!old) {
    notifyPodEvent(EventResource::AssignedPod, action::kAdd, nullptr, after);
    return;
  }
  const std::vector<Actions> changes = podActions(*old, *after);
  handling.changed(changes);
  for (const Actions change : changes)
    notifyPodEvent(EventResource::AssignedPod, change, old, after);
}

void Scheduler::onAssignedPodDeleted(const PodObject& pod) {
  const auto* counted = shared_.cluster.findPod(pod->metadata.uid);
  if (!counted) return;
  // The binding cycle forgets an assumed pod, because it has the state that plugins reserved for
  // it.
  if (counted->assumed && inFlight_.contains(pod->metadata.uid)) return;
  const HandlingTimer handling(*this, EventResource::AssignedPod, action::kDelete);
  // The last object names the node, which hints read.
  const PodPtr last = pod->spec.nodeName.empty()
                          ? placedOn(*counted->info, shared_.cluster.node(counted->node).name)
                          : makePodInfo(shared_.cluster, pod, counted->info->kind);
  shared_.cluster.removePod(pod->metadata.uid);
  if (shared_.audit) shared_.audit->podForgotten(pod->metadata.uid);
  notifyPodEvent(EventResource::AssignedPod, action::kDelete, last, nullptr);
}

void Scheduler::nodeAdded(const NodeObject& node) {
  const SteadyTime since = executor_.steadyNow();
  shared_.cluster.setNode(node);
  ClusterEvent event;
  event.resource = EventResource::Node;
  event.actions = action::kAdd;
  event.newNode = node;
  notify(event, since);
}

void Scheduler::nodeUpdated(const NodeObject& before, const NodeObject& after) {
  const SteadyTime since = executor_.steadyNow();
  shared_.cluster.setNode(after);
  for (const Actions change : nodeActions(*before, *after)) {
    ClusterEvent event;
    event.resource = EventResource::Node;
    event.actions = change;
    event.oldNode = before;
    event.newNode = after;
    notify(event, since);
  }
}

void Scheduler::nodeDeleted(const NodeObject& node) {
  const SteadyTime since = executor_.steadyNow();
  ClusterEvent event;
  event.resource = EventResource::Node;
  event.actions = action::kDelete;
  event.oldNode = node;
  notify(event, since);
  shared_.cluster.removeNode(node->metadata.name);
}

}  // namespace koord::scheduler
