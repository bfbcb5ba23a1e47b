#pragma once

// What `koordctl tune` takes from a cluster: the measured nodes, the pods on them, the shapes of
// batch pods, and the settings in force.
//
// Skipped: nodes without a current NodeMetric, unschedulable nodes, and nodes with settings of
// their own (nodeConfigs, nodeStrategies, annotations), because a proposal for the cluster would
// not apply to them. Notes say how many.

#include <optional>
#include <string>
#include <vector>

#include "api/meta.h"
#include "base/executor.h"
#include "koordctl/colocation/node_agent.h"
#include "koordctl/colocation/site.h"
#include "koordctl/tune/pod_workload.h"
#include "model/colocation_strategy.h"
#include "scheduler/config/types.h"

namespace koord::koordctl {

struct MeasuredPod {
  api::ObjectKey key;
  std::string node;
  std::optional<PodWorkload> workload;
  double cores = 0, memoryGib = 0;  // requested
  double limit = 0;                 // cores; 0 = none
  std::string qos = "LS";           // LS, LSR, LSE, SYSTEM
  // By the newest NodeMetric; nullopt: it is not in it.
  std::optional<double> usedCores, usedGib;
};

struct StudiedCluster {
  std::vector<colocation::NodeSize> nodes;  // by name
  std::vector<MeasuredPod> services;        // on these nodes; all but batch, mid and free pods
  std::vector<colocation::JobShape> jobs;   // of batch and mid pods; may be empty
  std::optional<double> jobCpuUse;          // share of their request that they use
  bool colocates = false;                   // colocation-config says enable
  model::ColocationStrategy colocation;
  colocation::NodeSettings node;
  api::StringMap config;  // the data of the ConfigMap slo-controller-config; empty: there is none
  std::optional<scheduler::SchedulerConfiguration> scheduler;  // of the cluster
  WallTime taken{};
  bool namesHashed = false;
  std::vector<std::string> notes;
};

// Of the file of `koordctl snapshot`. Errors: those of readClusterObjects; Invalid: no node can be
// studied.
Result<StudiedCluster> readStudiedCluster(const std::string& snapshot);

}  // namespace koord::koordctl
