#include "scheduler/core/attempt_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/virtual_loop.h"
#include "scheduler/core/scheduler_fixture.h"

namespace koord::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using namespace std::chrono_literals;

struct LateCounter final : Observer {
  int late = 0;
  void timedOut(const std::string&) override { ++late; }
};

struct AttemptMonitorTest : ::testing::Test {
  VirtualLoop loop;
  Cluster cluster;
  LateCounter counting;
  const std::string profile = "koord-scheduler";
  const PodPtr pod = makePodInfo(cluster, testing::aPod("p").build());
  AttemptMonitor monitor{loop, {}, &counting};
};

TEST_F(AttemptMonitorTest, an_attempt_that_takes_too_long_counts_once) {
  monitor.start();
  {
    AttemptMonitor::Watch watch;
    monitor.begin(watch, pod, profile);
    loop.advance(30s);
    EXPECT_EQ(counting.late, 0) << "it is not longer yet";
    loop.advance(10s);
    EXPECT_EQ(counting.late, 1);
    EXPECT_THAT(monitor.oldest(), ElementsAre(Pair(profile, 40s)));
    loop.advance(15s);
  }
  EXPECT_EQ(counting.late, 1);
  EXPECT_THAT(monitor.oldest(), IsEmpty());
}

TEST_F(AttemptMonitorTest, one_that_ends_between_two_looks_counts_too) {
  monitor.start();
  loop.advance(5s);
  {
    AttemptMonitor::Watch watch;
    monitor.begin(watch, pod, profile);
    loop.advance(34s);
    EXPECT_EQ(counting.late, 0);
  }
  EXPECT_EQ(counting.late, 1);
}

TEST_F(AttemptMonitorTest, quick_ones_do_not_count) {
  monitor.start();
  for (int i = 0; i < 100; ++i) {
    AttemptMonitor::Watch watch;
    monitor.begin(watch, pod, profile);
    loop.advance(1s);
  }
  EXPECT_EQ(counting.late, 0);
}

TEST(AttemptMonitor, sees_a_binding_that_hangs) {
  LateCounter counting;
  testing::SchedulerFixture f;
  f.observer = &counting;
  f.SchedulerFixture::create();
  f.scheduler->start();
  f.node(testing::aNode("n1"));
  bool down = true;
  f.api.answer = [&](const kube::Request& request) -> Result<std::string> {
    if (down && request.resource == "pods") return fail(ErrorCode::Unavailable, "no answer");
    return f.answer(request);
  };
  f.create(testing::aPod("p"));
  f.run(55s);
  EXPECT_EQ(counting.late, 1);
  EXPECT_THAT(f.scheduler->oldestAttempts(),
              ElementsAre(Pair("default-scheduler", ::testing::Gt(50s))));
  down = false;
  f.run(60s);
  EXPECT_EQ(f.nodeOf("p"), "n1");
  EXPECT_THAT(f.scheduler->oldestAttempts(), IsEmpty());
  EXPECT_EQ(counting.late, 1);
}

}  // namespace
}  // namespace koord::scheduler
