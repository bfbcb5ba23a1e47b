#include "scheduler/queue/scheduling_queue.h"

#include <gtest/gtest.h>

#include <set>

#include "base/virtual_loop.h"
#include "scheduler/plugins/schedulinggates/plugin.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::PodBuilder;
using testing::World;
using namespace std::chrono_literals;

class ByPriority final : public Plugin, public QueueSortPlugin {
 public:
  std::string_view name() const override { return "ByPriority"; }
  bool less(const QueuedPod& a, const QueuedPod& b) const override {
    if (a.info->priority != b.info->priority) return a.info->priority > b.info->priority;
    return a.timestamp < b.timestamp;
  }
};

struct QueueFixture {
  World world;
  Profile profile;
  std::unique_ptr<SchedulingQueue> queue;
  int readyCalls = 0;

  explicit QueueFixture(QueueOptions options = {}) {
    auto sort = std::make_unique<ByPriority>();
    auto gates = std::make_unique<SchedulingGates>();
    extend(profile.queueSort, *sort);
    extend(profile.preEnqueue, *gates);
    profile.registrations.push_back({"SchedulingGates", gates->eventsToRegister()});
    // "Fit" is woken by removed pods, "Pending" by added nodes.
    profile.registrations.push_back({"Fit", {{EventResource::Pod, action::kDelete, "", {}}}});
    profile.registrations.push_back({"Pending", {{EventResource::Node, action::kAdd, "", {}}}});
    profile.plugins.push_back(std::move(sort));
    profile.plugins.push_back(std::move(gates));
    queue = std::make_unique<SchedulingQueue>(
        world.executor(), options, SchedulingQueue::Profiles{{"default-scheduler", &profile}},
        world.nominator(), [this] { ++readyCalls; });
    queue->start();
  }
  VirtualLoop& loop() { return static_cast<VirtualLoop&>(world.executor()); }
  PodPtr add(const PodBuilder& builder) {
    PodPtr pod = world.pod(builder);
    queue->add(pod);
    return pod;
  }
  std::string next() {
    auto pod = queue->pop();
    if (!pod) return "";
    popped = *pod;
    return pod->info->pod->metadata.name;
  }
  void reject(std::set<std::string> unschedulable, std::set<std::string> pending = {}) {
    popped.unschedulablePlugins = std::move(unschedulable);
    popped.pendingPlugins = std::move(pending);
    queue->addUnschedulableIfNotPresent(popped);
  }
  static ClusterEvent podDeleted() {
    ClusterEvent event;
    event.resource = EventResource::AssignedPod;
    event.actions = action::kDelete;
    return event;
  }
  static ClusterEvent nominationEnded() {
    ClusterEvent event = podDeleted();
    event.nominationEnded = true;
    return event;
  }
  static ClusterEvent nodeAdded() {
    ClusterEvent event;
    event.resource = EventResource::Node;
    event.actions = action::kAdd;
    return event;
  }
  QueuedPod popped;
};

TEST(SchedulingQueue, pods_come_out_by_priority_then_age) {
  QueueFixture f;
  f.add(aPod("old"));
  f.add(aPod("young"));
  f.add(aPod("important").priority(10));
  EXPECT_EQ(f.next(), "important");
  EXPECT_EQ(f.next(), "old");
  EXPECT_EQ(f.next(), "young");
  EXPECT_EQ(f.next(), "");
}

TEST(SchedulingQueue, a_rejected_pod_waits_for_an_event_of_a_plugin_that_rejected_it) {
  QueueFixture f;
  const PodPtr pod = f.add(aPod("p"));
  f.next();
  EXPECT_EQ(f.queue->placeOf(pod->uid()), QueuePlace::InFlight);
  f.reject({"Fit"});
  EXPECT_EQ(f.queue->placeOf(pod->uid()), QueuePlace::Unschedulable);
  f.queue->moveAllToActiveOrBackoffQueue(QueueFixture::nodeAdded());
  EXPECT_EQ(f.queue->placeOf(pod->uid()), QueuePlace::Unschedulable);
  f.queue->moveAllToActiveOrBackoffQueue(QueueFixture::podDeleted());
  EXPECT_EQ(f.queue->placeOf(pod->uid()), QueuePlace::Backoff);
  f.loop().advance(3s);
  EXPECT_EQ(f.queue->placeOf(pod->uid()), QueuePlace::Active);
}

TEST(SchedulingQueue, an_event_after_the_backoff_has_ended_activates_at_once) {
  QueueFixture f;
  const PodPtr pod = f.add(aPod("p"));
  f.next();
  f.reject({"Fit"});
  f.loop().advance(5s);
  f.queue->moveAllToActiveOrBackoffQueue(QueueFixture::podDeleted());
  EXPECT_EQ(f.queue->placeOf(pod->uid()), QueuePlace::Active);
}

TEST(SchedulingQueue, an_event_for_a_pending_plugin_skips_the_backoff) {
  QueueFixture f;
  const PodPtr pod = f.add(aPod("p"));
  f.next();
  f.reject({"Fit"}, {"Pending"});
  f.queue->moveAllToActiveOrBackoffQueue(QueueFixture::nodeAdded());
  EXPECT_EQ(f.queue->placeOf(pod->uid()), QueuePlace::Active);
}

TEST(SchedulingQueue, an_event_while_the_pod_was_in_flight_counts) {
  QueueFixture f;
  const PodPtr pod = f.add(aPod("p"));
  f.next();
  f.queue->moveAllToActiveOrBackoffQueue(QueueFixture::podDeleted());
  f.reject({"Fit"});
  EXPECT_EQ(f.queue->placeOf(pod->uid()), QueuePlace::Backoff);
}

// Otherwise waiting pods that nominate nodes in turn would wake each other in a loop.
TEST(SchedulingQueue, a_pod_that_an_ended_nomination_wakes_is_tried_after_its_backoff_only) {
  QueueFixture f;
  const ClusterEvent ended = QueueFixture::nominationEnded();
  const PodPtr pod = f.add(aPod("p"));
  f.next();
  f.reject({"Fit"});
  f.queue->moveAllToActiveOrBackoffQueue(ended);
  f.queue->moveAllToActiveOrBackoffQueue(ended);
  EXPECT_EQ(f.queue->placeOf(pod->uid()), QueuePlace::Unschedulable);
  EXPECT_EQ(f.next(), "");
  f.loop().advance(3s);
  EXPECT_EQ(f.next(), "p");
  // The same while it is in flight.
  f.queue->moveAllToActiveOrBackoffQueue(ended);
  f.reject({"Fit"});
  EXPECT_EQ(f.next(), "");
  f.queue->moveAllToActiveOrBackoffQueue(QueueFixture::podDeleted());
  EXPECT_EQ(f.next(), "p") << "room may be free now";
  f.queue->moveAllToActiveOrBackoffQueue(ended);
  f.queue->moveAllToActiveOrBackoffQueue(QueueFixture::podDeleted());
  f.reject({"Fit"});
  EXPECT_EQ(f.next(), "p");
  f.reject({"Fit"});
  f.queue->moveAllToActiveOrBackoffQueue(ended);
  EXPECT_EQ(f.next(), "");
  f.queue->requeue({pod});
  EXPECT_EQ(f.next(), "p") << "its victims are gone";
  f.reject({"Fit"});
  f.queue->moveAllToActiveOrBackoffQueue(ended);
  f.queue->remove(pod);
  f.loop().advance(1min);
  EXPECT_EQ(f.next(), "") << "a deleted pod wakes no more";
}

TEST(SchedulingQueue, the_backoff_doubles_up_to_the_maximum) {
  QueueFixture f;
  const PodPtr pod = f.add(aPod("p"));
  std::vector<std::int64_t> waits;
  for (int round = 0; round < 6; ++round) {
    ASSERT_EQ(f.next(), "p");
    const auto before = f.queue->now();
    f.reject({"Fit"});
    // Another pod keeps the queue busy; otherwise this pod would be tried early.
    f.queue->moveAllToActiveOrBackoffQueue(QueueFixture::podDeleted());
    ASSERT_EQ(f.queue->placeOf(pod->uid()), QueuePlace::Backoff);
    waits.push_back(std::chrono::duration_cast<std::chrono::seconds>(
                        *f.queue->find(pod->uid())->backoffExpiration - before)
                        .count());
    f.loop().advance(15s);
  }
  EXPECT_EQ(waits, (std::vector<std::int64_t>{1, 2, 4, 8, 10, 10}));
}

TEST(SchedulingQueue,
     a_pod_in_backoff_is_tried_early_when_nothing_else_is_ready_but_not_after_an_error) {
  QueueFixture f;
  f.add(aPod("rejected"));
  f.next();
  f.queue->moveAllToActiveOrBackoffQueue(QueueFixture::podDeleted());
  f.reject({"Fit"});
  f.add(aPod("broken"));
  EXPECT_EQ(f.next(), "broken");
  f.reject({});  // an error: no plugin rejected it
  EXPECT_EQ(f.next(), "rejected");
  EXPECT_EQ(f.next(), "");
  f.loop().advance(3s);
  EXPECT_EQ(f.next(), "broken");
}

TEST(SchedulingQueue, pods_that_waited_five_minutes_are_tried_anyway) {
  QueueFixture f;
  const PodPtr pod = f.add(aPod("p"));
  f.next();
  f.reject({"Fit"});
  f.loop().advance(4min);
  EXPECT_EQ(f.queue->placeOf(pod->uid()), QueuePlace::Unschedulable);
  f.loop().advance(2min);
  EXPECT_EQ(f.queue->placeOf(pod->uid()), QueuePlace::Active);
  EXPECT_TRUE(f.queue->find(pod->uid())->flushed);
}

TEST(SchedulingQueue, a_gated_pod_waits_until_its_gates_are_gone) {
  QueueFixture f;
  const PodPtr gated = f.add(aPod("p").gate("wait"));
  EXPECT_EQ(f.queue->placeOf(gated->uid()), QueuePlace::Gated);
  EXPECT_EQ(f.queue->counts().gated, 1u);
  f.queue->moveAllToActiveOrBackoffQueue(QueueFixture::podDeleted());
  f.loop().advance(10min);
  EXPECT_EQ(f.queue->placeOf(gated->uid()), QueuePlace::Gated);
  f.queue->update(gated, f.world.pod(aPod("p").version("2")));
  EXPECT_EQ(f.queue->placeOf(gated->uid()), QueuePlace::Active);
  EXPECT_EQ(f.queue->counts().gated, 0u);
}

TEST(SchedulingQueue, activate_moves_a_pod_whatever_rejected_it) {
  QueueFixture f;
  const PodPtr pod = f.add(aPod("p"));
  f.next();
  f.reject({"Nobody"});
  f.queue->activate({pod});
  EXPECT_EQ(f.queue->placeOf(pod->uid()), QueuePlace::Active);
}

TEST(SchedulingQueue, activate_of_a_pod_in_flight_counts_when_it_fails) {
  QueueFixture f;
  const PodPtr pod = f.add(aPod("p"));
  f.next();
  f.queue->activate({pod});
  f.reject({"Nobody"});
  EXPECT_EQ(f.queue->placeOf(pod->uid()), QueuePlace::Backoff);
}

TEST(SchedulingQueue, requeue_moves_a_pod_whatever_rejected_it_when_its_backoff_ends) {
  QueueFixture f;
  const PodPtr pod = f.add(aPod("p"));
  f.next();
  f.reject({"Nobody"});
  f.queue->requeue({pod});
  EXPECT_EQ(f.queue->placeOf(pod->uid()), QueuePlace::Backoff);
  f.loop().advance(10min);
  EXPECT_EQ(f.queue->placeOf(pod->uid()), QueuePlace::Active);
}

TEST(SchedulingQueue, a_deleted_pod_is_nowhere) {
  QueueFixture f;
  const PodPtr pod = f.add(aPod("p"));
  f.queue->remove(pod);
  EXPECT_EQ(f.queue->placeOf(pod->uid()), QueuePlace::None);
  EXPECT_EQ(f.next(), "");
}

// Random operations: every pod is in exactly one place, and none is lost.
TEST(SchedulingQueue, no_pod_is_lost_or_doubled_under_random_operations) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    QueueFixture f;
    std::map<std::string, PodPtr> alive;  // by uid, queued or in flight
    std::map<std::string, QueuedPod> flying;
    int created = 0;
    for (int step = 0; step < 400; ++step) {
      switch (random.below(9)) {
        case 0:
        case 1: {
          PodBuilder builder =
              aPod("p" + std::to_string(created++)).priority(static_cast<int>(random.below(3)));
          if (random.chance(0.2)) builder.gate("g");
          const PodPtr pod = f.add(builder);
          alive[pod->uid()] = pod;
          break;
        }
        case 2:
        case 3:
          if (auto pod = f.queue->pop()) flying[pod->uid()] = *pod;
          break;
        case 4:
        case 5: {
          if (flying.empty()) break;
          auto it = std::next(flying.begin(), static_cast<long>(random.below(flying.size())));
          QueuedPod pod = it->second;
          flying.erase(it);
          pod.unschedulablePlugins.clear();
          pod.pendingPlugins.clear();
          const auto outcome = random.below(4);
          if (outcome == 0) {
            f.queue->done(pod.uid());
            alive.erase(pod.uid());
            break;
          }
          if (outcome == 1) pod.unschedulablePlugins = {"Fit"};
          if (outcome == 2) pod.pendingPlugins = {"Pending"};
          f.queue->addUnschedulableIfNotPresent(pod);
          break;
        }
        case 6:
          f.queue->moveAllToActiveOrBackoffQueue(random.chance(0.3) ? QueueFixture::podDeleted()
                                                 : random.chance(0.5)
                                                     ? QueueFixture::nominationEnded()
                                                     : QueueFixture::nodeAdded());
          break;
        case 7: {
          if (alive.empty()) break;
          auto it = std::next(alive.begin(), static_cast<long>(random.below(alive.size())));
          if (flying.contains(it->first)) break;
          if (random.chance(0.5)) {
            f.queue->remove(it->second);
            alive.erase(it);
          } else {
            const PodPtr after = f.world.pod(aPod(it->second->pod->metadata.name)
                                                 .priority(it->second->priority)
                                                 .version(std::to_string(step)));
            f.queue->update(it->second, after);
            it->second = after;
          }
          break;
        }
        default:
          f.loop().advance(std::chrono::milliseconds(random.below(4000)));
      }
      const QueueCounts counts = f.queue->counts();
      ASSERT_EQ(
          counts.active + counts.backoff + counts.unschedulable + counts.gated + counts.inFlight,
          alive.size())
          << "seed " << seed << " step " << step;
      for (const auto& [uid, pod] : alive) {
        ASSERT_NE(f.queue->placeOf(uid), QueuePlace::None) << "seed " << seed << " step " << step;
        ASSERT_EQ(f.queue->placeOf(uid) == QueuePlace::InFlight, flying.contains(uid));
      }
    }
    // In the end everything that is not gated comes out.
    for (auto& [uid, pod] : flying) f.queue->done(uid), alive.erase(uid);
    f.loop().advance(7min);
    while (auto pod = f.queue->pop()) {
      f.queue->done(pod->uid());
      alive.erase(pod->uid());
    }
    for (const auto& [uid, pod] : alive) ASSERT_EQ(f.queue->placeOf(uid), QueuePlace::Gated);
  }
}

// Pods with label group are in the group that it names.
struct ByLabel final : GroupPlugin {
  std::string groupOf(const PodInfo& pod) const override {
    const auto* group = api::findIn(pod.pod->metadata.labels, "group");
    return group ? *group : std::string();
  }
  Status judge(const std::string&, const GroupOutcome&) override { return {}; }
};

TEST(SchedulingQueue, a_group_is_handed_out_together_as_far_as_it_is_wanted) {
  ByLabel groups;
  QueueFixture f;
  f.profile.groups = &groups;
  const auto names = [](const std::vector<QueuedPod>& pods) {
    std::vector<std::string> list;
    for (const auto& pod : pods) list.push_back(pod.info->pod->metadata.name);
    return list;
  };
  for (const char* name : {"a1", "a2", "a3"})
    f.queue->add(f.world.pod(aPod(name).label("group", "a")));
  f.queue->add(f.world.pod(aPod("b1").label("group", "b").priority(7)));
  f.queue->add(f.world.pod(aPod("gated").label("group", "a").gate("x")));
  const auto first = f.queue->pop();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->info->pod->metadata.name, "b1");
  const auto wanted = [](const PodInfo& pod) { return pod.pod->metadata.name != "a2"; };
  EXPECT_EQ(names(f.queue->popGroups({"a", "none"}, wanted)),
            (std::vector<std::string>{"a1", "a3"}));
  EXPECT_EQ(f.queue->pop()->info->pod->metadata.name, "a2");
}

bool anyPod(const PodInfo&) {
  return true;
}

// Holds pods back while it is closed.
struct Gate final : Plugin, PreEnqueuePlugin {
  bool closed = true;
  std::string_view name() const override { return "Gate"; }
  Status preEnqueue(const PodInfo& pod) override {
    const bool held = closed && pod.pod->metadata.name.starts_with("held");
    return held ? Status::unresolvable("closed") : Status();
  }
};

TEST(SchedulingQueue, a_held_member_is_handed_out_with_its_group_once_its_gate_is_open) {
  ByLabel groups;
  Gate gate;
  QueueFixture f;
  f.profile.groups = &groups;
  extend(f.profile.preEnqueue, gate);
  const PodPtr held = f.add(aPod("held").label("group", "a"));
  f.add(aPod("first").label("group", "a"));
  EXPECT_EQ(f.next(), "first");
  EXPECT_TRUE(f.queue->popGroups({"a"}, anyPod).empty());
  EXPECT_EQ(f.queue->placeOf(held->uid()), QueuePlace::Gated);
  gate.closed = false;
  const auto others = f.queue->popGroups({"a"}, anyPod);
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(f.queue->counts().gated, 0u);
  EXPECT_TRUE(others.front().firstReady) << "its latency is measured from here";
  // Nothing delays it now: refused, it waits like any other.
  f.popped = others.front();
  f.reject({"Fit"});
  EXPECT_EQ(f.queue->placeOf(held->uid()), QueuePlace::Unschedulable);
}

TEST(SchedulingQueue, labels_move_a_waiting_pod_to_another_group) {
  ByLabel groups;
  QueueFixture f;
  f.profile.groups = &groups;
  const auto all = [](const PodInfo&) { return true; };
  const PodPtr before = f.world.pod(aPod("p").label("group", "a"));
  f.queue->add(before);
  f.queue->update(before, f.world.pod(aPod("p").label("group", "b").version("2")));
  EXPECT_TRUE(f.queue->popGroups({"a"}, all).empty());
  EXPECT_EQ(f.queue->popGroups({"b"}, all).size(), 1u);
}

TEST(SchedulingQueue, a_pod_that_comes_into_another_group_is_handed_out_with_that_one) {
  QueueFixture f;
  ByLabel groups;
  f.profile.groups = &groups;
  const PodPtr a = f.add(aPod("a").label("group", "one").gate("wait"));
  f.add(aPod("b").label("group", "one").priority(2));
  f.add(aPod("c").label("group", "two").priority(1));
  const PodPtr after = f.world.pod(aPod("a").label("group", "two").version("2"));
  f.queue->update(a, after);
  EXPECT_EQ(f.next(), "b");
  EXPECT_TRUE(f.queue->popGroups({"one"}, anyPod).empty());
  EXPECT_EQ(f.next(), "c");
  const auto others = f.queue->popGroups({"two"}, anyPod);
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others.front().info->pod->metadata.name, "a");
}

TEST(SchedulingQueue, a_pod_that_leaves_its_group_while_it_is_tried_comes_back_without_it) {
  QueueFixture f;
  ByLabel groups;
  f.profile.groups = &groups;
  f.add(aPod("a").label("group", "one"));
  f.add(aPod("b").label("group", "one"));
  EXPECT_EQ(f.next(), "a");
  f.popped.info = f.world.pod(aPod("a").version("2"));
  f.reject({"Fit"});
  EXPECT_EQ(f.next(), "b");
  EXPECT_TRUE(f.queue->popGroups({"one"}, anyPod).empty());
}

TEST(SchedulingQueue, a_pod_that_is_given_to_another_profile_begins_anew_there) {
  QueueFixture f;
  Profile other;
  f.queue = std::make_unique<SchedulingQueue>(
      f.world.executor(), QueueOptions{},
      SchedulingQueue::Profiles{{"default-scheduler", &f.profile}, {"other", &other}},
      f.world.nominator(), [] {});
  const PodPtr first = f.add(aPod("p"));
  EXPECT_EQ(f.next(), "p");
  f.reject({"Fit"});
  EXPECT_EQ(f.queue->placeOf(first->uid()), QueuePlace::Unschedulable);
  f.queue->update(first, f.world.pod(aPod("p").scheduler("other").version("2")));
  EXPECT_EQ(f.next(), "p");
  EXPECT_EQ(f.popped.profile, &other);
  EXPECT_TRUE(f.popped.unschedulablePlugins.empty());
}

TEST(SchedulingQueue, a_pod_is_not_woken_by_what_the_scheduler_writes_about_it) {
  QueueFixture f;
  f.profile.registrations.push_back({"Curious", {{EventResource::Wildcard, action::kAll, "", {}}}});
  PodBuilder pod = aPod("p");
  pod.object().metadata.generation = 1;
  const PodPtr first = f.add(pod);
  EXPECT_EQ(f.next(), "p");
  pod.object().status.conditions.emplace_back().type = "PodScheduled";
  const PodPtr told = f.world.pod(pod.version("2"));
  f.queue->update(first, told);  // during its attempt
  f.popped.info = told;
  f.reject({"Curious"});
  EXPECT_EQ(f.queue->placeOf(told->uid()), QueuePlace::Unschedulable);
  pod.object().status.conditions.back().message = "another one";
  const PodPtr again = f.world.pod(pod.version("3"));
  f.queue->update(told, again);
  EXPECT_EQ(f.queue->placeOf(told->uid()), QueuePlace::Unschedulable);
  pod.object().metadata.annotations["hint"] = "x";
  f.queue->update(again, f.world.pod(pod.version("4")));
  EXPECT_EQ(f.queue->placeOf(told->uid()), QueuePlace::Backoff);
}

}  // namespace
}  // namespace koord::scheduler
