#pragma once

// The report on a failed attempt, in the format of upstream's --debug-diagnosis:
//
//   {"timestamp", "questionedKey", "nominatedNode", "preFilterMessage", "isRootCausePod",
//    "scheduleDiagnosis": {"alreadyWaitForBound",
//                          "nodeFailedDetails": [{"failedPlugin", "reason", "preemptMightHelp",
//                                                 "failedNodes": [...]}]},
//    "preemptionDiagnosis"}

#include <functional>

#include "base/executor.h"
#include "base/json.h"
#include "scheduler/engine/cluster.h"
#include "scheduler/framework/diagnosis.h"

namespace koord::scheduler {

// Visits the nodes that filters rejected.
void forEachRejected(const Cluster& cluster, const Diagnosis& diagnosis,
                     const std::function<void(NodeId, const Rejection&)>& visit);

// One item for all nodes with the same reasons; names sorted.
json::array failedDetails(const Cluster& cluster, const Diagnosis& diagnosis);

json::object diagnosisDocument(const Cluster& cluster, const PodInfo& pod,
                               const Diagnosis& diagnosis, WallTime now);

}  // namespace koord::scheduler
