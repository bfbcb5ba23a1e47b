#include "base/task.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "base/caught.h"
#include "base/event_loop.h"
#include "base/gather.h"
#include "base/virtual_loop.h"

namespace koord {
namespace {

using namespace std::chrono_literals;

Task<int> answerLater(Executor& executor, int value) {
  co_await sleepFor(executor, 5s);
  co_return value;
}

Task<void> addInto(Executor& executor, int* sum) {
  const int first = co_await answerLater(executor, 40);
  const int second = co_await answerLater(executor, 2);
  *sum = first + second;
}

TEST(TaskTest, AwaitsOtherTasksAndTimersOnVirtualTime) {
  VirtualLoop loop;
  TaskGroup group;
  int sum = 0;
  group.spawn(addInto(loop, &sum));
  loop.advance(9s);
  EXPECT_EQ(sum, 0);
  loop.advance(1s);
  EXPECT_EQ(sum, 42);
  EXPECT_EQ(group.size(), 0u);
}

Task<int> answerAfter(Executor& executor, int seconds) {
  auto pause = sleepFor(executor, std::chrono::seconds(seconds));
  co_await pause;
  co_return seconds;
}

Task<void> gatherInto(Executor& executor, std::vector<int> seconds, std::vector<int>* out) {
  std::vector<Task<int>> tasks;
  for (const int one : seconds) tasks.push_back(answerAfter(executor, one));
  auto gathering = gather(executor, std::move(tasks));
  *out = co_await gathering;
}

TEST(GatherTest, TasksRunAtTheSameTimeAndResultsKeepTheirOrder) {
  VirtualLoop loop;
  TaskGroup group;
  std::vector<int> out;
  group.spawn(gatherInto(loop, {3, 1, 2}, &out));
  loop.advance(2s);
  EXPECT_TRUE(out.empty());
  loop.advance(1s);
  EXPECT_EQ(out, (std::vector<int>{3, 1, 2}));
  EXPECT_EQ(group.size(), 0u);
}

TEST(GatherTest, NothingToDoEndsAtOnceAndAnAbandonedGatherDestroysItsTasks) {
  VirtualLoop loop;
  std::vector<int> out{7};
  {
    TaskGroup group;
    group.spawn(gatherInto(loop, {}, &out));
    EXPECT_TRUE(out.empty());
    group.spawn(gatherInto(loop, {1, 5}, &out));
    loop.advance(2s);
  }
  loop.advance(10s);
  EXPECT_TRUE(out.empty());
}

Task<int> throwAfter(Executor& executor, int seconds) {
  auto pause = sleepFor(executor, std::chrono::seconds(seconds));
  co_await pause;
  throw std::runtime_error("after " + std::to_string(seconds));
}

Task<void> gatherAndCatch(Executor& executor, std::vector<Task<int>> tasks, std::string* caught) {
  auto gathering = gather(executor, std::move(tasks));
  try {
    const auto results = co_await gathering;
  } catch (...) {
    *caught = thrownText();
  }
}

TEST(GatherTest, TheFirstExceptionReachesTheAwaiterWhenAllHaveEnded) {
  VirtualLoop loop;
  std::string caught;
  std::vector<Task<int>> tasks;
  tasks.push_back(throwAfter(loop, 2));
  tasks.push_back(throwAfter(loop, 1));
  tasks.push_back(answerAfter(loop, 3));
  TaskGroup group;
  group.spawn(gatherAndCatch(loop, std::move(tasks), &caught));
  loop.advance(2s);
  EXPECT_EQ(caught, "");
  loop.advance(1s);
  EXPECT_EQ(caught, "after 1");
}

struct Flag {
  bool* destroyed;
  ~Flag() { *destroyed = true; }
};

Task<void> holdFlag(Executor& executor, bool* destroyed) {
  const Flag flag{destroyed};
  co_await sleepFor(executor, 1h);
}

TEST(TaskTest, DestroyingTheGroupDestroysSuspendedTasksAndTheirTimers) {
  VirtualLoop loop;
  bool destroyed = false;
  {
    TaskGroup group;
    group.spawn(holdFlag(loop, &destroyed));
    loop.advance(1s);
    EXPECT_FALSE(destroyed);
  }
  EXPECT_TRUE(destroyed);
  loop.advance(2h);  // the timer must not resume the destroyed frame
}

Task<void> storeValue(Future<int> future, int* out) {
  *out = co_await future;
}

TEST(TaskTest, FutureCompletedFromAnotherThreadResumesOnTheLoop) {
  LoopThread thread("task-test");
  int value = 0;
  auto group = std::make_unique<TaskGroup>();
  auto [future, completer] = Future<int>::make(thread.loop());
  thread.runSync(
      [&, f = std::move(future)]() mutable { group->spawn(storeValue(std::move(f), &value)); });
  std::thread([c = completer] { c.complete(7); }).join();
  thread.runSync([] {});
  EXPECT_EQ(value, 7);
  completer.complete(8);  // the first completion wins
  thread.runSync([&] { group.reset(); });
  EXPECT_EQ(value, 7);
}

TEST(TaskTest, AFutureWhoseWaiterIsGoneMayStillBeCompleted) {
  VirtualLoop loop;
  int value = 0;
  auto [future, completer] = Future<int>::make(loop);
  {
    TaskGroup group;
    group.spawn(storeValue(std::move(future), &value));
  }
  completer.complete(1);
  loop.runReady();
  EXPECT_EQ(value, 0);
}

Task<int> throwAfter(Executor& executor, Duration delay) {
  auto pause = sleepFor(executor, delay);
  co_await pause;
  throw std::out_of_range("the number is odd");
}

Task<Result<>> throwDeepWithin(Executor& executor, bool* destroyed) {
  const Flag flag{destroyed};
  auto throwing = throwAfter(executor, 1s);
  co_await throwing;
  co_return Result<>();
}

Task<void> catchInto(Executor& executor, bool* destroyed, Result<>* out) {
  auto catching = caught("work on it", throwDeepWithin(executor, destroyed));
  *out = co_await catching;
}

TEST(TaskTest, AnExceptionReachesWhoAwaitsAndIsAnErrorWhereItIsCaught) {
  VirtualLoop loop;
  TaskGroup group;
  bool destroyed = false;
  Result<> result;
  group.spawn(catchInto(loop, &destroyed, &result));
  EXPECT_TRUE(result);
  loop.advance(1s);
  EXPECT_EQ(group.size(), 0u);
  EXPECT_TRUE(destroyed);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::Internal);
  EXPECT_EQ(result.error().message, "unexpected exception: the number is odd");
}

Task<void> throwUncaught(Executor& executor) {
  auto throwing = throwAfter(executor, 0s);
  co_await throwing;
}

TEST(TaskDeathTest, AnExceptionThatNobodyCatchesEndsTheProcessInWords) {
  EXPECT_DEATH(
      {
        VirtualLoop loop;
        TaskGroup group;
        group.spawn(throwUncaught(loop));
        loop.advance(1s);
      },
      "the number is odd");
}

TEST(VirtualLoopTest, TimersFireInDueOrderThenInTheOrderSet) {
  VirtualLoop loop;
  std::string order;
  loop.runAfter(2s, [&] { order += 'c'; });
  loop.runAfter(1s, [&] { order += 'a'; });
  loop.runAfter(1s, [&] { order += 'b'; });
  const auto cancelled = loop.runAfter(1s, [&] { order += 'x'; });
  loop.cancel(cancelled);
  loop.advance(10s);
  EXPECT_EQ(order, "abc");
}

TEST(VirtualLoopTest, AdvanceUntilStopsAtTheLimit) {
  VirtualLoop loop;
  bool done = false;
  loop.runAfter(10s, [&] { done = true; });
  EXPECT_FALSE(loop.advanceUntil([&] { return done; }, 5s));
  EXPECT_TRUE(loop.advanceUntil([&] { return done; }, 5s));
}

}  // namespace
}  // namespace koord
