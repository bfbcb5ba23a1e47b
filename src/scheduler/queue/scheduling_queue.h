#pragma once

// SchedulingQueue: the pods that wait for a node. A pod is in exactly one place:
//   active         ready, in the order of the QueueSort plugin;
//   backoff        rejected, and not to be tried again yet (separate from pods whose last attempt
//                  failed with an error, which are never tried early);
//   unschedulable  rejected, and no event since then may have changed that; gated pods, too;
//   in flight      taken out by pop() and not finished yet.
// Cluster events move pods out of unschedulable if a plugin that rejected them accepts the event
// (queueing hints). A timer moves those that have waited five minutes.
//
// In memory only: after a restart every unassigned pod is new.

#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "scheduler/framework/nominator.h"
#include "scheduler/framework/observer.h"
#include "scheduler/framework/profile.h"

namespace koord::scheduler {

struct QueueOptions {
  Duration initialBackoff = std::chrono::seconds(1);
  Duration maxBackoff = std::chrono::seconds(10);
  Duration maxUnschedulable = std::chrono::minutes(5);
};

enum class QueuePlace { None, Active, Backoff, ErrorBackoff, Unschedulable, Gated, InFlight };
std::string_view nameOf(QueuePlace place);

struct QueueCounts {
  std::size_t active = 0;
  std::size_t backoff = 0;
  std::size_t unschedulable = 0;
  std::size_t gated = 0;
  std::size_t inFlight = 0;
};

class SchedulingQueue {
 public:
  using Profiles = std::map<std::string, const Profile*, std::less<>>;  // by schedulerName

  // onReady is called when a pod may be ready. It must not call pop() directly.
  SchedulingQueue(Executor& executor, QueueOptions options, Profiles profiles, Nominator& nominator,
                  std::function<void()> onReady);
  ~SchedulingQueue();
  SchedulingQueue(const SchedulingQueue&) = delete;
  SchedulingQueue& operator=(const SchedulingQueue&) = delete;

  // Starts the timers.
  void start();

  // Follow the pod's object: it has appeared, changed, or does not need a node.
  void add(const PodPtr& pod);
  void update(const PodPtr& before, const PodPtr& after);
  void remove(const PodPtr& pod);

  // Takes out the next pod, which is in flight then. nullopt if none is ready.
  std::optional<QueuedPod> pop();
  // Takes out the other members of these groups, in their order; they are in flight then. As one
  // member is ready all are tried, whatever they wait for. Not taken: pods that a PreEnqueue plugin
  // still holds, pods that back off after an error, and pods that are not `wanted`.
  std::vector<QueuedPod> popGroups(const std::vector<std::string>& groups,
                                   const std::function<bool(const PodInfo&)>& wanted);
  // Ends the flight of a pod that needs no other attempt.
  void done(const std::string& uid);
  // Ends the flight of a pod after a failed attempt and puts it back. The place depends on the
  // plugins that rejected it and on the events during the flight.
  void addUnschedulableIfNotPresent(QueuedPod pod);

  // Handles a cluster event. `affects`, if set, selects the pods to check.
  void moveAllToActiveOrBackoffQueue(const ClusterEvent& event,
                                     const std::function<bool(const PodInfo&)>& affects = {});
  // Moves these pods to active, whatever rejected them.
  void activate(const std::vector<PodPtr>& pods);
  // The same, but pods that are backing off become active when their backoff ends.
  void requeue(const std::vector<PodPtr>& pods);

  void flushBackoff();
  void flushUnschedulable();

  QueuePlace placeOf(const std::string& uid) const;
  const QueuedPod* find(const std::string& uid) const;  // not for pods in flight
  QueueCounts counts() const;
  // The number of unschedulable or gated pods by plugin and schedulerName.
  std::map<std::pair<std::string, std::string>, std::size_t> rejectedByPlugin() const;
  // The number of recorded events for pods in flight, by label; those pods count as "PodPopped".
  std::map<std::string, std::size_t> eventsInFlight() const;
  // The queue's clock: wall time at the start, advanced by the steady clock.
  WallTime now() const;

  // Notified of every pod that enters a queue, of every hint and of PreEnqueue; nullptr = none.
  Observer* observer = nullptr;

 private:
  struct Entry;
  struct ActiveOrder {
    const SchedulingQueue* queue;
    bool operator()(const Entry* a, const Entry* b) const;
  };
  struct BackoffOrder {
    const SchedulingQueue* queue;
    bool operator()(const Entry* a, const Entry* b) const;
  };
  using ActiveQueue = std::set<Entry*, ActiveOrder>;
  using BackoffQueue = std::set<Entry*, BackoffOrder>;
  using WakeTimes = std::multimap<WallTime, Entry*>;
  struct Entry {
    QueuedPod pod;
    QueuePlace place = QueuePlace::None;
    std::uint64_t sequence = 0;                // order of arrival, for pods that compare equal
    WallTime backoffEnd{};                     // while in a backoff queue
    ActiveQueue::iterator inActive{};          // while active
    BackoffQueue::iterator inBackoff{};        // while in a backoff queue
    std::optional<WakeTimes::iterator> wakes;  // while unschedulable: when it becomes active anyway
  };
  // From the weakest to the strongest. AtBackoffEnd: stays unschedulable until then. AfterBackoff:
  // in a backoff queue, so it may be tried before if nothing else is ready.
  enum class Strategy { Skip, AtBackoffEnd, AfterBackoff, Immediately };

  // An event during the flight of some pods. If uid is set: the position where that pod was popped.
  struct InFlightEvent {
    std::string uid;
    ClusterEvent event;
    std::string onlyFor;  // the event applies to this pod only
  };

  const Profile* profileOf(const PodInfo& pod) const;
  Entry& newEntry(QueuedPod pod);
  QueuedPod eraseEntry(Entry& entry);
  // Replaces the pod's object; changed labels may move it to another group.
  void replacePod(Entry& entry, const PodPtr& pod);
  void enterGroup(Entry& entry);
  void leaveGroup(Entry& entry);
  // Add to and remove from the queue that `place` names.
  void enterQueue(Entry& entry, QueuePlace place, const std::string& event);
  void insert(Entry& entry);
  void leaveQueue(Entry& entry);
  // Takes a pod out for an attempt. Later events are recorded for it.
  QueuedPod moveToInFlight(Entry& entry);
  bool gated(Entry& entry);
  // The status of the first plugin that holds the pod; success if none does.
  Status preEnqueue(const Profile& profile, const PodInfo& pod) const;
  void requeue(Entry& entry, Strategy strategy, const std::string& event);
  Strategy isPodWorthRequeuing(const QueuedPod& pod, const ClusterEvent& event) const;
  bool isEventOfInterest(const ClusterEvent& event) const;
  // Returns true if a plugin that rejected a pod registered for the event.
  bool hasSubscriber(const ClusterEvent& event) const;
  void countRejectors(const Entry& entry, bool add);
  Duration backoffOf(const QueuedPod& pod) const;
  WallTime backoffEndOf(const QueuedPod& pod) const;
  bool backingOff(const QueuedPod& pod) const;
  // onlyFor: a pod's uid, or "" for all pods.
  void recordForInFlightPods(const ClusterEvent& event, const std::string& onlyFor);
  void tick();

  Executor& executor_;
  QueueOptions options_;
  Profiles profiles_;
  const QueueSortPlugin& order_;
  Nominator& nominator_;
  std::function<void()> onReady_;
  Duration wallOffset_;

  std::unordered_map<std::string, Entry> entries_;  // by uid
  ActiveQueue active_;
  std::unordered_map<std::string, std::set<Entry*>> groups_;  // all entries that are in groups
  BackoffQueue backoff_;
  BackoffQueue errorBackoff_;
  std::unordered_map<std::string, Entry*> unschedulable_;   // including gated pods
  WakeTimes wakes_;                                         // of some of those
  std::unordered_map<std::string, std::size_t> rejectors_;  // of those: number of pods by plugin
  std::size_t gatedCount_ = 0;
  std::uint64_t lastSequence_ = 0;

  std::list<InFlightEvent> inFlightEvents_;  // in order, with the positions of pods in flight
  std::unordered_map<std::string, std::list<InFlightEvent>::iterator> inFlightPods_;  // by uid
  mutable boost::unordered_flat_map<std::pair<EventResource, Actions>, bool> interest_;
  TimerId timer_ = 0;
  int ticks_ = 0;
};

}  // namespace koord::scheduler
