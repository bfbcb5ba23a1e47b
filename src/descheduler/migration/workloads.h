#pragma once

// What a pod belongs to: how many replicas its workload is to have, and which pods these are.
//
// Deployments, ReplicaSets and StatefulSets are watched. Any other kind (Jobs, ReplicationControllers, those of
// OpenKruise, any that has a scale) is read from the API when it is first asked for and kept for a minute;
// until the answer is there the workload is not known yet. Jobs count with their parallelism.

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
    Gone,     // its controller is not there any more
    Unknown,  // nobody could say yet, or at all: `why`
  };
  struct Workload {
    State state = State::None;
    std::int64_t replicas = 0;
    std::string key;  // uid of the one that counts: of the Deployment, not the ReplicaSet
    std::vector<std::string> owners;           // uids that its pods name as controller
    std::optional<api::LabelSelector> labels;  // of a Deployment
    std::string why;
  };

  void start();
  Workload of(const api::Pod& pod);
  // Reads what is not watched, so that of() has an answer afterwards.
  Task<void> prepare(PodPtr pod);
  // All pods of the workload; of a pod without a controller, nobody.
  std::vector<PodPtr> podsOf(const Workload& workload) const;
  // Of these, how many are not active and Ready; kept until some pod changes.
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
