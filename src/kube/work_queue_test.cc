#include "kube/work_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/virtual_loop.h"

namespace koord::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class WorkQueueTest : public ::testing::Test {
 protected:
  Task<Result<>> work(std::string key) {
    started_.push_back(key);
    auto pause = sleepFor(loop_, 1s);
    co_await pause;
    if (key == odd_ && std::exchange(odd_, "") != "") throw std::out_of_range("odd");
    if (failures_[key]-- > 0) co_return fail(ErrorCode::Internal, "not yet");
    co_return Result<>{};
  }

  VirtualLoop loop_;
  std::vector<std::string> started_;
  std::map<std::string, int> failures_;
  std::string odd_;  // the work for this key throws, once
  WorkQueue queue_{loop_, "test", [this](std::string key) { return work(std::move(key)); }};
};

TEST_F(WorkQueueTest, KeysWaitOnceAndRunInOrderAfterStart) {
  queue_.add("a");
  queue_.add("b");
  queue_.add("a");
  loop_.advance(10s);
  EXPECT_TRUE(started_.empty());
  queue_.start();
  loop_.advance(10s);
  EXPECT_THAT(started_, ElementsAre("a", "b"));
}

TEST_F(WorkQueueTest, AKeyAddedWhileItIsWorkedOnRunsAgainAfterwards) {
  queue_.start();
  queue_.add("a");
  loop_.advance(500ms);
  queue_.add("a");
  queue_.add("a");
  loop_.advance(300ms);
  EXPECT_THAT(started_, ElementsAre("a"));
  loop_.advance(5s);
  EXPECT_THAT(started_, ElementsAre("a", "a"));
}

TEST_F(WorkQueueTest, AKeyWhoseWorkThrowsComesBackAndTheOthersAreWorkedOn) {
  odd_ = "a";
  queue_.start();
  queue_.add("a");
  queue_.add("b");
  loop_.advance(3s);
  EXPECT_THAT(started_, ElementsAre("a", "b", "a"));
}

TEST_F(WorkQueueTest, FailuresComeBackWithGrowingDelaysUntilTheySucceed) {
  failures_["a"] = 3;
  queue_.start();
  queue_.add("a");
  loop_.advance(3s + 1ms);
  EXPECT_EQ(started_.size(), 3u);
  loop_.advance(10s);
  EXPECT_EQ(started_.size(), 4u);
}

TEST_F(WorkQueueTest, ADelayedKeyRunsWhenItIsDue) {
  queue_.start();
  queue_.addAfter("a", 30s);
  loop_.advance(29s);
  EXPECT_TRUE(started_.empty());
  loop_.advance(2s);
  EXPECT_THAT(started_, ElementsAre("a"));
}

class WorkQueueOfSeveralTest : public ::testing::Test {
 protected:
  Task<Result<>> work(std::string key) {
    EXPECT_EQ(++running_[key], 1) << key << " is processed twice at the same time";
    most_ = std::max(most_, ++all_);
    started_.push_back(key);
    auto pause = sleepFor(loop_, 1s);
    co_await pause;
    --running_[key];
    --all_;
    if (failures_[key]-- > 0) co_return fail(ErrorCode::Internal, "not yet");
    co_return Result<>{};
  }
  void addKeys(int count) {
    for (int i = 0; i < count; ++i) queue_.add(std::to_string(i));
  }

  VirtualLoop loop_;
  std::vector<std::string> started_;
  std::map<std::string, int> running_, failures_;
  int all_ = 0, most_ = 0;
  WorkQueue queue_{loop_, "test", [this](std::string key) { return work(std::move(key)); }, 3};
};

TEST_F(WorkQueueOfSeveralTest, AsManyKeysAsThereAreWorkersAreProcessedAtTheSameTime) {
  addKeys(4);
  loop_.advance(10s);
  EXPECT_THAT(started_, IsEmpty()) << "nothing runs before start";
  queue_.start();
  loop_.advance(1ms);
  EXPECT_THAT(started_, ElementsAre("0", "1", "2"));
  loop_.advance(1s);
  EXPECT_THAT(started_, ElementsAre("0", "1", "2", "3"));
  loop_.advance(10s);
  addKeys(30);
  EXPECT_EQ(queue_.depth(), 30u);
  loop_.advance(10s + 1ms);
  EXPECT_EQ(started_.size(), 34u);
  EXPECT_EQ(most_, 3);
}

TEST_F(WorkQueueOfSeveralTest, AKeyAddedWhileItIsProcessedRunsAgainAfterwards) {
  queue_.start();
  addKeys(2);
  loop_.advance(500ms);
  addKeys(2);
  addKeys(2);
  EXPECT_EQ(queue_.depth(), 0u);
  loop_.advance(300ms);
  EXPECT_THAT(started_, ElementsAre("0", "1"));
  loop_.advance(5s);
  EXPECT_THAT(started_, ElementsAre("0", "1", "0", "1"));
}

TEST_F(WorkQueueOfSeveralTest, AFailedKeyWaitsForItsBackoffAndTheOthersDoNot) {
  failures_["0"] = 1;
  queue_.start();
  addKeys(3);
  loop_.advance(1s + 1ms);
  queue_.add("3");
  loop_.advance(100ms);
  EXPECT_THAT(started_, ElementsAre("0", "1", "2", "3", "0"));
}

}  // namespace
}  // namespace koord::kube
