#pragma once

// JobQueue: the batch jobs that have no node.
//
// Jobs have bounded Pareto lengths, and there is no end of them. Where the arm has mid resources,
// jobs of `longJobMinutes` and more are a class of their own. A part of a bounded Pareto
// distribution is one, too, so each class draws its lengths directly. `backlog` jobs of each class
// wait at any time: jobs that wait for one resource do not keep others from another.
//
// Equal seeds yield equal lists of jobs, whatever the cluster does with them.

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/random.h"
#include "koordctl/colocation/site.h"

namespace koord::koordctl::colocation {

struct Job {
  bool mid = false;  // requests mid resources
  double cores = 0;
  double memoryGib = 0;      // requested
  double memoryUsedGib = 0;  // while it runs
  double coreSeconds = 0;    // of work
  double minutes = 0;        // if it always has its CPUs
};

class JobQueue {
 public:
  // longJobsAreMid: the arm has mid resources. The references must outlive it.
  JobQueue(const Parameters& parameters, const std::vector<JobShape>& shapes, bool longJobsAreMid,
           Random random);

  // The next job to submit; nullopt if the backlogs are full. Killed jobs of a class go first.
  std::optional<Job> next();
  // The job got a node.
  void started(const Job& job) { --classOf(job).waiting; }
  // The job lost its node: it begins again.
  void killed(const Job& job) { classOf(job).killed.push_front(job); }

 private:
  struct Class {
    bool mid;
    double shortest, longest;  // minutes
    Random random;
    std::deque<Job> killed = {};
    std::size_t waiting = 0;  // submitted, without a node
  };
  Class& classOf(const Job& job);
  Job draw(Class& of) const;

  const Parameters& parameters_;
  const std::vector<JobShape>& shapes_;
  std::vector<Class> classes_;
};

}  // namespace koord::koordctl::colocation
