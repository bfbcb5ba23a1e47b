// How events move pods: the second half of SchedulingQueue.

#include <algorithm>

#include "scheduler/framework/guarded.h"
#include "scheduler/queue/scheduling_queue.h"

namespace koord::scheduler {

Duration SchedulingQueue::backoffOf(const QueuedPod& pod) const {
  const int count = pod.consecutiveErrors > 0 ? pod.consecutiveErrors : pod.unschedulableCount;
  if (options_.maxBackoff == Duration::zero() || count == 0) return Duration::zero();
  Duration duration = options_.initialBackoff;
  for (int i = 1; i < count; ++i) {
    if (duration > options_.maxBackoff / 2) return options_.maxBackoff;
    duration *= 2;
  }
  return std::min(duration, options_.maxBackoff);
}

WallTime SchedulingQueue::backoffEndOf(const QueuedPod& pod) const {
  return std::chrono::floor<std::chrono::seconds>(pod.timestamp + backoffOf(pod));
}

bool SchedulingQueue::backingOff(const QueuedPod& pod) const {
  if (backoffOf(pod) == Duration::zero()) return false;
  return backoffEndOf(pod) >= std::chrono::floor<std::chrono::seconds>(now());
}

bool SchedulingQueue::isEventOfInterest(const ClusterEvent& event) const {
  if (event.resource == EventResource::Wildcard) return true;
  const auto look = [&] {
    for (const auto& [name, profile] : profiles_)
      for (const auto& plugin : profile->registrations)
        for (const auto& registration : plugin.events)
          if (matches(registration, event)) return true;
    return false;
  };
  if (event.resource == EventResource::Custom) return look();
  // There are few kinds of events, and the plugins' registrations are constant.
  const auto [known, fresh] = interest_.try_emplace({event.resource, event.actions}, false);
  if (fresh) known->second = look();
  return known->second;
}

bool SchedulingQueue::hasSubscriber(const ClusterEvent& event) const {
  if (unschedulable_.empty()) return false;
  if (event.resource == EventResource::Wildcard) return true;
  for (const auto& [name, profile] : profiles_)
    for (const auto& plugin : profile->registrations)
      if ((plugin.view || rejectors_.contains(plugin.plugin)) &&
          std::ranges::any_of(plugin.events, [&](const EventRegistration& registration) {
            return matches(registration, event);
          }))
        return true;
  return false;
}

SchedulingQueue::Strategy SchedulingQueue::isPodWorthRequeuing(const QueuedPod& pod,
                                                               const ClusterEvent& event) const {
  if (!pod.hasRejectors()) return Strategy::AfterBackoff;
  if (event.resource == EventResource::Wildcard) {
    return event.targetUid.empty() || event.targetUid == pod.uid() ? Strategy::AfterBackoff
                                                                   : Strategy::Skip;
  }
  if (!pod.profile) return Strategy::Skip;
  const Strategy woken = event.nominationEnded ? Strategy::AtBackoffEnd : Strategy::AfterBackoff;
  Strategy strategy = Strategy::Skip;
  for (const auto& plugin : pod.profile->registrations) {
    // Few plugins register for an event. Checking that is faster than checking the pod's rejectors.
    const auto cares = [&](const auto& registration) { return matches(registration, event); };
    const auto first = std::ranges::find_if(plugin.events, cares);
    if (first == plugin.events.end() || !plugin.concerns(pod)) continue;
    const bool pending = pod.pendingPlugins.contains(plugin.plugin);
    for (const auto& registration : std::ranges::subrange(first, plugin.events.end())) {
      if (!matches(registration, event)) continue;
      const SteadyTime since = observer ? executor_.steadyNow() : SteadyTime();
      // As upstream, a hint that fails counts as Queue.
      Hint hint = Hint::Queue;
      if (registration.hint)
        guarded(observer, plugin.plugin, "QueueingHint",
                [&] { hint = registration.hint(*pod.info, event); });
      if (observer) observer->hint(plugin.plugin, event, hint, executor_.steadyNow() - since);
      if (hint == Hint::Skip) continue;
      if (pending && !event.nominationEnded) return Strategy::Immediately;
      strategy = woken;
      if (pod.pendingPlugins.empty()) return strategy;
      break;
    }
  }
  return strategy;
}

void SchedulingQueue::recordForInFlightPods(const ClusterEvent& event, const std::string& onlyFor) {
  if (inFlightPods_.empty()) return;
  inFlightEvents_.push_back(InFlightEvent{{}, event, onlyFor});
}

void SchedulingQueue::moveAllToActiveOrBackoffQueue(
    const ClusterEvent& event, const std::function<bool(const PodInfo&)>& affects) {
  if (!isEventOfInterest(event)) return;
  if (!hasSubscriber(event)) return recordForInFlightPods(event, {});
  // Pods can only leave the map during iteration; collect them first.
  std::vector<std::pair<Entry*, Strategy>> moves;
  for (const auto& [uid, entry] : unschedulable_) {
    if (affects && !affects(*entry->pod.info)) continue;
    if (entry->place == QueuePlace::Gated) {
      // Only an event that its gating plugin registered for can release it.
      const Profile* profile = entry->pod.profile;
      const bool concerned =
          profile &&
          std::ranges::any_of(profile->registrations, [&](const PluginRegistration& plugin) {
            return plugin.plugin == entry->pod.gatingPlugin &&
                   std::ranges::any_of(plugin.events, [&](const EventRegistration& registration) {
                     return event.resource == EventResource::Wildcard
                                ? registration.resource == EventResource::Wildcard
                                : matches(registration, event);
                   });
          });
      if (!concerned) continue;
    }
    const Strategy strategy = isPodWorthRequeuing(entry->pod, event);
    const bool wakesAlready = strategy == Strategy::AtBackoffEnd && entry->wakes;
    if (strategy != Strategy::Skip && !wakesAlready) moves.emplace_back(entry, strategy);
  }
  const std::string label = labelOf(event);
  for (const auto& [entry, strategy] : moves) {
    leaveQueue(*entry);
    requeue(*entry, strategy, label);
  }
  recordForInFlightPods(event, {});
}

void SchedulingQueue::activate(const std::vector<PodPtr>& pods) {
  for (const PodPtr& pod : pods) {
    if (inFlightPods_.contains(pod->uid())) {
      recordForInFlightPods(ClusterEvent::wildcard("ForceActivate", pod->uid()), pod->uid());
      continue;
    }
    const auto it = entries_.find(pod->uid());
    if (it == entries_.end() || it->second.place == QueuePlace::Active) continue;
    Entry& entry = it->second;
    const bool fromBackoff =
        entry.place == QueuePlace::Backoff || entry.place == QueuePlace::ErrorBackoff;
    leaveQueue(entry);
    if (fromBackoff) {
      enterQueue(entry, QueuePlace::Active, "ForceActivate");
    } else {
      requeue(entry, Strategy::Immediately, "ForceActivate");
    }
  }
}

void SchedulingQueue::requeue(const std::vector<PodPtr>& pods) {
  for (const PodPtr& pod : pods) {
    if (inFlightPods_.contains(pod->uid())) {
      recordForInFlightPods(ClusterEvent::wildcard("Requeue", pod->uid()), pod->uid());
      continue;
    }
    const auto it = entries_.find(pod->uid());
    if (it == entries_.end() || it->second.place != QueuePlace::Unschedulable) continue;
    leaveQueue(it->second);
    requeue(it->second, Strategy::AfterBackoff, "Requeue");
  }
}

}  // namespace koord::scheduler
