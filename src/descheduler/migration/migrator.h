#pragma once

// Migrator: creates the jobs that move a pod. First it checks that the pod and its gang may move,
// that no limit forbids it now, and that there is a place for each of them that is neither its
// present node nor a node that pods of its workload left recently. If the pods move for another
// one, a node must accept that one afterwards. Otherwise it creates nothing and returns the reason.

#include <span>

#include "descheduler/framework/plugin.h"
#include "descheduler/migration/arrival_limit.h"
#include "descheduler/migration/budgets.h"
#include "descheduler/migration/futile_moves.h"
#include "descheduler/migration/gangs.h"
#include "descheduler/migration/gates.h"
#include "descheduler/migration/job_metrics.h"
#include "descheduler/migration/landing.h"
#include "descheduler/migration/object_limiter.h"
#include "descheduler/migration/writer.h"

namespace koord::descheduler {

class Migrator {
 public:
  // The dependencies, which must outlive it.
  struct Parts {
    const MigrationControllerArgs& args;
    Handle& handle;
    Jobs& jobs;
    const Gates& gates;
    Workloads& workloads;
    Gangs& gangs;
    const ArrivalLimit& arrivals;
    const FutileMoves& futileMoves;
    JobMetrics& metrics;
    ObjectLimiter& limiter;
    Landing& landing;
  };
  explicit Migrator(const Parts& parts);

  Task<Result<Evicted>> evict(PodPtr pod, EvictOptions options);

  // Returns true if the pod fits another node, by the descheduler's own check.
  bool fitsElsewhere(const Pod& pod) const;

 private:
  struct Plan {
    std::vector<PodPtr> pods;  // the requested one first
    std::vector<std::set<std::string>> avoid;
    std::vector<std::string> landing;  // "" = unknown
    std::string plannedBy;
  };

  std::vector<PodPtr> movingTogether(const PodPtr& pod, const EvictOptions& options) const;
  Task<std::string> refusal(PodPtr pod, std::vector<PodPtr> pods);
  std::string temporaryDenial(const Pod& pod, const Gates::MovingPods& together);
  std::string rateDenial(const std::vector<PodPtr>& pods);
  std::map<std::string, std::int64_t> arriving() const;
  std::string avoidNodes(Plan& plan) const;
  Task<Result<LandingMove>> moveOf(PodPtr pod);
  Task<Result<std::vector<LandingMove>>> movesWith(const Plan* plan);
  std::string takePlaces(std::span<const LandingPlace> places, const std::string& worse,
                         Plan& plan);
  Task<std::string> findPlaces(Plan* plan, const EvictOptions* options);
  Task<std::optional<LandingPlace>> placeOfLast(std::vector<LandingMove> moves);
  Task<std::string> helpRefusal(const LandingMove* waiting);
  Task<std::string> beneficiaryRefusal(const Plan* plan, PodPtr waiting);
  // Why a pod fits no other node, by the descheduler's own check; "" if all fit.
  std::string noTargetReason(const Plan& plan) const;
  Task<Result<std::string>> makeJobs(Plan plan, EvictOptions options);
  json::object jobFor(const Plan& plan, std::size_t i, const EvictOptions& options,
                      const std::string& group) const;
  // True if places are reserved before pods are evicted.
  bool reservesFirst() const { return args_.defaultJobMode == "ReservationFirst"; }
  // The nodes that pods of its workload left recently, and the last time.
  std::map<std::string, WallTime> recentlyLeftNodes(const api::Pod& pod) const;
  // Decided moves that the scheduler does not know yet.
  std::vector<LandingMove> movesInFlight() const;
  void rememberDryRun(const Plan& plan);
  std::string newName() const;

  const MigrationControllerArgs& args_;
  Handle& handle_;
  Jobs& jobs_;
  const Gates& gates_;
  Workloads& workloads_;
  Gangs& gangs_;
  const ArrivalLimit& arrivals_;
  const FutileMoves& futileMoves_;
  JobMetrics& metrics_;
  ObjectLimiter& limiter_;
  Landing& landing_;
  Budgets budgets_;
  JobWriter writer_;
  // A recently planned move of a dry run, which creates no jobs. The next plans must not use the
  // same resources.
  struct DryMove {
    SteadyTime at{};
    LandingMove move;
    std::string landing;
  };
  std::map<std::string, DryMove> dryMoves_;  // by pod uid
};

}  // namespace koord::descheduler
