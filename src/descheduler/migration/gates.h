#pragma once

// Which pods may move at all, and which may move now. All answers are texts for people; "" = nothing is in the
// way. What is counted are jobs (jobs.h), nothing that is remembered beside them.

#include <string>

#include "descheduler/migration/args.h"
#include "descheduler/migration/jobs.h"
#include "descheduler/migration/workloads.h"

namespace koord::descheduler {

class Gates {
 public:
  Gates(const MigrationControllerArgs& args, Handle& handle, const Jobs& jobs, Workloads& workloads)
      : args_(args), handle_(handle), jobs_(jobs), workloads_(workloads) {}

  // Which jobs stand in the way of another one: all that are not over, or, when a job asks to be let through,
  // those that are through.
  enum class Counting { Open, Passed };
  // The pods that move together with the one in question do not stand in its way.
  using Together = std::set<std::string, std::less<>>;  // uids

  // A job for the pod that is not over.
  std::string otherJob(const api::Pod& pod) const;
  // Nobody makes room for what may come instead.
  std::string wrongScheduler(const api::Pod& pod) const;
  // Will not be true later, either.
  std::string never(const Pod& pod) const;
  // Which limit is reached, by the argument that says it, and the words for it; "" and "": none is.
  struct Denial {
    const char* limit = "";
    std::string why;
  };
  // Limits; they may let the pod go later. A gang moves at once, so limits have to have room for all of it, and those
  // of its workload do not count.
  Denial notNow(const Pod& pod, Counting counting, const Together& together = {}) const;

 private:
  bool counts(const api::PodMigrationJob& job, Counting counting) const;
  bool migrates(const api::Pod& pod, Counting counting) const;
  Denial globalLimit(const Pod& pod, Counting counting, const Together& together) const;
  Denial nodeLimit(const Pod& pod, Counting counting, const Together& together) const;
  Denial namespaceLimit(const Pod& pod, Counting counting, const Together& together) const;
  Denial workloadLimit(const Pod& pod, Counting counting) const;

  const MigrationControllerArgs& args_;
  Handle& handle_;
  const Jobs& jobs_;
  Workloads& workloads_;
};

}  // namespace koord::descheduler
