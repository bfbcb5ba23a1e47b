#include "scheduler/app/sync_barrier.h"

#include <gtest/gtest.h>

#include "base/virtual_loop.h"
#include "kube/fake_api.h"

namespace koord::scheduler {
namespace {

using namespace std::chrono_literals;

struct Barrier {
  VirtualLoop loop;
  kube::FakeApi api{loop};
  std::string shown = "7";  // version in the informer
  std::string written = "12";
  std::optional<Error> refused;
  int patches = 0;
  std::string body;
  bool passed = false;
  SyncBarrier barrier{
      api, loop, {true, {"ops", "mark"}, 10s}, "koord-scheduler", [this](const api::ObjectKey&) {
        return shown;
      }};
  TaskGroup tasks;

  Barrier() {
    api.answer = [this](const kube::Request& request) -> Result<std::string> {
      ++patches;
      body = request.body;
      EXPECT_EQ(request.name, "mark");
      EXPECT_EQ(request.namespace_, "ops");
      if (refused) return fail(*refused);
      return R"({"metadata": {"resourceVersion": ")" + written + "\"}}";
    };
  }
  void begin() { tasks.spawn(pass()); }
  Task<void> pass() {
    auto passing = barrier.pass();
    co_await passing;
    passed = true;
  }
};

TEST(SyncBarrier, a_leader_begins_when_it_has_seen_its_own_mark) {
  Barrier b;
  b.begin();
  b.loop.advance(2s);
  EXPECT_FALSE(b.passed);
  EXPECT_EQ(b.patches, 1);
  EXPECT_NE(b.body.find("scheduling.koordinator.sh/sync-barrier-koord-scheduler"),
            std::string::npos);
  b.shown = "12";
  b.loop.advance(200ms);
  EXPECT_TRUE(b.passed);
}

TEST(SyncBarrier, later_versions_will_do_however_long_they_are) {
  EXPECT_TRUE(versionReached("12", "12"));
  EXPECT_TRUE(versionReached("100", "99"));
  EXPECT_FALSE(versionReached("99", "100"));
  EXPECT_FALSE(versionReached("", "1"));
}

TEST(SyncBarrier, without_the_pod_nobody_waits) {
  Barrier b;
  b.refused = Error{ErrorCode::NotFound, "pods \"mark\" not found"};
  b.begin();
  b.loop.advance(10ms);
  EXPECT_TRUE(b.passed);
}

TEST(SyncBarrier, a_pod_that_is_not_watched_holds_nobody_up) {
  Barrier b;
  b.shown = "";
  b.begin();
  b.loop.advance(10ms);
  EXPECT_TRUE(b.passed);
}

TEST(SyncBarrier, errors_are_tried_again_until_time_is_up) {
  Barrier b;
  b.refused = Error{ErrorCode::Unavailable, "connection refused"};
  b.begin();
  b.loop.advance(9s);
  EXPECT_FALSE(b.passed);
  EXPECT_GT(b.patches, 50);
  b.loop.advance(2s);
  EXPECT_TRUE(b.passed);
}

}  // namespace
}  // namespace koord::scheduler
