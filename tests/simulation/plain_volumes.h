#pragma once

// Upstream's rules for volumes on API objects, in simple code: why a pod's claims and disks keep it
// from a node. The simulation compares the scheduler's decision with it.

#include <map>
#include <string>
#include <vector>

#include "api/storage.h"
#include "scheduler/framework/stores.h"
#include "scheduler/plugins/reference_evaluator.h"

namespace koord::simulation {

// Storage as a scheduler sees it, including its own assumed bindings.
struct StorageModel {
  std::map<std::string, std::shared_ptr<const api::PersistentVolumeClaim>> claims;  // "ns/name"
  std::map<std::string, std::shared_ptr<const api::PersistentVolume>> volumes;
  std::map<std::string, std::shared_ptr<const api::StorageClass>> classes;
  std::map<std::string, std::map<std::string, std::int64_t>> limits;  // by node and driver

  explicit StorageModel(scheduler::Stores& stores);
};

// Makes the model judge volumes by this storage. A ReadWriteOncePod claim without a user may be
// promised to several pods: upstream checks the users before it counts nominated pods.
void addStorage(scheduler::testing::Model& model, StorageModel storage);

// Returns true for reasons that no removal of pods changes.
bool isLasting(const std::string& reason);

}  // namespace koord::simulation
