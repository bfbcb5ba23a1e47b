#pragma once

// Takes from pods of this node what the strategies need back. Containers are killed through the
// runtime, which frees memory now: neither a budget nor a grace period stands in the way of a node
// that is about to run out. Where there is no runtime to talk to, or with only-evict-by-api, pods are
// evicted through the Eviction API.
//
// A pod that was dealt with is remembered, so that what it releases counts and it is not dealt with
// twice: two minutes when it was evicted, which takes its grace period; ten seconds when it was
// killed, since kubelet may start its containers again.

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "koordlet/metrics/metrics.h"
#include "koordlet/resourceexecutor/audit_ring.h"
#include "koordlet/runtime/container_runtime.h"
#include "kube/client.h"
#include "kube/events.h"

namespace koord::koordlet {

using Amounts = std::map<std::string, std::int64_t, std::less<>>;  // by resource name

// What a task counts: what pods use, or what they have requested. Tasks that count the same share
// what was released.
enum class ReleaseKind { Used, Requested };

struct EvictionCandidate {
  std::shared_ptr<const api::Pod> pod;
  Amounts releases;
};
struct EvictionTask {
  std::string feature;  // "BEMemoryEvict"
  std::string why;      // for the audit: "memory at 78%, threshold 70%"
  ReleaseKind kind = ReleaseKind::Used;
  std::vector<EvictionCandidate> candidates;  // first to go first
  Amounts toRelease;
};
struct EvictionResult {
  std::vector<std::string> evicted;  // namespace/name, newly evicted
  std::vector<std::string> refused;  // "namespace/name: reason"
  // A refused eviction is an attempt as well: what refused it (a budget) changes slower than once a
  // second.
  bool attempted() const { return !evicted.empty() || !refused.empty(); }
  // Writes into a strategy's status what came of it: appends to `reason`, sets `lastEviction` when
  // somebody went.
  void tell(WallTime now, std::string& lastEviction, std::string& reason) const;
};

class Evictor {
 public:
  // `runtime` may be null: then everything goes through the API.
  Evictor(kube::Api& api, Executor& executor, kube::EventRecorder& events, AuditRing& audit,
          Metrics& metrics, ContainerRuntime* runtime = nullptr);

  // Task after task, evicts candidates in order until every amount of the task is released. A pod
  // that the API refuses to evict is passed over.
  Task<EvictionResult> evict(std::vector<EvictionTask> tasks);

 private:
  Task<Result<>> evictOne(std::shared_ptr<const api::Pod> pod, const EvictionTask& task);
  // Ids of the pod's containers that run, as in pod status. Kubelet's word for it is seconds old, so the runtime is asked
  // where it does not tell of all of them.
  Task<std::vector<std::string>> runningContainers(std::shared_ptr<const api::Pod> pod);
  // Kills the pod's containers; an error when not one could be, so that nothing is released.
  Task<Result<>> kill(std::shared_ptr<const api::Pod> pod);
  void tell(const api::Pod& pod, const EvictionTask& task, const Result<>& outcome, bool killed);

  kube::Api& api_;
  Executor& executor_;
  kube::EventRecorder& events_;
  AuditRing& audit_;
  Metrics& metrics_;
  ContainerRuntime* runtime_;
  std::unordered_map<std::string, SteadyTime> remembered_;  // by uid: until when
};

// The annotation koordinator.sh/eviction-policy: a list of features that may evict the pod; absent
// allows all, one that cannot be read none.
bool allowsEviction(const api::Pod& pod, std::string_view feature);

}  // namespace koord::koordlet
