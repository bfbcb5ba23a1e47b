#pragma once

// Amplifies what a node offers: allocatable cpu and memory become what the node has times the ratio in
// its annotation. What it had before is kept in the annotation raw-allocatable; a kubelet that writes
// other amounts changes that, and everybody else writes the amplified ones back and changes nothing.

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

// Changes the node's document; the error names the annotation that cannot be read.
Result<> amplify(const json::value& old, json::value& node);

}  // namespace koord::manager
