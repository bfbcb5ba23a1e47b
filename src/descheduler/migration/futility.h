#pragma once

// What has been tried lately and came to nothing is not tried again at once: a Reservation that nobody placed holds up
// a job for all of its time, and the next one would fare no better. As long as the one before has tried, there
// is no other: of the same pod, where no node had room; of any pod, where nobody looked at Reservations at all, as
// koord-scheduler does not run, or without its plugin Reservation. Nor is a node planned with that was promised in vain: a
// Reservation has rules of its own, which a pod alone does not meet. Derived from the jobs that there are.

#include <set>
#include <string>

#include "api/pod.h"
#include "descheduler/migration/jobs.h"

namespace koord::descheduler {

class Futility {
 public:
  explicit Futility(const Jobs& jobs) : jobs_(jobs) {}

  // As Jobs::Observer.
  void changed(const JobPtr& before, const JobPtr& after);
  // Why the pod is not to be tried now; "" = it may be.
  std::string refusal(const api::Pod& pod, WallTime now) const;
  // Nodes that were said to have room, and then had none for the Reservation, as long as the jobs are there that say so.
  std::set<std::string> brokenPromises() const;
  // Of a job whose time is up: what it has waited for, in words; "" = nothing that there is to say.
  static std::string waitedFor(const api::PodMigrationJob& job,
                               const api::PodMigrationJobStatus& status);

 private:
  struct Try {
    std::string job;
    WallTime end{};
    Duration took{};
  };
  const Jobs& jobs_;
  Try unseen_;         // the last one whose Reservation nobody looked at
  WallTime seenAt_{};  // when somebody last did
};

}  // namespace koord::descheduler
