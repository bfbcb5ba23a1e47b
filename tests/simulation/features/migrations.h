#pragma once

// Migration of pods by koord-descheduler: LowNodeLoad and the MigrationController, with simulations
// by koord-scheduler of where pods would land. There are workloads whose pods are created again,
// load that follows the pods, budgets, and jobs created by users; the descheduler dies and restarts
// like the schedulers.
//
// Checks:
//  - a pod is only evicted for a job that names it, by uid, once, and, if a reservation is required
//    first, when that is available, on another node;
//  - no limit on migrating pods is exceeded;
//  - no budget is violated;
//  - a pod that left a node does not return to it soon;
//  - jobs end at their timeout;
//  - when all is quiet, no pod is migrated, no job is open, and no resources are reserved for pods
//    that arrived or will not arrive.

#include "api/migration.h"
#include "api/slo.h"
#include "api/workloads.h"
#include "simulation/descheduler_process.h"
#include "simulation/feature.h"

namespace koord::simulation {

class MigrationsFeature final : public Feature {
 public:
  MigrationsFeature(const Surroundings& world, Random random);
  void join(scheduler::Registry&) override {}
  std::vector<std::string> plugins() const override { return {}; }
  void begin() override;
  void start() override;
  void act() override;
  void tick() override;
  void quiet() override;
  // If watches lost events for ten minutes, nodes may still have to be relieved. Also, waiting pods
  // replace returning pods indefinitely if the preemptor does not get what its victims leave (a
  // NUMA node).
  bool calm() override;
  std::string differences(scheduler::Handle& handle, const Model& model) override;

 private:
  using Job = api::PodMigrationJob;
  using JobPtr = std::shared_ptr<const Job>;
  using SetPtr = std::shared_ptr<const api::ReplicaSet>;

  // migrations.cc: the events
  void makeProcess();
  void disturb();
  void createSet();
  void changeSet(const api::ReplicaSet& set);
  void createJob();
  void replace(const api::ReplicaSet& set);
  void makeReady();
  void report();
  std::int64_t loadOf(const api::Pod& pod) const;  // milli-CPUs
  std::vector<SetPtr> sortedSets() const;
  // The running pods of the set that are not about to be removed.
  std::vector<PodObject> podsOf(const api::ReplicaSet& set) const;
  bool holdsRoom() const;  // Reservations exist

  // migration_rules.cc: the invariants
  void jobChanged(const JobPtr& before, const JobPtr& after);
  void checkLimits();
  void checkReturn(const Job& job);
  using ResponderPtr = std::shared_ptr<net::Responder>;
  // Called when a request of the descheduler reaches the server. Returns what is to answer it.
  ResponderPtr asked(const net::ServerRequest& request, ResponderPtr to);
  void evicting(const api::ObjectKey& key, const std::string& uid);
  void checkRoom(const Job& job, const api::Pod& pod);
  void podChanged(const PodObject& before, const PodObject& after);
  // The budget that the pod's end violates; "" if there is none.
  std::string brokenBudgets(const api::Pod& pod);
  std::vector<JobPtr> sortedJobs() const;

  const Surroundings world_;
  kube::Informer<Job> jobs_;
  kube::Informer<api::ReplicaSet> sets_;
  kube::Informer<api::Reservation> reservations_;
  std::unique_ptr<DeschedulerProcess> process_;  // from begin() on
  std::map<std::string, std::int64_t> loads_;    // of each pod of a set, by its name; milli-CPUs
  SteadyTime nextReport_{};
  int lastSet_ = 0, lastPod_ = 0, lastJob_ = 0;
  bool quiet_ = false;
  SteadyTime quietSince_{};
  bool calm_ = false;  // lost pods are not created again

  struct Known {
    SteadyTime since{};
    std::optional<SteadyTime> over;
    std::string workload, from;
    bool moved = false;  // successfully
  };
  std::map<std::string, Known> known_;  // all jobs by uid, including deleted ones
  SteadyTime lastJobMade_{};
  std::map<std::string, std::string> evicted_;     // the job, by the pod's uid
  std::map<std::string, SteadyTime> lastAsked_;    // requests to evict, by the pod's uid
  std::set<std::string> granted_;                  // uids of pods whose eviction was granted
  std::map<std::string, SteadyTime> roomChanged_;  // of Reservations, by name
  struct Loss {
    SteadyTime time{};
    PodObject pod;
  };
  std::vector<Loss> losses_;  // of running pods
};

}  // namespace koord::simulation
