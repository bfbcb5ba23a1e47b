#pragma once

// Limits the eviction rate of one workload, one namespace and the whole cluster: a token bucket
// each, refilled with the allowed number of tokens per duration. The jobs show the spent tokens, so
// a restart does not refill the buckets: the controller spends them again.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "descheduler/migration/args.h"
#include "descheduler/migration/workloads.h"

namespace koord::descheduler {

class ObjectLimiter {
 public:
  ObjectLimiter(const MigrationControllerArgs& args, Executor& executor)
      : args_(args), executor_(executor) {}

  // The time until the pod's workload, namespace and cluster all have a token; 0 = they have.
  // `workload` is the key in the jobs (Workloads::Workload::key), because after a restart only jobs
  // are left.
  Duration wait(const api::Pod& pod, const std::string& workload);
  // The same for pods that are evicted one after the other.
  struct Eviction {
    PodPtr pod;
    std::string workload;
    std::int64_t replicas = 0;
  };
  Duration waitForAll(const std::vector<Eviction>& evictions) const;
  // Records that a pod of the workload, with so many replicas, was evicted `ago` before now.
  void spend(const std::string& namespace_, const std::string& workload, std::int64_t replicas,
             Duration ago = {});

 private:
  struct Bucket {
    double tokens = 0;
    double rate = 0;  // per second
    double size = 1;
    SteadyTime at{};  // time of `tokens`
    SteadyTime lastUse{};
  };
  Duration waitFor(const std::string& kind, const std::string& key);
  void spendFrom(const std::string& kind, const std::string& key, std::int64_t count, Duration ago);
  static void refill(Bucket& bucket, SteadyTime now);
  void forgetOld();

  const MigrationControllerArgs& args_;
  Executor& executor_;
  std::map<std::pair<std::string, std::string>, Bucket> buckets_;  // by kind and key
};

}  // namespace koord::descheduler
