#include "cluster/up/pausable_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/virtual_loop.h"

namespace koord::cluster {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Pausable {
  VirtualLoop loop;
  PausableExecutor executor{loop};
  std::vector<std::string> ran;

  void after(Duration delay, const char* name) {
    executor.runAfter(delay, [this, name] { ran.emplace_back(name); });
  }
};

TEST(PausableExecutorTest, WithoutAPauseItIsItsBase) {
  Pausable test;
  test.after(2s, "second");
  test.after(1s, "first");
  test.executor.post([&] { test.ran.emplace_back("posted"); });
  const TimerId cancelled = test.executor.runAfter(1s, [&] { test.ran.emplace_back("cancelled"); });
  test.executor.cancel(cancelled);
  test.loop.advance(3s);
  EXPECT_THAT(test.ran, ElementsAre("posted", "first", "second"));
  EXPECT_EQ(test.executor.steadyNow(), test.loop.steadyNow());
}

TEST(PausableExecutorTest, NothingRunsInAPauseAndTimersKeepTheirRest) {
  Pausable test;
  test.after(10s, "timer");
  test.loop.advance(4s);
  const auto before = test.executor.steadyNow();
  test.executor.pause();
  test.executor.post([&] { test.ran.emplace_back("posted"); });
  test.loop.advance(1h);
  EXPECT_THAT(test.ran, IsEmpty());
  EXPECT_EQ(test.executor.steadyNow(), before);
  test.executor.resume();
  test.loop.advance(5s);
  EXPECT_THAT(test.ran, ElementsAre("posted"));
  test.loop.advance(1s);
  EXPECT_THAT(test.ran, ElementsAre("posted", "timer"));
}

TEST(PausableExecutorTest, WhatWasPostedInAPauseComesBeforeWhatComesAfter) {
  Pausable test;
  test.executor.pause();
  for (const char* name : {"a", "b"})
    test.executor.post([&, name] { test.ran.emplace_back(name); });
  test.loop.runReady();
  test.executor.resume();
  test.executor.post([&] { test.ran.emplace_back("c"); });
  test.loop.runReady();
  EXPECT_THAT(test.ran, ElementsAre("a", "b", "c"));
}

TEST(PausableExecutorTest, ACallbackMayPause) {
  Pausable test;
  test.executor.runAfter(1s, [&] { test.executor.pause(); });
  test.after(1s, "behind");
  test.loop.advance(2s);
  EXPECT_THAT(test.ran, IsEmpty());
  test.executor.resume();
  test.executor.resume();  // once more has no effect
  test.loop.advance(0s);
  EXPECT_THAT(test.ran, ElementsAre("behind"));
}

TEST(PausableExecutorTest, ATimerSetInAPauseCountsFromItsEnd) {
  Pausable test;
  test.executor.pause();
  test.after(1s, "timer");
  test.loop.advance(10s);
  test.executor.resume();
  test.loop.advance(999ms);
  EXPECT_THAT(test.ran, IsEmpty());
  test.loop.advance(1ms);
  EXPECT_THAT(test.ran, ElementsAre("timer"));
}

}  // namespace
}  // namespace koord::cluster
