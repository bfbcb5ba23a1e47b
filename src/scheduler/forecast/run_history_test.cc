#include "scheduler/forecast/run_history.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/virtual_loop.h"
#include "scheduler/testing/builders.h"

namespace koord::scheduler::forecast {
namespace {

using namespace std::chrono_literals;
using testing::aPod;

struct Learning {
  VirtualLoop loop;
  RunHistory history{loop};
  int made = 0;

  api::Pod pod(const std::string& job = "train") {
    auto builder = aPod(fmt::format("{}-{}", job, ++made), "team-a");
    builder.object().metadata.uid = fmt::format("uid-{}", made);
    builder.object().spec.restartPolicy = "Never";
    api::OwnerReference owner;
    owner.kind = "Job";
    owner.name = job;
    owner.controller = true;
    builder.object().metadata.ownerReferences.push_back(std::move(owner));
    return builder.object();
  }
  static std::shared_ptr<const api::Pod> shared(const api::Pod& pod) {
    return std::make_shared<const api::Pod>(pod);
  }
  // It gets a node, starts, and the informer follows it.
  api::Pod begins(api::Pod pod, bool reported = true) {
    const auto before = shared(pod);
    pod.spec.nodeName = "n1";
    history.podChanging(before, shared(pod));
    if (!reported) return pod;
    const auto bound = shared(pod);
    pod.status.startTime = loop.wallNow();
    history.podChanging(bound, shared(pod));
    return pod;
  }
  // The API's watch of pods that have not ended reports a deletion.
  void ends(const api::Pod& pod) { history.podChanging(shared(pod), nullptr); }
  RunModel model(const std::string& job = "train", std::vector<WallTime> running = {}) {
    return history.modelOf({"team-a", "Job", job}, running, loop.wallNow());
  }
};

TEST(RunHistory, learns_how_long_pods_ran) {
  Learning l;
  for (const auto time : {10min, 20min, 30min}) {
    const api::Pod pod = l.begins(l.pod());
    l.loop.advance(time);
    l.ends(pod);
  }
  EXPECT_EQ(l.model().runs(), 3u);
  EXPECT_EQ(l.model().shortest(), 600);
  EXPECT_EQ(l.model().longest(), 1800);
  EXPECT_TRUE(l.model().isKnown());
  EXPECT_EQ(l.model("other").runs(), 0u);
}

TEST(RunHistory, a_run_begins_with_its_node_if_the_status_has_no_start) {
  Learning l;
  const api::Pod pod = l.begins(l.pod(), false);
  EXPECT_EQ(l.history.starting(), 1u);
  l.loop.advance(5min);
  EXPECT_EQ(l.history.startOf(pod), l.loop.wallNow() - 5min);
  l.ends(pod);
  EXPECT_EQ(l.model().longest(), 300);
  EXPECT_EQ(l.history.starting(), 0u);
}

TEST(RunHistory, an_end_that_the_api_shows_counts_once_with_the_time_of_the_containers) {
  Learning l;
  const api::Pod running = l.begins(l.pod());
  api::Pod over = running;
  over.status.phase = "Succeeded";
  api::ContainerStatus status;
  status.state.terminated.emplace().finishedAt = l.loop.wallNow() + 90s;
  over.status.containerStatuses.push_back(status);
  l.loop.advance(5min);
  l.history.podChanging(l.shared(running), l.shared(over));
  l.history.podChanging(l.shared(over), nullptr);
  EXPECT_EQ(l.model().runs(), 1u);
  EXPECT_EQ(l.model().longest(), 90);
}

TEST(RunHistory, pods_that_are_deleted_evicted_or_never_began_say_nothing) {
  Learning l;
  api::Pod pod = l.begins(l.pod());
  const auto before = l.shared(pod);
  l.loop.advance(5min);
  pod.metadata.deletionTimestamp = l.loop.wallNow();
  l.history.podChanging(before, l.shared(pod));
  l.ends(pod);
  l.ends(l.pod());  // waited
  auto service = l.pod();
  service.spec.restartPolicy = "Always";
  l.ends(l.begins(service));
  auto found = l.pod();  // on its node when this process began to look, without a start
  found.spec.nodeName = "n1";
  l.history.podChanging(nullptr, l.shared(found));
  l.loop.advance(5min);
  l.ends(found);
  EXPECT_EQ(l.history.workloads(), 0u);
  EXPECT_EQ(l.history.starting(), 0u);
}

TEST(RunHistory, members_of_a_gang_are_one_run) {
  Learning l;
  for (int run = 0; run < 3; ++run) {
    std::vector<api::Pod> members;
    for (int i = 0; i < 8; ++i) {
      api::Pod pod = l.pod();
      pod.metadata.labels["pod-group.scheduling.sigs.k8s.io"] = fmt::format("big-{}", run);
      members.push_back(l.begins(pod));
    }
    l.loop.advance(10min);
    for (const auto& pod : members) {
      l.loop.advance(1s);
      l.ends(pod);
    }
  }
  EXPECT_EQ(l.model().runs(), 3u);
  EXPECT_EQ(l.model().shortest(), 608);
}

TEST(RunHistory, takes_what_the_api_still_has_after_a_restart) {
  Learning l;
  l.loop.advance(1h);
  const auto ended = [&](Duration start, Duration end) {
    api::Pod pod = l.pod();
    pod.spec.nodeName = "n1";
    pod.status.phase = "Succeeded";
    pod.status.startTime = l.loop.wallNow() + start;
    api::ContainerStatus status;
    status.state.terminated.emplace().finishedAt = l.loop.wallNow() + end;
    pod.status.containerStatuses.push_back(status);
    return pod;
  };
  for (const auto minutes : {20min, 30min, 40min}) l.history.learn(ended(-50min, -50min + minutes));
  EXPECT_TRUE(l.model().isKnown());
  EXPECT_EQ(l.model().median(), 1800);
  const Duration far = std::chrono::hours(24 * 365 * 100);
  l.history.learn(ended(-10min, -20min));  // ends before it begins
  l.history.learn(ended(-10min, 20min));   // ends in the future
  l.history.learn(ended(-far, -1min));     // longer than anything
  auto half = ended(-10min, -5min);
  half.status.startTime = {};
  l.history.learn(half);
  half = ended(-10min, -5min);
  half.status.containerStatuses.clear();
  l.history.learn(half);
  half = ended(-10min, -5min);
  half.status.phase = "Running";
  l.history.learn(half);
  EXPECT_EQ(l.model().runs(), 3u);
}

TEST(RunHistory, ignores_a_run_when_the_clock_goes_backwards) {
  Learning l;
  api::Pod pod = l.begins(l.pod());
  pod.status.startTime = l.loop.wallNow() + 1h;
  l.ends(pod);
  EXPECT_EQ(l.model().runs(), 0u);
  EXPECT_EQ(l.model("train", {l.loop.wallNow() + 1h}).runs(), 0u);
}

TEST(RunHistory, keeps_the_last_runs_of_the_workloads_that_ran_last) {
  Learning l;
  for (int i = 0; i < 200'000; ++i) {
    api::Pod pod = l.pod("train");
    pod.spec.nodeName = "n1";
    pod.status.startTime = l.loop.wallNow() - std::chrono::seconds(i);
    l.loop.advance(1s);
    l.ends(pod);
    if (i % 20 == 0) l.ends(l.begins(l.pod(fmt::format("job-of-{}-x", i))));
  }
  EXPECT_EQ(l.history.workloads(), RunHistory::kWorkloads);
  EXPECT_EQ(l.history.runsOf({"team-a", "Job", "train"}), RunHistory::kRuns);
  EXPECT_EQ(l.model().shortest(), 200'000 - 63);
  EXPECT_EQ(l.model().longest(), 200'000);
  EXPECT_EQ(l.history.runsOf({"team-a", "Job", "job-of-0-x"}), 0u);
  EXPECT_EQ(l.history.runsOf({"team-a", "Job", "job-of-199980-x"}), 1u);
  EXPECT_EQ(l.history.starting(), 0u);
}

}  // namespace
}  // namespace koord::scheduler::forecast
