#pragma once

// Admits pods against what their quota has left, and writes down what it admitted.
//
// The limit is the annotation `admission`, or spec.max; what is taken is the annotation
// `child-request`, which the scheduler corrects from the pods that really exist. Requests for one
// quota that arrive while it is being written wait and are judged together, in the order of their
// arrival: one write per batch, however many pods come at once. A write is conditional on the
// version that was judged; when somebody else wrote in between, the quota is read and the batch is
// judged again.
//
// A batch costs one read and one write of the quota. Nobody waits longer than ten seconds.

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

  // An error when the pod is refused (Invalid) or nobody can say (others). onlyAsked: the answer that it
  // would get now, and nothing is taken.
  Task<Result<>> evaluate(api::ObjectKey quota, api::ResourceList request, bool onlyAsked);

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
  std::map<api::ObjectKey, Batch> waiting_;  // an entry for each quota that is being worked on
  TaskGroup tasks_;
};

// How often the write of a batch that changed the quota for n pods is tried again.
int retriesForBatch(std::size_t pods, int maxRetries);

}  // namespace koord::manager
