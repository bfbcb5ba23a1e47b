#pragma once

// Migrator: from "this pod should go" to the jobs that move it. Looks first: the pod and its gang must be allowed to
// move, nothing that is known must forbid it now, and there must be a place for each of them that is not the one they
// leave, nor one that pods of their workload left lately. Otherwise nothing is made, and the answer says why.

#include <span>

#include "descheduler/framework/plugin.h"
#include "descheduler/migration/arrival_limit.h"
#include "descheduler/migration/budgets.h"
#include "descheduler/migration/futility.h"
#include "descheduler/migration/gangs.h"
#include "descheduler/migration/gates.h"
#include "descheduler/migration/job_metrics.h"
#include "descheduler/migration/landing.h"
#include "descheduler/migration/object_limiter.h"
#include "descheduler/migration/writer.h"

namespace koord::descheduler {

class Migrator {
 public:
  // What it works with. All of it must outlive it.
  struct Parts {
    const MigrationControllerArgs& args;
    Handle& handle;
    Jobs& jobs;
    const Gates& gates;
    Workloads& workloads;
    Gangs& gangs;
    const ArrivalLimit& arrivals;
    const Futility& futility;
    JobMetrics& metrics;
    ObjectLimiter& limiter;
    Landing& landing;
  };
  explicit Migrator(const Parts& parts);

  Task<Result<Evicted>> evict(PodPtr pod, EvictOptions options);

  // Whether the pod fits some other node, by what can be seen from here.
  bool fitsElsewhere(const Pod& pod) const;

 private:
  struct Plan {
    std::vector<PodPtr> pods;  // the one that was asked for first
    std::vector<std::set<std::string>> avoid;
    std::vector<std::string> landing;  // "" = not known
    std::string plannedBy;
  };

  Task<std::string> refusal(PodPtr pod, std::vector<PodPtr> pods);
  std::string notNow(const Pod& pod, const Gates::Together& together);
  std::map<std::string, std::int64_t> arriving() const;
  std::string avoidNodes(Plan& plan) const;
  Task<Result<std::vector<LandingMove>>> movesWith(const Plan* plan);
  std::string takePlaces(std::span<const LandingPlace> places, const std::string& worse,
                         Plan& plan);
  Task<std::string> findPlaces(Plan* plan, const EvictOptions* options);
  // As far as can be seen from here.
  std::string nowhereElse(const Plan& plan) const;
  Task<Result<std::string>> makeJobs(Plan plan, EvictOptions options);
  json::object jobFor(const Plan& plan, std::size_t i, const EvictOptions& options,
                      const std::string& group) const;
  // Evicted pods have their places held first.
  bool holdsPlaces() const { return args_.defaultJobMode == "ReservationFirst"; }
  // Nodes that pods of its workload left lately, and when the last one did.
  std::map<std::string, WallTime> leftLately(const api::Pod& pod) const;
  // Moves that are decided, and that the scheduler does not know of yet.
  std::vector<LandingMove> movesUnderWay() const;
  void rememberDryRun(const Plan& plan);
  std::string newName() const;

  const MigrationControllerArgs& args_;
  Handle& handle_;
  Jobs& jobs_;
  const Gates& gates_;
  Workloads& workloads_;
  Gangs& gangs_;
  const ArrivalLimit& arrivals_;
  const Futility& futility_;
  JobMetrics& metrics_;
  ObjectLimiter& limiter_;
  Landing& landing_;
  Budgets budgets_;
  JobWriter writer_;
  // Of dry runs, which leave no jobs: what was planned lately, so that the next one finds the rest only.
  struct DryMove {
    SteadyTime at{};
    LandingMove move;
    std::string landing;
  };
  std::map<std::string, DryMove> dryMoves_;  // by uid of the pod
};

}  // namespace koord::descheduler
