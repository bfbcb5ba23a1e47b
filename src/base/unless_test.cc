#include "base/unless.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "base/virtual_loop.h"

namespace koord {
namespace {

using namespace std::chrono_literals;

// Asks for something that takes `delay`, for at most five seconds.
class UnlessTest : public testing::Test {
 protected:
  void ask(Duration delay) {
    tasks_.spawn(askFor(this, delay));
    loop_.advance(1min);
  }

  VirtualLoop loop_;
  bool ended_ = false;
  bool thrown_ = false;
  std::optional<Result<int>> result_;

 private:
  static Task<Result<int>> answerAfter(UnlessTest* self, Duration delay) {
    if (delay < 0s) throw std::logic_error("a bug");
    auto pause = sleepFor(self->loop_, delay);
    co_await pause;
    self->ended_ = true;
    co_return 7;
  }
  static Task<void> askFor(UnlessTest* self, Duration delay) {
    try {
      auto asking = withTimeLimit(self->loop_, 5s, Error{ErrorCode::Timeout, "too late", {}},
                                  answerAfter(self, delay));
      self->result_ = co_await asking;
    } catch (const std::logic_error&) {
      self->thrown_ = true;
    }
  }

  TaskGroup tasks_;
};

}  // namespace

TEST_F(UnlessTest, ATaskThatEndsInTimeReturnsItsResult) {
  ask(4s);
  ASSERT_TRUE(result_ && *result_);
  EXPECT_EQ(**result_, 7);
}

TEST_F(UnlessTest, ATaskThatTakesTooLongIsDestroyed) {
  ask(6s);
  ASSERT_TRUE(result_ && !*result_);
  EXPECT_EQ(result_->error().message, "too late");
  EXPECT_FALSE(ended_);
}

TEST_F(UnlessTest, AnExceptionReachesTheAwaiter) {
  ask(-1s);
  EXPECT_TRUE(thrown_);
  EXPECT_FALSE(result_);
}

}  // namespace koord
