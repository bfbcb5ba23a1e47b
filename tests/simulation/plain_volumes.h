#pragma once

// Upstream's rules for volumes on API objects, plainly: why a pod's claims and disks keep it from a
// node. What the scheduler decided is compared with it.

#include <map>
#include <string>
#include <vector>

#include "api/storage.h"
#include "scheduler/framework/stores.h"
#include "scheduler/plugins/reference_evaluator.h"

namespace koord::simulation {

// Storage as a scheduler sees it, with what it has promised itself.
struct StorageModel {
  std::map<std::string, std::shared_ptr<const api::PersistentVolumeClaim>> claims;  // "ns/name"
  std::map<std::string, std::shared_ptr<const api::PersistentVolume>> volumes;
  std::map<std::string, std::shared_ptr<const api::StorageClass>> classes;
  std::map<std::string, std::map<std::string, std::int64_t>> limits;  // by node and driver

  explicit StorageModel(scheduler::Stores& stores);
};

// Lets the model judge volumes by this storage. A claim for one pod alone that nobody uses now may
// be promised to several pods: upstream asks who uses it before it counts the pods that are to
// come.
void addStorage(scheduler::testing::Model& model, StorageModel storage);

// The reasons that no pod's leaving changes.
bool isLasting(const std::string& reason);

}  // namespace koord::simulation
