#pragma once

// ScratchServer: the API server of a simulation. It carries out what users and the scheduler write
// on the scheduler's own objects, and delivers the changes as an informer would: bindings,
// deletions of victims, nominations, annotations, and merge patches of stored kinds. Writes of
// other kinds (events) succeed without effect. It answers no reads.
//
// A victim disappears as soon as it is deleted. Its PodDisruptionBudgets then allow one eviction
// less, as the disruption controller would say; what starts later does not give it back.

#include <map>
#include <string>

#include "kube/api.h"
#include "scheduler/core/scheduler.h"

namespace koord::scheduler::oracle {

class ScratchServer {
 public:
  ScratchServer(Scheduler& scheduler, Executor& executor)
      : scheduler_(scheduler), executor_(executor) {}

  // Carries out a write of the scheduler; the changes come on later turns.
  Result<std::string> answer(const kube::Request& request);

  // --- What users write.
  void createPod(std::shared_ptr<api::Pod> pod);
  void deletePod(const std::string& uid);
  // A pod that has ended by itself: the API reports its deletion, and no budget counts it.
  void endPod(const std::string& uid);
  // Of a stored kind. False: the object exists, and was changed as `kubectl apply` does: its uid,
  // status, and fields that the new one leaves out stay.
  Result<bool> create(const json::value& object);
  void createNode(std::shared_ptr<api::Node> node);
  // False if there is no such node.
  bool cordon(const std::string& node);
  bool deleteNode(const std::string& node);

 private:
  using PodObject = std::shared_ptr<const api::Pod>;
  // The pod as the API shows it; nullptr if there is none.
  PodObject podOf(const std::string& uid, const api::ObjectKey& key) const;
  Result<std::string> answerPod(const kube::Request& request);
  Result<std::string> bind(const kube::Request& request);
  Result<std::string> remove(const kube::Request& request);
  Result<std::string> patchPod(const kube::Request& request);
  Result<std::string> patchStored(const kube::Request& request);
  void deliver(const PodObject& before, std::shared_ptr<api::Pod> after);
  void useBudgets(const api::Pod& pod);
  std::string nextVersion() { return "simulated-" + std::to_string(++version_); }

  Scheduler& scheduler_;
  Executor& executor_;
  std::uint64_t version_ = 0;
  std::map<std::string, PodObject> changed_;  // pods with changes on their way, by uid
};

}  // namespace koord::scheduler::oracle
