#pragma once

// The workload of a pod: its desired replicas and its pods.
//
// Deployments, ReplicaSets and StatefulSets are watched. Any other kind (Jobs,
// ReplicationControllers, OpenKruise's kinds, any kind with a scale) is read from the API on first
// use and cached for a minute; until then the workload is unknown. The replicas of a Job are its
// parallelism.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "api/migration.h"
#include "api/workloads.h"
#include "descheduler/framework/handle.h"

namespace koord::descheduler {

class Workloads {
 public:
  explicit Workloads(Handle& handle);

  enum class State {
    None,  // the pod has no controller
    Known,
    Gone,     // its controller has been deleted
    Unknown,  // not known yet, or not at all: `why`
  };
  struct Workload {
    State state = State::None;
    std::int64_t replicas = 0;
    std::string key;  // uid of the top controller: the Deployment, not the ReplicaSet
    std::vector<std::string> owners;           // controller uids of its pods
    std::optional<api::LabelSelector> labels;  // of a Deployment
    std::string why;
  };

  void start();
  Workload of(const api::Pod& pod);
  // Reads kinds that are not watched, so that of() knows them afterwards.
  Task<void> prepare(PodPtr pod);
  // All pods of the workload; empty for a pod without a controller.
  std::vector<PodPtr> podsOf(const Workload& workload) const;
  // The uids of its pods that are not active and Ready; cached until a pod changes.
  const std::set<std::string>& unavailableOf(const Workload& workload);

 private:
  struct Read {
    Workload workload;
    SteadyTime at{};
    bool asking = false;
  };
  static constexpr Duration kKept = std::chrono::minutes(1);

  Workload ofWatched(const api::Pod& pod, const api::OwnerReference& owner) const;
  Workload ofRead(const api::Pod& pod, const api::OwnerReference& owner);
  Task<void> ask(std::string namespace_, api::OwnerReference owner);
  Task<Result<Workload>> read(std::string namespace_, api::OwnerReference owner);
  static bool watched(const api::OwnerReference& owner);

  Handle& handle_;
  kube::Informer<api::Deployment>& deployments_;
  kube::Informer<api::ReplicaSet>& replicaSets_;
  kube::Informer<api::StatefulSet>& statefulSets_;
  std::unordered_map<std::string, std::set<std::string>>
      replicaSetsOf_;                                                   // by uid of the Deployment
  std::map<std::string, Read> read_;                                    // by uid
  std::unordered_map<std::string, std::set<std::string>> unavailable_;  // by workload; uids
  TaskGroup tasks_;
};

}  // namespace koord::descheduler
