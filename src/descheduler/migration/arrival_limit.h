#pragma once

// Limits the pods that are on their way to one node at a time (maxArrivingPerNode): a node that
// receives many at once is busy with pulling images and starting them, and its load is unknown
// until they run. Upstream limits only the pods that leave a node. Stateless: the jobs show which
// pods are on their way.

#include <set>
#include <string>

#include "descheduler/migration/args.h"
#include "descheduler/migration/jobs.h"

namespace koord::descheduler {

class ArrivalLimit {
 public:
  ArrivalLimit(const MigrationControllerArgs& args, const Jobs& jobs) : args_(args), jobs_(jobs) {}

  bool limited() const { return args_.maxArrivingPerNode > 0; }
  // The future node of the job's pod: the node of its Reservation, else the planned node; "" if
  // unknown.
  static std::string_view nodeOf(const api::PodMigrationJob& job);
  // The number of unfinished jobs by future node.
  std::map<std::string, std::int64_t> arrivingByNode() const;
  // Why the job must wait before its pod is evicted: the pods of too many other jobs are evicted
  // and their replacements not running yet. `starting`: jobs that are about to evict. "" if it need
  // not wait.
  std::string refusal(const api::PodMigrationJob& job, const std::set<std::string>& starting) const;
  // The message for a node to which so many pods are on their way.
  std::string limitMessage(std::string_view node, std::int64_t count) const;

 private:
  const MigrationControllerArgs& args_;
  const Jobs& jobs_;
};

}  // namespace koord::descheduler
