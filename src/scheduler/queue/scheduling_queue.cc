#include "scheduler/queue/scheduling_queue.h"

#include <algorithm>

#include "base/log.h"
#include "scheduler/framework/attempt_timer.h"

// Events during an attempt decide where the pod goes after it. While a pod is in flight, events are
// recorded (one list for all pods, with the position where each pod was popped). When the pod comes
// back unschedulable, the hints of its plugins are evaluated for each of these, as if it had been
// waiting. Otherwise a node that is added during an attempt would be missed, and the pod would
// sleep for five minutes.
//
// An event wakes a pod if a plugin that rejected it answers Queue: at once if the pod has no
// backoff left, else after the backoff. Pods that no plugin rejected (an error) come back by
// backoff alone. Backoff starts at podInitialBackoffSeconds and doubles with each attempt up to
// podMaxBackoffSeconds. Its ends are rounded to seconds, so that pods that failed together are
// tried together, in queue order and not in the order of their failures. If nothing else is ready,
// a pod is taken out of backoff early: the scheduler is idle otherwise. A pod that only the end of
// a nomination woke stays unschedulable until its backoff ends (ClusterEvent::nominationEnded).
//
// Cost: an insertion or pop is O(log n) comparisons of the QueueSort plugin; an event is
// O(unschedulable pods) hints, only of plugins that registered for its kind; memory of events is
// bounded by the attempts in flight. Rules: backend/queue of kube-scheduler 1.36.

namespace koord::scheduler {

namespace {

WallTime toSecond(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time);
}

}  // namespace

std::string_view nameOf(QueuePlace place) {
  switch (place) {
    case QueuePlace::None:
      return "none";
    case QueuePlace::Active:
      return "active";
    case QueuePlace::Backoff:
    case QueuePlace::ErrorBackoff:
      return "backoff";
    case QueuePlace::Unschedulable:
      return "unschedulable";
    case QueuePlace::Gated:
      return "gated";
    case QueuePlace::InFlight:
      return "inFlight";
  }
  return "none";
}

bool SchedulingQueue::ActiveOrder::operator()(const Entry* a, const Entry* b) const {
  if (queue->order_.less(a->pod, b->pod)) return true;
  if (queue->order_.less(b->pod, a->pod)) return false;
  return a->sequence < b->sequence;
}

bool SchedulingQueue::BackoffOrder::operator()(const Entry* a, const Entry* b) const {
  if (a->backoffEnd != b->backoffEnd) return a->backoffEnd < b->backoffEnd;
  return ActiveOrder{queue}(a, b);
}

SchedulingQueue::SchedulingQueue(Executor& executor, QueueOptions options, Profiles profiles,
                                 Nominator& nominator, std::function<void()> onReady)
    : executor_(executor),
      options_(options),
      profiles_(std::move(profiles)),
      order_(*profiles_.begin()->second->queueSort.front().point),
      nominator_(nominator),
      onReady_(std::move(onReady)),
      wallOffset_(executor.wallNow().time_since_epoch() - executor.steadyNow().time_since_epoch()),
      active_(ActiveOrder{this}),
      backoff_(BackoffOrder{this}),
      errorBackoff_(BackoffOrder{this}) {}

SchedulingQueue::~SchedulingQueue() {
  executor_.cancel(timer_);
}

WallTime SchedulingQueue::now() const {
  return WallTime(executor_.steadyNow().time_since_epoch() + wallOffset_);
}

void SchedulingQueue::start() {
  tick();
}

void SchedulingQueue::tick() {
  if (timer_ != 0) {
    flushBackoff();
    if (++ticks_ % 30 == 0) flushUnschedulable();
  }
  const WallTime current = now();
  const Duration wait = toSecond(current) + std::chrono::seconds(1) - current;
  timer_ = executor_.runAfter(wait, [this] { tick(); });
}

const Profile* SchedulingQueue::profileOf(const PodInfo& pod) const {
  const auto it = profiles_.find(pod.pod->spec.schedulerName);
  return it == profiles_.end() ? nullptr : it->second;
}

// Inserts into the sorted queue of its place. Most pods come in order, so the end is tried first.
void SchedulingQueue::insert(Entry& entry) {
  if (entry.place == QueuePlace::Active) {
    entry.inActive = active_.insert(active_.end(), &entry);
  } else {
    auto& queue = entry.place == QueuePlace::Backoff ? backoff_ : errorBackoff_;
    entry.inBackoff = queue.insert(queue.end(), &entry);
  }
}

// The entry must be in no queue.
void SchedulingQueue::enterQueue(Entry& entry, QueuePlace place, const std::string& event) {
  entry.place = place;
  switch (place) {
    case QueuePlace::Active:
      insert(entry);
      if (!entry.pod.firstReady) entry.pod.firstReady = now();
      onReady_();
      break;
    case QueuePlace::Backoff:
    case QueuePlace::ErrorBackoff:
      entry.backoffEnd = backoffEndOf(entry.pod);
      entry.pod.backoffExpiration = entry.backoffEnd;
      insert(entry);
      onReady_();  // a pod in backoff is tried early if nothing else is ready
      break;
    case QueuePlace::Gated:
      ++gatedCount_;
      [[fallthrough]];
    case QueuePlace::Unschedulable:
      unschedulable_.emplace(entry.pod.uid(), &entry);
      countRejectors(entry, true);
      break;
    case QueuePlace::None:
    case QueuePlace::InFlight:
      break;
  }
  // Gated pods have a gauge of their own, but enter as unschedulable.
  if (observer)
    observer->incoming(nameOf(place == QueuePlace::Gated ? QueuePlace::Unschedulable : place),
                       event);
}

// Call before changing anything that its order depends on.
void SchedulingQueue::leaveQueue(Entry& entry) {
  switch (entry.place) {
    case QueuePlace::Active:
      active_.erase(entry.inActive);
      break;
    case QueuePlace::Backoff:
      backoff_.erase(entry.inBackoff);
      break;
    case QueuePlace::ErrorBackoff:
      errorBackoff_.erase(entry.inBackoff);
      break;
    case QueuePlace::Gated:
      --gatedCount_;
      [[fallthrough]];
    case QueuePlace::Unschedulable:
      unschedulable_.erase(entry.pod.uid());
      countRejectors(entry, false);
      if (entry.wakes) wakes_.erase(*std::exchange(entry.wakes, std::nullopt));
      break;
    case QueuePlace::None:
    case QueuePlace::InFlight:
      break;
  }
  entry.place = QueuePlace::None;
}

void SchedulingQueue::countRejectors(const Entry& entry, bool add) {
  for (const auto* plugins : {&entry.pod.unschedulablePlugins, &entry.pod.pendingPlugins}) {
    for (const std::string& plugin : *plugins) {
      const auto it = rejectors_.try_emplace(plugin).first;
      if (add) {
        ++it->second;
      } else if (--it->second == 0) {
        rejectors_.erase(it);
      }
    }
  }
}

bool SchedulingQueue::gated(Entry& entry) {
  const Profile* profile = entry.pod.profile;
  entry.pod.gatingPlugin.clear();
  if (!profile) return false;
  const AttemptTimer timer(observer, executor_, profile->schedulerName, false);
  const Status status =
      timer.point("PreEnqueue", [&] { return preEnqueue(*profile, *entry.pod.info); });
  if (status.ok()) return false;
  entry.pod.gatingPlugin = status.plugin();
  entry.pod.unschedulablePlugins.insert(status.plugin());
  return true;
}

Status SchedulingQueue::preEnqueue(const Profile& profile, const PodInfo& pod) const {
  const PluginMask idle = profile.idleFor(pod).preEnqueue;
  for (std::size_t i = 0; i < profile.preEnqueue.size(); ++i) {
    if (contains(idle, i)) continue;
    const auto& plugin = profile.preEnqueue[i];
    Status status =
        guarded(observer, plugin.name, "PreEnqueue", [&] { return plugin.point->preEnqueue(pod); });
    if (status.ok()) continue;
    status.setPlugin(plugin.name);
    return status;
  }
  return {};
}

void SchedulingQueue::requeue(Entry& entry, Strategy strategy, const std::string& event) {
  if (strategy == Strategy::Skip) {
    enterQueue(entry,
               entry.pod.gatingPlugin.empty() ? QueuePlace::Unschedulable : QueuePlace::Gated,
               event);
  } else if (gated(entry)) {
    enterQueue(entry, QueuePlace::Gated, event);
  } else if (strategy == Strategy::AtBackoffEnd && backingOff(entry.pod)) {
    enterQueue(entry, QueuePlace::Unschedulable, event);
    entry.wakes = wakes_.emplace(backoffEndOf(entry.pod), &entry);
  } else if (strategy == Strategy::AfterBackoff && backingOff(entry.pod)) {
    enterQueue(entry,
               entry.pod.consecutiveErrors > 0 ? QueuePlace::ErrorBackoff : QueuePlace::Backoff,
               event);
  } else {
    enterQueue(entry, QueuePlace::Active, event);
  }
}

void SchedulingQueue::add(const PodPtr& pod) {
  if (pod->uid().empty() || inFlightPods_.contains(pod->uid())) return;
  QueuedPod queued;
  queued.info = pod;
  // By age, so that a restart of the scheduler keeps the order among equals.
  queued.timestamp = std::min(now(), pod->pod->metadata.creationTimestamp.value_or(now()));
  Entry& entry = newEntry(std::move(queued));
  nominator_.add(pod, {});
  requeue(entry, Strategy::Immediately, "UnschedulablePodAdd");
}

void SchedulingQueue::update(const PodPtr& before, const PodPtr& after) {
  const std::vector<Actions> actions = podActions(*before, *after);
  const bool statusOnly = onlyStatusDiffers(*before->pod, *after->pod);
  const auto eventOf = [&](Actions change) {
    ClusterEvent event;
    event.resource = EventResource::UnscheduledPod;
    event.actions = change;
    event.oldPod = before;
    event.newPod = after;
    event.statusOnly = statusOnly;
    return event;
  };
  if (inFlightPods_.contains(after->uid())) {
    for (const Actions change : actions) recordForInFlightPods(eventOf(change), after->uid());
    return;
  }
  const auto it = entries_.find(after->uid());
  if (it == entries_.end()) {
    add(after);
    return;
  }
  nominator_.update(before, after);
  Entry& entry = it->second;
  if (entry.pod.profile != profileOf(*after)) {
    // A label moved it to another profile, which has rejected nothing yet.
    leaveQueue(entry);
    entry.pod.unschedulablePlugins.clear();
    entry.pod.pendingPlugins.clear();
    replacePod(entry, after);
    return requeue(entry, Strategy::Immediately, "UnschedulablePodAdd");
  }
  const QueuePlace where = entry.place;
  if (where != QueuePlace::Unschedulable && where != QueuePlace::Gated) {
    leaveQueue(entry);
    replacePod(entry, after);
    entry.place = where;
    insert(entry);
    return;
  }
  replacePod(entry, after);
  for (const Actions change : actions) {
    const ClusterEvent event = eventOf(change);
    const Strategy strategy = isPodWorthRequeuing(entry.pod, event);
    if (strategy == Strategy::Skip) continue;
    leaveQueue(entry);
    requeue(entry, strategy, labelOf(event));
    if (entry.place == QueuePlace::Active || entry.place == QueuePlace::Backoff ||
        entry.place == QueuePlace::ErrorBackoff) {
      return;
    }
  }
}

void SchedulingQueue::remove(const PodPtr& pod) {
  nominator_.remove(pod->uid());
  const auto it = entries_.find(pod->uid());
  if (it == entries_.end()) return;
  leaveQueue(it->second);
  eraseEntry(it->second);
}

std::optional<QueuedPod> SchedulingQueue::pop() {
  if (active_.empty() && backoff_.empty()) return std::nullopt;
  const bool early = active_.empty();
  Entry* entry = early ? *backoff_.begin() : *active_.begin();
  if (early && observer) observer->incoming("active", "PopFromBackoffQ");
  return moveToInFlight(*entry);
}

std::vector<QueuedPod> SchedulingQueue::popGroups(
    const std::vector<std::string>& groups, const std::function<bool(const PodInfo&)>& wanted) {
  // The gate of a member may have opened without an event.
  const auto held = [&](const Entry& entry) {
    return entry.place == QueuePlace::Gated && entry.pod.profile &&
           !preEnqueue(*entry.pod.profile, *entry.pod.info).ok();
  };
  std::vector<Entry*> members;
  for (const std::string& group : groups) {
    const auto known = groups_.find(group);
    if (known == groups_.end()) continue;
    for (Entry* entry : known->second)
      if (entry->place != QueuePlace::ErrorBackoff && wanted(*entry->pod.info) && !held(*entry))
        members.push_back(entry);
  }
  std::ranges::sort(members, ActiveOrder{this});
  std::vector<QueuedPod> pods;
  for (Entry* entry : members) pods.push_back(moveToInFlight(*entry));
  return pods;
}

// Creates the entry with the last sequence number, in no queue yet, or reuses an existing one.
SchedulingQueue::Entry& SchedulingQueue::newEntry(QueuedPod pod) {
  Entry& entry = entries_[pod.uid()];
  leaveQueue(entry);
  leaveGroup(entry);
  entry.sequence = ++lastSequence_;
  entry.pod = std::move(pod);
  enterGroup(entry);
  return entry;
}

void SchedulingQueue::replacePod(Entry& entry, const PodPtr& pod) {
  leaveGroup(entry);
  entry.pod.info = pod;
  enterGroup(entry);
}

void SchedulingQueue::enterGroup(Entry& entry) {
  const Profile* profile = entry.pod.profile = profileOf(*entry.pod.info);
  entry.pod.group = profile ? profile->groupOf(*entry.pod.info) : std::string();
  if (!entry.pod.group.empty()) groups_[entry.pod.group].insert(&entry);
}

void SchedulingQueue::leaveGroup(Entry& entry) {
  if (entry.pod.group.empty()) return;
  const auto group = groups_.find(entry.pod.group);
  if (group == groups_.end()) return;
  group->second.erase(&entry);
  if (group->second.empty()) groups_.erase(group);
}

QueuedPod SchedulingQueue::eraseEntry(Entry& entry) {
  leaveGroup(entry);
  auto erased = entries_.extract(entry.pod.uid());
  return std::move(erased.mapped().pod);
}

QueuedPod SchedulingQueue::moveToInFlight(Entry& entry) {
  leaveQueue(entry);
  QueuedPod pod = eraseEntry(entry);
  if (!pod.firstReady) pod.firstReady = now();  // popGroups() took it from behind its gate
  ++pod.attempts;
  pod.backoffExpiration.reset();
  pod.gatingPlugin.clear();
  inFlightPods_[pod.uid()] =
      inFlightEvents_.insert(inFlightEvents_.end(), InFlightEvent{pod.uid(), {}, {}});
  return pod;
}

void SchedulingQueue::done(const std::string& uid) {
  const auto it = inFlightPods_.find(uid);
  if (it == inFlightPods_.end()) return;
  inFlightEvents_.erase(it->second);
  inFlightPods_.erase(it);
  while (!inFlightEvents_.empty() && inFlightEvents_.front().uid.empty())
    inFlightEvents_.pop_front();
}

void SchedulingQueue::addUnschedulableIfNotPresent(QueuedPod pod) {
  const std::string uid = pod.uid();
  if (entries_.contains(uid)) {
    log::error("pod {} failed to schedule but is queued already", pod.info->key());
    done(uid);
    return;
  }
  if (pod.hasRejectors()) {
    ++pod.unschedulableCount;
    pod.consecutiveErrors = 0;
  } else {
    ++pod.consecutiveErrors;
  }
  pod.timestamp = now();
  pod.backoffExpiration.reset();
  pod.flushed = false;

  Strategy strategy = Strategy::Skip;
  std::string label = "ScheduleAttemptFailure";
  if (!pod.hasRejectors()) {
    strategy = Strategy::AfterBackoff;
  } else if (const auto popped = inFlightPods_.find(uid); popped != inFlightPods_.end()) {
    for (auto it = std::next(popped->second); it != inFlightEvents_.end(); ++it) {
      if (!it->uid.empty() || (!it->onlyFor.empty() && it->onlyFor != uid)) continue;
      const Strategy answer = isPodWorthRequeuing(pod, it->event);
      if (answer == Strategy::Skip) continue;
      if (answer > strategy) label = labelOf(it->event);
      strategy = std::max(strategy, answer);
      if (answer == Strategy::Immediately) break;
      if (answer == Strategy::AfterBackoff && pod.pendingPlugins.empty()) break;
    }
  }
  Entry& entry = newEntry(std::move(pod));
  requeue(entry, strategy, label);
  done(uid);
}

void SchedulingQueue::flushBackoff() {
  const WallTime current = toSecond(now());
  for (auto* queue : {&backoff_, &errorBackoff_}) {
    while (!queue->empty() && (*queue->begin())->backoffEnd < current) {
      Entry& entry = **queue->begin();
      leaveQueue(entry);
      enterQueue(entry, QueuePlace::Active, "BackoffComplete");
    }
  }
  while (!wakes_.empty() && wakes_.begin()->first < current) {
    Entry& entry = *wakes_.begin()->second;
    leaveQueue(entry);
    enterQueue(entry, QueuePlace::Active, "BackoffComplete");
  }
}

void SchedulingQueue::flushUnschedulable() {
  std::vector<Entry*> late;
  for (const auto& [uid, entry] : unschedulable_) {
    if (now() - entry->pod.timestamp > options_.maxUnschedulable) late.push_back(entry);
  }
  const ClusterEvent event = ClusterEvent::wildcard("UnschedulableTimeout");
  for (Entry* entry : late) {
    if (entry->place == QueuePlace::Gated) continue;
    leaveQueue(*entry);
    entry->pod.flushed = true;
    requeue(*entry, isPodWorthRequeuing(entry->pod, event), labelOf(event));
  }
}

QueuePlace SchedulingQueue::placeOf(const std::string& uid) const {
  if (inFlightPods_.contains(uid)) return QueuePlace::InFlight;
  const auto it = entries_.find(uid);
  return it == entries_.end() ? QueuePlace::None : it->second.place;
}

const QueuedPod* SchedulingQueue::find(const std::string& uid) const {
  const auto it = entries_.find(uid);
  return it == entries_.end() ? nullptr : &it->second.pod;
}

QueueCounts SchedulingQueue::counts() const {
  return {active_.size(), backoff_.size() + errorBackoff_.size(),
          unschedulable_.size() - gatedCount_, gatedCount_, inFlightPods_.size()};
}

std::map<std::pair<std::string, std::string>, std::size_t> SchedulingQueue::rejectedByPlugin()
    const {
  std::map<std::pair<std::string, std::string>, std::size_t> counts;
  for (const auto& [uid, entry] : unschedulable_) {
    const std::string scheduler = entry->pod.info->pod->spec.schedulerName.str();
    for (const auto* plugins : {&entry->pod.unschedulablePlugins, &entry->pod.pendingPlugins})
      for (const auto& plugin : *plugins) ++counts[{plugin, scheduler}];
  }
  return counts;
}

std::map<std::string, std::size_t> SchedulingQueue::eventsInFlight() const {
  std::map<std::string, std::size_t> counts;
  for (const auto& entry : inFlightEvents_)
    ++counts[entry.uid.empty() ? labelOf(entry.event) : std::string("PodPopped")];
  return counts;
}

}  // namespace koord::scheduler
