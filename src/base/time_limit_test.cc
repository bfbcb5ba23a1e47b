#include "base/time_limit.h"

#include <gtest/gtest.h>

#include "base/virtual_loop.h"

namespace koord {
namespace {

using namespace std::chrono_literals;

Task<Result<int>> answerAfter(Executor* executor, Duration delay, bool* ended) {
  auto pause = sleepFor(*executor, delay);
  co_await pause;
  *ended = true;
  co_return 7;
}

Task<void> ask(Executor* executor, Duration delay, bool* ended, std::optional<Result<int>>* out) {
  auto asking = withTimeLimit(*executor, 5s, Error{ErrorCode::Timeout, "too late", {}},
                              answerAfter(executor, delay, ended));
  *out = co_await asking;
}

}  // namespace

TEST(TimeLimitTest, ATaskThatEndsInTimeReturnsItsResult) {
  VirtualLoop loop;
  TaskGroup tasks;
  bool ended = false;
  std::optional<Result<int>> result;
  tasks.spawn(ask(&loop, 4s, &ended, &result));
  loop.advance(4s);
  ASSERT_TRUE(result && *result);
  EXPECT_EQ(**result, 7);
}

TEST(TimeLimitTest, ATaskThatTakesTooLongIsDestroyed) {
  VirtualLoop loop;
  TaskGroup tasks;
  bool ended = false;
  std::optional<Result<int>> result;
  tasks.spawn(ask(&loop, 6s, &ended, &result));
  loop.advance(1min);
  ASSERT_TRUE(result && !*result);
  EXPECT_EQ(result->error().message, "too late");
  EXPECT_FALSE(ended);
}

}  // namespace koord
