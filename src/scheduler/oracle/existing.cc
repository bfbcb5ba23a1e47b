#include "scheduler/oracle/existing.h"

#include "api/services.h"
#include "scheduler/framework/object_kinds.h"
#include "scheduler/oracle/expand.h"

namespace koord::scheduler::oracle {

namespace {

api::ObjectKey keyOf(const QuestionObject& object) {
  return {namespaceOf(object), std::string(textAt(object.document, "metadata", "name"))};
}

bool contains(Stores& stores, Workload workload, const api::ObjectKey& key) {
  switch (workload) {
    case Workload::ReplicaSet:
      return stores.of<api::ReplicaSetSelection>().get(key) != nullptr;
    case Workload::ReplicationController:
      return stores.of<api::ReplicationControllerSelection>().get(key) != nullptr;
    case Workload::StatefulSet:
      return stores.of<api::StatefulSetSelection>().get(key) != nullptr;
    default:
      return false;
  }
}

}  // namespace

ExistingWorkloads::ExistingWorkloads(const Question& question, Scheduler& scheduler) {
  std::map<api::ObjectKey, std::string> deployments;  // paths
  for (const QuestionObject& object : question.objects) {
    const Workload workload = workloadOf(object);
    if (workload == Workload::Deployment) {
      deployments.emplace(keyOf(object), object.path);
    } else if (contains(scheduler.stores(), workload, keyOf(object))) {
      workloads_.emplace(Owner(object.kind, keyOf(object)), object.path);
    }
  }
  if (!deployments.empty()) {
    for (const auto& [key, set] : scheduler.stores().of<api::ReplicaSetSelection>().all()) {
      const auto* owner = api::controllerOf(set->metadata);
      if (!owner || owner->kind != "Deployment") continue;
      const auto found = deployments.find({key.namespace_, owner->name});
      if (found != deployments.end()) workloads_.emplace(Owner("ReplicaSet", key), found->second);
    }
  }
  for (const auto& [owner, path] : workloads_) pods_.emplace(path, 0);
  if (!workloads_.empty()) countPods(scheduler);
}

void ExistingWorkloads::countPods(const Scheduler& scheduler) {
  for (const auto& record : scheduler.cluster().pods()) count(*record.info->pod);
  for (const auto& [uid, pod] : scheduler.pendingPods())
    if (!scheduler.cluster().findPod(uid)) count(*pod->pod);
}

void ExistingWorkloads::count(const api::Pod& pod) {
  const auto* owner = api::controllerOf(pod.metadata);
  if (!owner || pod.metadata.deletionTimestamp) return;
  const auto found = workloads_.find({owner->kind, {pod.metadata.namespace_, owner->name}});
  if (found != workloads_.end()) ++pods_[found->second];
}

std::optional<std::uint64_t> ExistingWorkloads::podsOf(const QuestionObject& object) const {
  const auto found = pods_.find(object.path);
  if (found == pods_.end()) return std::nullopt;
  return found->second;
}

}  // namespace koord::scheduler::oracle
