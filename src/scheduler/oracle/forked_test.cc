// Copies of the process that answer: what they may do, and how they end.

#include "scheduler/oracle/forked.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

namespace koord::scheduler::oracle::testing {
namespace {

using ::testing::ElementsAre;

const std::atomic<bool> gNotCancelled = false;

ForkedAnswer forked(const std::function<void(const ChildSide&)>& child, ForkLimits limits = {}) {
  return *ForkedAnswer::start(limits, {child, [] { ::_exit(2); }});
}

using CopyWork = std::function<void()>;

std::vector<ForkedAnswer> forkedAll(const std::vector<CopyWork>& runs, std::size_t atOnce,
                                    const ForkLimits& limits = {.time = std::chrono::minutes(2)}) {
  std::vector<ChildWork> works;
  for (const CopyWork& run : runs) works.push_back({[run](const ChildSide&) { run(); }, [] {}});
  return *ForkedAnswer::startAll(limits, atOnce, works);
}

// The texts, or what there is instead.
std::vector<std::string> textsOf(std::vector<ForkedAnswer>& answers) {
  std::vector<std::string> texts;
  for (ForkedAnswer& answer : answers) {
    const auto text = answer.wait(gNotCancelled);
    texts.push_back(text ? *text : std::string(reasonOf(text.error().code)));
  }
  return texts;
}

void hang() {
  for (;;) ::pause();
}

// Zeroes that this process and its copies share.
template <class T>
struct SharedMemory {
  T* const value = static_cast<T*>(
      ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ~SharedMemory() { ::munmap(value, sizeof(T)); }
  T* operator->() const { return value; }
};

void offersAndEnds(const std::function<std::vector<ForkedAnswer>(CopyWork, ForkLimits)>& start) {
  const auto answerTo = [&](CopyWork run, ForkLimits limits = {}) {
    auto answers = start(std::move(run), limits);
    return answers.front().wait(gNotCancelled);
  };
  EXPECT_EQ(answerTo([] {
              ChildSide::offer("first");
              ChildSide::finish("last");
            }).value_or("none"),
            "last");
  EXPECT_EQ(answerTo([] {
              ChildSide::offer("first");
              ::_exit(1);
            })
                .error()
                .code,
            ErrorCode::Internal)
      << "no limit ended it";
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their `new` has no handler
  EXPECT_EQ(answerTo([] {
              ChildSide::offer("first");
              (void)new char[std::size_t{1} << 50];
              ::_exit(1);
            }).value_or("none"),
            "first");
#endif
  EXPECT_EQ(answerTo([] {
              ChildSide::offer("first");
              ChildSide::offer("second\nline");
              ::kill(::getpid(), SIGKILL);  // as the kernel does when memory is short
            }).value_or("none"),
            "second\nline");
  EXPECT_EQ(answerTo([] {
              ChildSide::offer("first");
              const std::uint64_t size = 10;
              writeAll(3, {reinterpret_cast<const char*>(&size), sizeof(size)});
              writeAll(3, "123456789");
              ::kill(::getpid(), SIGKILL);
            }).value_or("none"),
            "first")
      << "a text that lacks a byte";
}

TEST(Forked, a_text_that_the_child_offered_is_the_answer_if_it_is_killed) {
  offersAndEnds([](CopyWork run, ForkLimits limits) {
    std::vector<ForkedAnswer> answers;
    answers.push_back(forked([run](const ChildSide&) { run(); }, limits));
    return answers;
  });
  auto hangs = forked(
      [](const ChildSide&) {
        ChildSide::offer("first");
        hang();
      },
      {.time = Duration(0), .grace = std::chrono::milliseconds(200)});
  EXPECT_EQ(hangs.wait(gNotCancelled).value_or("none"), "first");
}

TEST(Forked, a_text_that_a_copy_of_the_template_offered_is_the_answer_if_it_is_killed) {
  offersAndEnds([](CopyWork run, ForkLimits limits) {
    limits.time = std::chrono::minutes(2);
    return forkedAll({run, [] { ChildSide::finish("other"); }}, 2, limits);
  });
}

TEST(Forked, the_child_has_a_low_priority_and_no_files_but_its_own) {
  const CopyWork look = [] {
    int files = 0;
    for (int fd = 0; fd < 1000; ++fd) files += ::fcntl(fd, F_GETFD) >= 0;
    ChildSide::finish(fmt::format("{} {}", ::getpriority(PRIO_PROCESS, 0), files));
  };
  auto alone = forked([look](const ChildSide&) { look(); });
  EXPECT_EQ(alone.wait(gNotCancelled).value_or("none"), "5 4");
  auto several = forkedAll({look, look, look}, 2);
  EXPECT_THAT(textsOf(several), ElementsAre("5 4", "5 4", "5 4"));
}

TEST(Forked, copies_of_one_moment_do_not_see_what_the_others_or_the_parent_change) {
  int value = 1;
  std::vector<CopyWork> runs;
  for (int i = 0; i < 5; ++i)
    runs.push_back([&value, i] { ChildSide::finish(fmt::format("{} {}", i, value++)); });
  auto answers = forkedAll(runs, 1);
  value = 2;
  EXPECT_THAT(textsOf(answers), ElementsAre("0 1", "1 1", "2 1", "3 1", "4 1"));
}

struct Counts {
  std::atomic<int> now, most;
};

TEST(Forked, as_many_copies_run_at_once_as_may) {
  const SharedMemory<Counts> counts;
  const auto meet = [&counts](int others) {
    const int now = ++counts->now;
    for (int most = counts->most; now > most && !counts->most.compare_exchange_weak(most, now);) {
    }
    while (counts->most < others) ::sched_yield();  // else it would not end
    --counts->now;
    ChildSide::finish("met");
  };
  auto one = forkedAll({[&] { meet(1); }, [&] { meet(1); }, [&] { meet(1); }}, 1);
  EXPECT_THAT(textsOf(one), ElementsAre("met", "met", "met"));
  EXPECT_EQ(counts->most, 1);
  auto two = forkedAll({[&] { meet(2); }, [&] { meet(2); }, [&] { meet(2); }}, 2);
  EXPECT_THAT(textsOf(two), ElementsAre("met", "met", "met"));
  EXPECT_EQ(counts->most, 2);
}

TEST(Forked, a_copy_whose_reader_is_gone_ends_and_the_next_one_begins) {
  auto answers = forkedAll({hang, [] { ChildSide::finish("second"); }}, 1);
  {
    const ForkedAnswer gone = std::move(answers.front());
  }
  EXPECT_EQ(answers.back().wait(gNotCancelled).value_or("none"), "second");
}

TEST(Forked, a_copy_that_is_cancelled_ends_and_one_that_waits_does_not_begin) {
  const SharedMemory<std::atomic<int>> begun;
  auto answers = forkedAll({hang, [&] { ++*begun.value; }, [] { ChildSide::finish("third"); }}, 1);
  const std::atomic<bool> cancelled = true;
  EXPECT_EQ(answers[1].wait(cancelled).error().code, ErrorCode::Cancelled);
  EXPECT_EQ(answers[0].wait(cancelled).error().code, ErrorCode::Cancelled);
  EXPECT_EQ(answers[2].wait(gNotCancelled).value_or("none"), "third");
  EXPECT_EQ(*begun.value, 0);
}

TEST(Forked, a_copy_that_takes_too_long_ends_and_others_do_not_begin_late) {
  const ForkLimits limits{.time = std::chrono::seconds(1), .grace = std::chrono::milliseconds(100)};
  auto answers = forkedAll({[] {
                              ChildSide::offer("a part");
                              hang();
                            },
                            [] { ChildSide::finish("late"); }},
                           1, limits);
  EXPECT_THAT(textsOf(answers), ElementsAre("a part", "TooManyRequests"));
}

// Becomes the parent of processes whose parent has ended.
struct Subreaper {
  Subreaper() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
  ~Subreaper() { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }
};

// Two copies that hang, and their ids once they run.
struct Hanging {
  SharedMemory<std::array<std::atomic<pid_t>, 2>> ids;
  SharedMemory<std::atomic<pid_t>> parent;  // the template
  std::vector<ForkedAnswer> start() {
    const auto hangAs = [this](std::size_t i) {
      *parent.value = ::getppid();
      (*ids.value)[i] = ::getpid();
      hang();
    };
    return forkedAll({[=] { hangAs(0); }, [=] { hangAs(1); }}, 2);
  }
  void awaitBegin() {
    for (const auto& id : *ids.value)
      while (id == 0) ::sched_yield();
  }
  // Waits for the end of all children; true if no copy is left.
  bool haveEnded() {
    while (::wait(nullptr) > 0) {
    }
    return ::kill((*ids.value)[0], 0) != 0 && ::kill((*ids.value)[1], 0) != 0 &&
           ::kill(*parent.value, 0) != 0;
  }
};

TEST(Forked, the_template_and_its_copies_end_when_the_scheduler_is_killed) {
  const Subreaper subreaper;
  Hanging hanging;
  const pid_t scheduler = ::fork();
  if (scheduler == 0) {
    const auto answers = hanging.start();
    hang();
  }
  hanging.awaitBegin();
  ::kill(scheduler, SIGKILL);
  EXPECT_TRUE(hanging.haveEnded());
}

TEST(Forked, the_copies_end_when_the_template_is_killed) {
  const Subreaper subreaper;
  Hanging hanging;
  auto answers = hanging.start();
  hanging.awaitBegin();
  ::kill(*hanging.parent.value, SIGKILL);
  EXPECT_THAT(textsOf(answers), ElementsAre("Timeout", "Timeout")) << "as if memory were short";
  EXPECT_TRUE(hanging.haveEnded());
}

TEST(Forked, a_thousand_questions_leave_neither_files_nor_processes) {
  const Subreaper subreaper;  // what copies leave would come here
  const auto files = [] {
    const std::filesystem::directory_iterator folder("/proc/self/fd");
    return std::distance(begin(folder), end(folder));
  };
  const auto before = files();
  for (int round = 0; round < 200; ++round) {
    auto answers = forkedAll({[] { ChildSide::finish("a"); }, hang, [] { ChildSide::finish("c"); },
                              [] { ::_exit(1); }, [] { ChildSide::finish("e"); }},
                             3);
    EXPECT_EQ(answers[round % 2 == 0 ? 0 : 2].wait(gNotCancelled).value_or("none"),
              round % 2 == 0 ? "a" : "c");
  }
  EXPECT_EQ(files(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace koord::scheduler::oracle::testing
