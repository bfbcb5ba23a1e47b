#pragma once

// ClusterObjects: what a snapshot has that matters for `koordctl tune`. Of a pod only some figures
// are kept: a cluster may have 150,000.

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/core.h"
#include "api/meta.h"
#include "base/executor.h"
#include "base/result.h"
#include "koordctl/colocation/site.h"
#include "koordctl/tune/pod_workload.h"

namespace koord::koordctl {

// In cores and GiB; never negative, and never more than the largest node has.
struct Amounts {
  double cores = 0, gib = 0;
};
Amounts amountsOf(const api::ResourceList& list);

struct ServiceFigures {
  Amounts requested;
  double limit = 0;  // cores; 0 = none
  std::string qos;   // LS, LSR, LSE, SYSTEM
};

struct RunningPod {
  api::ObjectKey key;
  std::string node;
  std::optional<PodWorkload> workload;
  // Of all pods but batch, mid and free pods.
  std::optional<ServiceFigures> service;
  colocation::JobShape job;  // of the others: batch or mid resources; 0 = none
};

struct NodeReport {
  WallTime time{};
  Amounts system;
};

struct ClusterObjects {
  std::map<std::string, api::Node> nodes;
  std::map<std::string, NodeReport> reports;            // of nodes that are measured
  std::unordered_map<api::ObjectKey, Amounts> podsUse;  // by NodeMetrics
  std::vector<RunningPod> pods;                         // with a node, not finished; by name
  std::optional<api::ConfigMap> sloConfig;
  std::string schedulerConfig;
  WallTime taken{};
  bool namesHashed = false;
  std::size_t unreadable = 0;
};

// Errors name the file. Invalid: it lacks ConfigMaps, or the pods that its NodeMetrics name. The
// user who took it may not list them.
Result<ClusterObjects> readClusterObjects(const std::string& snapshot);

}  // namespace koord::koordctl
