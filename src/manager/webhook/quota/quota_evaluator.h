#pragma once

// Admits pods against the free resources of their quota, and records the admitted requests in the
// quota.
//
// The limit is the annotation `admission`, or spec.max; the used amount is the annotation
// `child-request`, which the scheduler corrects from the existing pods. Requests for one quota that
// arrive while it is being written wait and are evaluated together, in the order of their arrival:
// one write per batch of any number of pods. A write is conditional on the version that was read;
// on a conflict the quota is read and the batch is evaluated again.
//
// A batch costs one read and one write of the quota. A request waits at most ten seconds.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/elasticquota.h"
#include "base/random.h"
#include "kube/api.h"

namespace koord::manager {

class QuotaEvaluator {
 public:
  struct Options {
    int maxRetries = 3;                                 // of a batch's write
    Duration retryJitter{};                             // the most to wait before one
    Duration maxTotalJitter = std::chrono::seconds(1);  // of a batch
  };

  QuotaEvaluator(kube::Api& api, Executor& executor, Random random, Options options)
      : api_(api), executor_(executor), random_(random), options_(options) {}

  // Fails with Invalid if the pod is refused, with another code if the quota could not be
  // evaluated. dryRun: dry run, nothing is charged.
  Task<Result<>> evaluate(api::ObjectKey quota, api::ResourceList request, bool dryRun);

 private:
  struct Waiter;
  using Batch = std::vector<std::shared_ptr<Waiter>>;

  Task<void> work(api::ObjectKey key);
  Task<void> judge(const api::ObjectKey& key, const Batch& batch);
  Task<Result<>> write(const api::ElasticQuota& quota, const api::ResourceList& used);

  kube::Api& api_;
  Executor& executor_;
  Random random_;
  Options options_;
  std::map<api::ObjectKey, Batch> waiting_;  // an entry for each quota in progress
  TaskGroup tasks_;
};

// The number of retries for the write of a batch that charges n pods.
int retriesForBatch(std::size_t pods, int maxRetries);

}  // namespace koord::manager
