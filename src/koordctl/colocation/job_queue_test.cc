#include "koordctl/colocation/job_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace koord::koordctl::colocation {
namespace {

const std::vector<JobShape> kShapes{{2, 4}, {4, 8}, {4, 8}, {8, 16}};

std::vector<Job> backlogOf(JobQueue& queue) {
  std::vector<Job> jobs;
  while (const auto job = queue.next()) jobs.push_back(*job);
  return jobs;
}

std::size_t midJobsIn(const std::vector<Job>& jobs) {
  return static_cast<std::size_t>(std::ranges::count(jobs, true, &Job::mid));
}

TEST(ColocationJobQueueTest, jobs_have_bounded_lengths_with_a_heavy_tail) {
  Parameters parameters;
  parameters.backlog = 20'000;
  JobQueue queue(parameters, kShapes, false, Random(1));
  std::vector<double> minutes;
  for (const Job& job : backlogOf(queue)) {
    EXPECT_FALSE(job.mid);
    minutes.push_back(job.minutes);
    EXPECT_NEAR(job.coreSeconds, job.cores * 60 * job.minutes * parameters.jobCpuUse, 1e-6);
  }
  std::ranges::sort(minutes);
  ASSERT_EQ(minutes.size(), 20'000U);
  EXPECT_GE(minutes.front(), parameters.jobMinutes);
  EXPECT_LE(minutes.back(), parameters.jobLongestHours * 60);
  // The median of the bounded Pareto distribution, and the share of the longest tenth.
  EXPECT_NEAR(minutes[10'000], 17.6, 0.5);
  double all = 0, longest = 0;
  for (std::size_t n = 0; n < minutes.size(); ++n) {
    all += minutes[n];
    if (n >= 18'000) longest += minutes[n];
  }
  EXPECT_GT(longest / all, 0.4);
}

TEST(ColocationJobQueueTest, long_jobs_are_a_class_with_its_own_backlog) {
  const Parameters parameters;
  JobQueue queue(parameters, kShapes, true, Random(1));
  const auto jobs = backlogOf(queue);
  EXPECT_EQ(jobs.size(), 40U);
  EXPECT_EQ(midJobsIn(jobs), 20U);
  for (const Job& job : jobs) EXPECT_EQ(job.mid, job.minutes >= parameters.longJobMinutes);
  queue.started(jobs.back());
  const auto next = queue.next();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->mid, jobs.back().mid) << "in place of the job that has started";
  EXPECT_FALSE(queue.next());
}

TEST(ColocationJobQueueTest, a_class_draws_the_same_lengths_as_the_whole_list_has_in_its_range) {
  Parameters parameters;
  parameters.backlog = 20'000;
  JobQueue whole(parameters, kShapes, false, Random(1)),
      split(parameters, kShapes, true, Random(2));
  const auto mean = [&](const std::vector<Job>& jobs, bool isLong) {
    double sum = 0, count = 0;
    for (const Job& job : jobs) {
      if ((job.minutes >= parameters.longJobMinutes) != isLong) continue;
      sum += job.minutes;
      ++count;
    }
    return sum / count;
  };
  const auto one = backlogOf(whole), other = backlogOf(split);
  EXPECT_NEAR(mean(one, false), mean(other, false), 0.5);
  EXPECT_NEAR(mean(one, true), mean(other, true), 6);
}

TEST(ColocationJobQueueTest, a_class_without_possible_lengths_has_no_jobs) {
  Parameters parameters;
  parameters.longJobMinutes = 600;  // the longest job has 480
  JobQueue noneLong(parameters, kShapes, true, Random(1));
  EXPECT_EQ(midJobsIn(backlogOf(noneLong)), 0U);
  parameters.longJobMinutes = 5;  // the shortest has 10
  JobQueue allLong(parameters, kShapes, true, Random(1));
  const auto jobs = backlogOf(allLong);
  EXPECT_EQ(jobs.size(), 20U);
  EXPECT_EQ(midJobsIn(jobs), 20U);
}

TEST(ColocationJobQueueTest, killed_jobs_go_first) {
  Parameters parameters;
  parameters.backlog = 1;
  JobQueue queue(parameters, kShapes, false, Random(1));
  const auto first = queue.next();
  ASSERT_TRUE(first);
  queue.started(*first);
  queue.killed(*first);
  const auto again = queue.next();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->minutes, first->minutes);
}

TEST(ColocationJobQueueTest, equal_seeds_yield_equal_lists_in_whatever_order_classes_start) {
  const Parameters parameters;
  JobQueue one(parameters, kShapes, true, Random(7)), other(parameters, kShapes, true, Random(7));
  const auto jobs = backlogOf(one);
  EXPECT_EQ(backlogOf(other).size(), jobs.size());
  one.started(jobs.front());
  const auto batch = one.next();
  other.started(jobs.back());  // a mid job
  ASSERT_TRUE(other.next());
  other.started(jobs.front());
  const auto same = other.next();
  ASSERT_TRUE(batch && same);
  EXPECT_EQ(batch->minutes, same->minutes);
}

}  // namespace
}  // namespace koord::koordctl::colocation
