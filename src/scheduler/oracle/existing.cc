#include "scheduler/oracle/existing.h"

#include "api/services.h"
#include "scheduler/framework/object_kinds.h"

namespace koord::scheduler::oracle {

namespace {

api::ObjectKey keyOf(const QuestionObject& object) {
  return {namespaceOf(object), std::string(textAt(object.document, "metadata", "name"))};
}

bool hasSet(Stores& stores, Workload workload, const api::ObjectKey& key) {
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

ExistingWorkloads::ExistingWorkloads(const Question& question, Scheduler& scheduler)
    : scheduler_(scheduler) {
  std::map<api::ObjectKey, std::string> deployments;  // paths
  for (const QuestionObject& object : question.objects) {
    const Workload workload = workloadOf(object);
    if (workload == Workload::Deployment) {
      deployments.emplace(keyOf(object), object.path);
    } else if (workload == Workload::Job) {
      if (const auto uid = textAt(object.document, "metadata", "uid"); !uid.empty())
        owners_.emplace(Owner("Job", {namespaceOf(object), std::string(uid)}), object.path);
    } else if (hasSet(scheduler.stores(), workload, keyOf(object))) {
      owners_.emplace(Owner(object.kind, keyOf(object)), object.path);
    }
  }
  if (!deployments.empty()) {
    for (const auto& [key, set] : scheduler.stores().of<api::ReplicaSetSelection>().all()) {
      const auto* owner = api::controllerOf(set->metadata);
      if (!owner || owner->kind != "Deployment") continue;
      const auto found = deployments.find({key.namespace_, owner->name});
      if (found != deployments.end()) owners_.emplace(Owner("ReplicaSet", key), found->second);
    }
  }
  for (const auto& [owner, path] : owners_) paths_.insert(path);
}

PodCounts ExistingWorkloads::countPods() const {
  PodCounts counts;
  for (const std::string& path : paths_) counts.emplace(path, 0);
  const auto count = [&](const api::Pod& pod) {
    const auto* owner = api::controllerOf(pod.metadata);
    if (!owner || pod.metadata.deletionTimestamp) return;
    const std::string& id = owner->kind == "Job" ? owner->uid : owner->name;
    const auto found = owners_.find({owner->kind, {pod.metadata.namespace_, id}});
    if (found != owners_.end()) ++counts[found->second];
  };
  if (paths_.empty()) return counts;
  for (const auto& record : scheduler_.cluster().pods()) count(*record.info->pod);
  for (const auto& [uid, pod] : scheduler_.pendingPods())
    if (!scheduler_.cluster().findPod(uid)) count(*pod->pod);
  return counts;
}

}  // namespace koord::scheduler::oracle
