#pragma once

// Refuses an invalid ConfigMap slo-controller-config, and node labels by which two of its entries
// would select the node.

#include <string>

#include "api/core.h"
#include "kube/api.h"
#include "manager/common/metrics.h"
#include "manager/webhook/admission.h"

namespace koord::manager {

class ConfigWebhook {
 public:
  struct Options {
    std::string configNamespace = "koordinator-system";
    std::string configName = "slo-controller-config";
    bool namesRequired = false;  // --node-strategy-name-need-check
  };

  ConfigWebhook(kube::Api& api, Executor& executor, Metrics& metrics, Options options)
      : api_(api), executor_(executor), metrics_(metrics), options_(std::move(options)) {}

  Task<Verdict> validateConfig(api::AdmissionRequest request);
  Task<Verdict> validateNode(api::AdmissionRequest request);

 private:
  Task<Result<>> checkConfigMap(const api::AdmissionRequest& request);
  Task<Result<>> checkNodeLabels(const api::AdmissionRequest& request);

  kube::Api& api_;
  Executor& executor_;
  Metrics& metrics_;
  Options options_;
};

}  // namespace koord::manager
