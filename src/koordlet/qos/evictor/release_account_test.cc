#include <gtest/gtest.h>

#include "koordlet/qos/evictor/evictor.h"

namespace koord::koordlet {
namespace {

std::shared_ptr<const api::Pod> podNamed(const char* uid) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.uid = uid;
  return pod;
}

EvictionTask taskOf(ReleaseKind kind, std::vector<EvictionCandidate> candidates,
                    std::int64_t bytes) {
  return {.feature = "test",
          .why = {},
          .kind = kind,
          .candidates = std::move(candidates),
          .toRelease = {{"memory", bytes}}};
}

TEST(ReleaseAccountTest, a_task_is_covered_once_its_amounts_are_released) {
  const auto a = podNamed("a"), b = podNamed("b");
  const std::vector<EvictionTask> tasks{
      taskOf(ReleaseKind::Used, {{a, {{"memory", 30}}}, {b, {{"memory", 30}}}}, 50)};
  ReleaseAccount account(tasks);
  EXPECT_FALSE(account.covers(tasks[0]));
  account.release(*a);
  EXPECT_FALSE(account.covers(tasks[0]));
  account.release(*b);
  EXPECT_TRUE(account.covers(tasks[0]));
}

TEST(ReleaseAccountTest, tasks_of_one_kind_share_what_a_pod_releases) {
  const auto a = podNamed("a");
  const std::vector<EvictionTask> tasks{taskOf(ReleaseKind::Used, {{a, {{"memory", 30}}}}, 30),
                                        taskOf(ReleaseKind::Used, {{a, {{"memory", 40}}}}, 40),
                                        taskOf(ReleaseKind::Requested, {{a, {}}}, 1)};
  ReleaseAccount account(tasks);
  account.release(*a);
  EXPECT_TRUE(account.covers(tasks[0]));
  EXPECT_TRUE(account.covers(tasks[1])) << "the largest amount of the tasks of its kind";
  EXPECT_FALSE(account.covers(tasks[2])) << "another kind";
}

TEST(ReleaseAccountTest, an_amount_of_zero_is_covered_and_unknown_pods_release_nothing) {
  const std::vector<EvictionTask> tasks{taskOf(ReleaseKind::Used, {}, 0),
                                        taskOf(ReleaseKind::Used, {}, 1)};
  ReleaseAccount account(tasks);
  account.release(*podNamed("unknown"));
  EXPECT_TRUE(account.covers(tasks[0]));
  EXPECT_FALSE(account.covers(tasks[1]));
}

}  // namespace
}  // namespace koord::koordlet
