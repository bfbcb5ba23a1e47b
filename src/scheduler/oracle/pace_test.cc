#include "scheduler/oracle/pace.h"

#include <gtest/gtest.h>

#include <vector>

namespace koord::scheduler::oracle::testing {
namespace {

using namespace std::chrono_literals;

struct Case {
  const char* name;
  Duration took;         // by the fork
  Duration since;        // the fork began
  Duration cpu;          // used since its end
  std::uint64_t faults;  // since its end
  bool allowed;
};

TEST(Pace, the_first_fork_is_allowed) {
  EXPECT_TRUE(Pace().allows(SteadyTime(1h), {}));
}

TEST(Pace, the_next_fork_waits_while_the_last_one_has_cost_too_much) {
  const SteadyTime start(1h);
  const ThreadWork then{.cpu = 1min, .faults = 1'000'000};
  for (const Case& c : std::initializer_list<Case>{
           {"a working thread, soon after", 5ms, 50ms, 45ms, 0, false},
           {"the fork alone is 4 % now", 5ms, 125ms, 120ms, 0, true},
           {"faults count, too", 5ms, 125ms, 120ms, 100, false},
           {"many faults", 5ms, 900ms, 890ms, 20'000, false},
           {"many faults and enough time", 5ms, 1175ms, 1s, 20'000, true},
           {"a small process soon may fork again", 200us, 10ms, 9ms, 50, true},
           {"a thread that waits for work", 5ms, 50ms, 5ms, 1'000, true},
           {"a thread that works a third of the time", 5ms, 60ms, 20ms, 0, false},
           {"two seconds are enough, whatever it cost", 1s, 2s, 2s, 1'000'000, true}}) {
    Pace pace;
    pace.forked(start, c.took, then);
    EXPECT_EQ(pace.allows(start + c.since, {then.cpu + c.cpu, then.faults + c.faults}), c.allowed)
        << c.name;
  }
}

TEST(Pace, the_work_of_a_thread_is_measured) {
  const ThreadWork before = workOfThisThread();
  std::vector<char> pages(64 << 20);
  for (std::size_t at = 0; at < pages.size(); at += 4096) pages[at] = 1;
  const ThreadWork after = workOfThisThread();
  EXPECT_GT(after.faults, before.faults);
  EXPECT_GT(after.cpu, before.cpu);
}

}  // namespace
}  // namespace koord::scheduler::oracle::testing
