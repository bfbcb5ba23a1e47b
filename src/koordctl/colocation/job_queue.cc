#include "koordctl/colocation/job_queue.h"

#include <algorithm>

#include "koordctl/colocation/distributions.h"

namespace koord::koordctl::colocation {

JobQueue::JobQueue(const Parameters& parameters, const std::vector<JobShape>& shapes,
                   bool longJobsAreMid, Random random)
    : parameters_(parameters), shapes_(shapes) {
  const double shortest = parameters.jobMinutes;
  const double longest = std::max(shortest, parameters.jobLongestHours * 60);
  const double limit = parameters.longJobMinutes;
  if (!longJobsAreMid || shortest < limit)
    classes_.push_back(
        {false, shortest, longJobsAreMid ? std::min(longest, limit) : longest, random.fork()});
  if (longJobsAreMid && (longest > limit || shortest >= limit))
    classes_.push_back({true, std::max(shortest, limit), longest, random.fork()});
}

JobQueue::Class& JobQueue::classOf(const Job& job) {
  return *std::ranges::find(classes_, job.mid, &Class::mid);
}

std::optional<Job> JobQueue::next() {
  for (Class& of : classes_) {
    if (of.waiting >= static_cast<std::size_t>(parameters_.backlog)) continue;
    ++of.waiting;
    if (of.killed.empty()) return draw(of);
    const Job job = of.killed.front();
    of.killed.pop_front();
    return job;
  }
  return std::nullopt;
}

Job JobQueue::draw(Class& of) const {
  Job job{.mid = of.mid};
  const JobShape& shape = shapes_[of.random.below(shapes_.size())];
  job.cores = shape.cores;
  job.memoryGib = shape.memoryGib;
  job.memoryUsedGib = job.memoryGib * parameters_.jobMemoryUse;
  job.minutes = boundedPareto(of.random, of.shortest, of.longest, parameters_.jobTail);
  job.coreSeconds = job.minutes * 60 * job.cores * parameters_.jobCpuUse;
  return job;
}

}  // namespace koord::koordctl::colocation
