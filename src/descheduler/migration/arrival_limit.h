#pragma once

// How many pods may be on their way to one node at a time (maxArrivingPerNode): a node that takes many at once is busy
// with pulling their images and starting them, and its load is not known before they run. Upstream counts only
// those that leave a node. Nothing is remembered: who is on his way is what jobs say.

#include <set>
#include <string>

#include "descheduler/migration/args.h"
#include "descheduler/migration/jobs.h"

namespace koord::descheduler {

class ArrivalLimit {
 public:
  ArrivalLimit(const MigrationControllerArgs& args, const Jobs& jobs) : args_(args), jobs_(jobs) {}

  bool limited() const { return args_.maxArrivingPerNode > 0; }
  // Where the pod of the job is going to be: the node of its Reservation, else the one that was planned; "" = nobody
  // knows yet.
  static std::string_view nodeOf(const api::PodMigrationJob& job);
  // Jobs that are not over, by their nodes.
  std::map<std::string, std::int64_t> underWay() const;
  // Why the job has to wait before its pod is evicted: the pods of so many others were, and those that take their
  // place are not there yet. `starting`: jobs that are about to be among them. "" = it need not wait.
  std::string refusal(const api::PodMigrationJob& job, const std::set<std::string>& starting) const;
  // The same in words, of a node that so many are on their way to.
  std::string words(std::string_view node, std::int64_t count) const;

 private:
  const MigrationControllerArgs& args_;
  const Jobs& jobs_;
};

}  // namespace koord::descheduler
