#pragma once

// How fast pods of one workload, of one namespace, or of the whole cluster are evicted: a token bucket each, filled
// with as many tokens per span of time as pods of it may migrate. What was spent is what jobs say that they evicted, so a restart does
// not fill the buckets: the controller tells of these again.

#include <map>
#include <optional>
#include <string>

#include "descheduler/migration/args.h"
#include "descheduler/migration/workloads.h"

namespace koord::descheduler {

class ObjectLimiter {
 public:
  ObjectLimiter(const MigrationControllerArgs& args, Executor& executor)
      : args_(args), executor_(executor) {}

  // How long until the pod's workload, namespace and cluster have a token; 0 = they have. The workload is named as
  // for spend(): by what jobs note of it (Workloads::Workload::key), since after a restart they are all that is left.
  Duration wait(const api::Pod& pod, const std::string& workload);
  // A pod of the workload, of so many replicas, was evicted so long ago.
  void spend(const std::string& namespace_, const std::string& workload, std::int64_t replicas,
             Duration ago = {});

 private:
  struct Bucket {
    double tokens = 0;
    double rate = 0;  // per second
    double size = 1;
    SteadyTime at{};  // as of when
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
