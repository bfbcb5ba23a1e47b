#include "kube/parallel_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/virtual_loop.h"

namespace koord::kube {
namespace {

using namespace std::chrono_literals;

class ParallelQueueTest : public ::testing::Test {
 protected:
  Task<Result<>> work(std::string key) {
    EXPECT_EQ(++running_[key], 1) << key << " is processed twice at the same time";
    most_ = std::max(most_, ++all_);
    ++runs_[key];
    auto pause = sleepFor(loop_, 1s);
    co_await pause;
    --running_[key];
    --all_;
    if (failures_[key]-- > 0) co_return fail(ErrorCode::Internal, "not yet");
    co_return Result<>{};
  }
  void addKeys() {
    for (int i = 0; i < 100; ++i) queue_.add("key-" + std::to_string(i));
  }

  VirtualLoop loop_;
  std::map<std::string, int> running_, runs_, failures_;
  int all_ = 0, most_ = 0;
  ParallelQueue queue_{loop_, "test", [this](std::string key) { return work(std::move(key)); }, 10};
};

TEST_F(ParallelQueueTest, WorkersProcessDifferentKeysAtTheSameTime) {
  addKeys();
  loop_.advance(10s);
  EXPECT_TRUE(runs_.empty()) << "nothing runs before start";
  queue_.start();
  loop_.advance(1ms);
  EXPECT_GT(all_, 5);
  loop_.advance(100s);
  EXPECT_EQ(runs_.size(), 100u);
  EXPECT_EQ(most_, 10);
}

TEST_F(ParallelQueueTest, AKeyAddedWhileItIsProcessedRunsAgainAfterwards) {
  queue_.start();
  addKeys();
  loop_.advance(500ms);
  addKeys();
  loop_.advance(200s);
  for (const auto& [key, runs] : runs_) EXPECT_LE(runs, 2) << key;
  EXPECT_TRUE(std::ranges::any_of(runs_, [](const auto& run) { return run.second == 2; }));
  EXPECT_EQ(all_, 0);
}

TEST_F(ParallelQueueTest, FailedAndDelayedKeysComeBack) {
  failures_["a"] = 2;
  queue_.start();
  queue_.add("a");
  queue_.addAfter("b", 30s);
  loop_.advance(29s);
  EXPECT_EQ(runs_["a"], 3);
  EXPECT_EQ(runs_["b"], 0);
  loop_.advance(2s);
  EXPECT_EQ(runs_["b"], 1);
}

}  // namespace
}  // namespace koord::kube
