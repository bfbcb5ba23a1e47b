#pragma once

// Evicts pods of this node until the amounts that the strategies need are released. It kills their
// containers through the container runtime, which frees memory at once: neither a disruption budget
// nor a grace period delays it on a node that is about to run out. Without a runtime, or with
// only-evict-by-api, it evicts pods through the Eviction API.
//
// An evicted pod is remembered, so that its amounts count as released and it is not evicted twice:
// for two minutes after an eviction, which takes the grace period, and for ten seconds after a
// kill, because kubelet may start its containers again.

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

// What a task counts: usage or requests of pods. Tasks of the same kind share the released amounts.
enum class ReleaseKind { Used, Requested };

struct EvictionCandidate {
  std::shared_ptr<const api::Pod> pod;
  Amounts releases;
};
struct EvictionTask {
  std::string feature;  // "BEMemoryEvict"
  std::string why;      // for the audit: "memory at 78%, threshold 70%"
  ReleaseKind kind = ReleaseKind::Used;
  std::vector<EvictionCandidate> candidates;  // in the order of eviction
  Amounts toRelease;
};
struct EvictionResult {
  std::vector<std::string> evicted;  // namespace/name, newly evicted
  std::vector<std::string> refused;  // "namespace/name: reason"
  // A refused eviction is an attempt as well: its cause (a disruption budget) changes slower than
  // once a second.
  bool attempted() const { return !evicted.empty() || !refused.empty(); }
  // Writes the result into a strategy's status: appends to `reason`, and sets `lastEviction` if a
  // pod was evicted.
  void reportInto(WallTime now, std::string& lastEviction, std::string& reason) const;
};

// What the victims of a round of tasks release. A pod counts for every task of a kind that lists
// it, with the largest amount of these tasks.
class ReleaseAccount {
 public:
  explicit ReleaseAccount(const std::vector<EvictionTask>& tasks);
  // True if the task needs no further victims.
  bool covers(const EvictionTask& task) const;
  void release(const api::Pod& pod);

 private:
  std::map<ReleaseKind, std::map<std::string, Amounts>> contributions_;  // by uid
  std::map<ReleaseKind, Amounts> released_;
};

class Evictor {
 public:
  // `runtime` may be null: then all evictions go through the API.
  Evictor(kube::Api& api, Executor& executor, kube::EventRecorder& events, AuditRing& audit,
          Metrics& metrics, ContainerRuntime* runtime = nullptr);

  // For each task, evicts candidates in order until all amounts of the task are released. Skips a
  // pod that the API refuses to evict.
  Task<EvictionResult> evict(std::vector<EvictionTask> tasks);

 private:
  Task<Result<>> evictOne(std::shared_ptr<const api::Pod> pod, const EvictionTask& task);
  // Ids of the pod's running containers, as in pod status. The status from kubelet is seconds old;
  // if containers are missing there, the runtime is asked.
  Task<std::vector<std::string>> runningContainers(std::shared_ptr<const api::Pod> pod);
  // Kills the pod's containers; an error if none could be killed, so that nothing is released.
  Task<Result<>> kill(std::shared_ptr<const api::Pod> pod);
  void reportAttempt(const api::Pod& pod, const EvictionTask& task, const Result<>& outcome,
                     bool killed);

  kube::Api& api_;
  Executor& executor_;
  kube::EventRecorder& events_;
  AuditRing& audit_;
  Metrics& metrics_;
  ContainerRuntime* runtime_;
  std::unordered_map<std::string, SteadyTime> remembered_;  // by uid: when the entry expires
};

// Returns true if the pod's annotation koordinator.sh/eviction-policy, a list of features, allows
// the feature to evict it. Without the annotation all may; with a malformed one none.
bool allowsEviction(const api::Pod& pod, std::string_view feature);

}  // namespace koord::koordlet
