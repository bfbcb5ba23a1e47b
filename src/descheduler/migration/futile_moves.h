#pragma once

// Delays the repetition of failed migrations: a Reservation that is not scheduled occupies a job
// until its TTL, and the next one would not do better. After such a job there is a pause as long as
// its TTL: for the same pod, if no node had enough free resources; for all pods, if Reservations
// were not handled at all, because koord-scheduler does not run, or without its plugin Reservation.
// Nodes that were predicted but could not take the Reservation are also avoided: Reservations have
// additional rules that predictions for pods do not check. Derived from the existing jobs.

#include <set>
#include <string>

#include "api/pod.h"
#include "descheduler/migration/jobs.h"

namespace koord::descheduler {

class FutileMoves {
 public:
  explicit FutileMoves(const Jobs& jobs) : jobs_(jobs) {}

  // A Jobs::Observer.
  void changed(const JobPtr& before, const JobPtr& after);
  // Why the pod should not be migrated now; "" if it may be.
  std::string refusal(const api::Pod& pod, WallTime now) const;
  // Predicted nodes that then could not take the Reservation, while their jobs exist.
  std::set<std::string> failedPredictions() const;
  // What a timed-out job has waited for, as text; "" if unknown.
  static std::string waitTarget(const api::PodMigrationJob& job,
                                const api::PodMigrationJobStatus& status);

 private:
  struct FailedMove {
    std::string job;
    WallTime end{};
    Duration took{};
  };
  const Jobs& jobs_;
  FailedMove unseen_;  // the last job whose Reservation was not handled
  WallTime seenAt_{};  // when a Reservation was last handled
};

}  // namespace koord::descheduler
