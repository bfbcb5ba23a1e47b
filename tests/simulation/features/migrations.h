#pragma once

// Migration of pods by koord-descheduler: LowNodeLoad and the MigrationController, with koord-scheduler asked
// where pods would land. Workloads whose pods come back, load that follows the pods, budgets, jobs made by
// hand; the descheduler dies and comes back like the schedulers.
//
// Checked: a pod is only evicted for a job that is about it, by uid, once, and where a place is to be held for
// it first, when that is there, on another node; no limit on pods that move is exceeded; no budget is broken;
// what left a node does not come back to it soon; jobs are over when their time is; when all is quiet nothing
// moves any more, no job is open and no room is held for pods that came or will not come.

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
  // What watches did not bring for ten minutes nodes may still have to be relieved for. And pods that wait take the
  // place of those that come back for ever, where what preempts them does not get what they leave (a NUMA node).
  bool calm() override;
  std::string differences(scheduler::Handle& handle, const Model& model) override;

 private:
  using Job = api::PodMigrationJob;
  using JobPtr = std::shared_ptr<const Job>;
  using SetPtr = std::shared_ptr<const api::ReplicaSet>;

  // migrations.cc: what goes on
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
  // Pods of the set that are there to stay.
  std::vector<PodObject> podsOf(const api::ReplicaSet& set) const;
  bool holdsRoom() const;  // there are Reservations

  // migration_rules.cc: what must hold
  void jobChanged(const JobPtr& before, const JobPtr& after);
  void checkLimits();
  void checkReturn(const Job& job);
  // A request of the descheduler reaches the server.
  void asked(const net::ServerRequest& request);
  void evicting(const api::ObjectKey& key, const std::string& uid);
  void checkRoom(const Job& job, const api::Pod& pod);
  void podChanged(const PodObject& before, const PodObject& after);
  void checkBudgets(const api::Pod& pod);
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
  bool calm_ = false;  // what is lost does not come back

  struct Known {
    SteadyTime since{};
    std::optional<SteadyTime> over;
    std::string workload, from;
    bool moved = false;  // and well
  };
  std::map<std::string, Known> known_;  // jobs that ever were, by uid
  SteadyTime lastJobMade_{};
  std::map<std::string, std::string> evicted_;     // by the pod's uid, the job
  std::map<std::string, SteadyTime> lastAsked_;    // to evict, by the pod's uid
  std::map<std::string, SteadyTime> roomChanged_;  // of Reservations, by name
  struct Loss {
    SteadyTime time{};
    PodObject pod;
  };
  std::vector<Loss> losses_;  // of pods that ran
};

}  // namespace koord::simulation
