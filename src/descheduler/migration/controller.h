#pragma once

// MigrationController: the evict and filter plugin that moves pods by PodMigrationJobs, and the
// controller of these jobs. It composes the classes of this folder. One object for all profiles.
//
//   evict   Migrator    looks where the pod would land and makes jobs
//   filter  Gates       whether a pod may move at all, and now
//   jobs    Arbitrator  lets them through as the limits allow
//           Reconciler  carries them out
//           Scavenger   deletes old ones

#include "descheduler/framework/plugin.h"
#include "descheduler/framework/registry.h"
#include "descheduler/migration/arbitrator.h"
#include "descheduler/migration/futile_moves.h"
#include "descheduler/migration/job_metrics.h"
#include "descheduler/migration/migrator.h"
#include "descheduler/migration/reconciler.h"
#include "descheduler/migration/scavenger.h"

namespace koord::descheduler {

class MigrationController final : public Plugin, public EvictPlugin, public FilterPlugin {
 public:
  static constexpr std::string_view kName = "MigrationController";
  // landing: nullptr = koord-scheduler's predictions.
  MigrationController(Handle& handle, MigrationControllerArgs args,
                      std::unique_ptr<Landing> landing = nullptr);
  ~MigrationController() override;

  std::string_view name() const override { return kName; }
  Result<> start() override;
  Task<Result<Evicted>> evict(PodPtr pod, EvictOptions options) override;
  bool evicting(const Pod& pod) const override;
  bool movesPodsOf(std::string_view plugin) const override;
  std::vector<PastEviction> evictedSince(WallTime since) const override;
  bool filter(const Pod& pod) override;
  bool preEvictionFilter(const Pod& pod) override;
  // Why the pod may not be evicted now; "" if it may.
  std::string refusal(const Pod& pod) const;

  const Jobs& jobs() const { return jobs_; }

 private:
  Result<> resolvePriority();
  void rememberEvictions();

  Handle& handle_;
  MigrationControllerArgs args_;
  Jobs jobs_;
  Workloads workloads_;
  Gangs gangs_;
  Gates gates_;
  ArrivalLimit arrivals_;
  FutileMoves futileMoves_;
  JobMetrics metrics_;
  ObjectLimiter limiter_;
  std::unique_ptr<Landing> landing_;
  Migrator migrator_;
  Reconciler reconciler_;
  Arbitrator arbitrator_;
  Scavenger scavenger_;
};

// For the table of plugins.
PluginKind migrationControllerKind();

}  // namespace koord::descheduler
