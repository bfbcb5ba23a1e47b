// Coroutines that resume each other must not pile up on the stack, even if many end without
// suspending. That requires sibling calls, which depend on compiler flags: this file is compiled
// with those of koord-manager and koord-descheduler.

#include <gtest/gtest.h>

#include <cstdint>

#include "base/task.h"

namespace koord {
namespace {

struct Depth {
  std::uintptr_t first = 0, last = 0;
  std::int64_t calls = 0;
  [[gnu::noinline]] void note() {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (calls++ == 0) first = here;
    last = here;
  }
  std::uintptr_t grown() const { return first > last ? first - last : last - first; }
};

Task<int> answerAtOnce(Depth* depth) {
  depth->note();
  co_return 1;
}

Task<int> awaitAnother(Depth* depth) {
  auto asking = answerAtOnce(depth);
  co_return co_await asking;
}

Task<void> awaitRepeatedly(Depth* depth, std::int64_t times) {
  for (std::int64_t i = 0; i < times; ++i) {
    auto asking = awaitAnother(depth);
    (void)co_await asking;
  }
}

TEST(TaskStack, tasks_that_end_at_once_leave_nothing_on_the_stack_in_a_long_loop) {
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "no sibling calls";
#endif
  // Few at first: what grows is to be a failure, and no crash.
  for (const std::int64_t times : {1'000, 1'000'000}) {
    Depth depth;
    TaskGroup group;
    group.spawn(awaitRepeatedly(&depth, times));
    EXPECT_EQ(group.size(), 0U);
    EXPECT_EQ(depth.calls, times);
    ASSERT_EQ(depth.grown(), 0U) << times;
  }
}

}  // namespace
}  // namespace koord
