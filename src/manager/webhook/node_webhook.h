#pragma once

// Amplifies a node's resources: allocatable cpu and memory become the original amounts times the
// ratio in its annotation. The annotation raw-allocatable keeps the original amounts; it changes
// when kubelet writes other amounts. Other writers send the amplified amounts back, which changes
// nothing.

#include "base/json.h"
#include "base/result.h"
#include "manager/common/metrics.h"
#include "manager/webhook/admission.h"

namespace koord::manager {

class NodeWebhook {
 public:
  NodeWebhook(Executor& executor, Metrics& metrics) : executor_(executor), metrics_(metrics) {}

  Task<Verdict> mutateStatus(api::AdmissionRequest request);

 private:
  Executor& executor_;
  Metrics& metrics_;
};

// Changes the node's document; the error names the invalid annotation.
Result<> amplify(const json::value& old, json::value& node);

}  // namespace koord::manager
