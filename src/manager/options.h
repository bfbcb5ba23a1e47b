#pragma once

// The options of koord-manager's command line.

#include <string>
#include <vector>

#include "manager/colocationprofile/controller.h"
#include "manager/common/selection.h"
#include "manager/noderesource/controller.h"
#include "manager/webhook/webhook_settings.h"
#include "manager/webhook/webhooks.h"

namespace koord::manager {

struct ManagerOptions {
  std::string metricsAddress = ":8080";  // "0" = no listener
  std::string healthAddress = ":8000";
  bool pprof = true;
  std::string pprofAddress = ":8090";
  bool leaderElection = true;
  std::string resourceLock = "leases";
  std::string leaderElectionNamespace = "koordinator-system";
  std::string watchNamespace;  // "" = all
  std::vector<std::string> controllers{"colocationprofile", "nodemetric",   "noderesource",
                                       "nodeslo",           "profileaudit", "quotaprofile",
                                       "recommender"};
  // Upstream's list; this version lacks some, see controllers.h.
  std::vector<std::string> nodeResourcePlugins{"MidResource",       "BatchResource",
                                               "CPUNormalization",  "ResourceAmplification",
                                               "GPUDeviceResource", "RDMADeviceResource"};
  NodeResourceOptions nodeResource;
  std::string configNamespace = "koordinator-system";
  std::string sloConfigName = "slo-controller-config";
  FeatureGates gates;
  WebhookSettings webhook;
  QuotaEvaluator::Options quotaUpdates;
  BindingAdmissionFlags bindingAdmission;
  EnhancedValidation::Options podRules;
  std::string takeOverConfigName = "koord-take-over";  // in configNamespace
  ColocationProfileOptions colocationProfile;
  bool profilesOwnQuotas = false;  // a quota is deleted with its ElasticQuotaProfile
  std::string nodeStrategyNamesRequired = "false";  // "true": SLO ConfigMap entries need names

  WebhooksOptions webhooks() const {
    return {gates,
            quotaUpdates,
            {configNamespace, sloConfigName, nodeStrategyNamesRequired == "true"},
            bindingAdmission,
            podRules,
            {configNamespace, takeOverConfigName}};
  }
};

}  // namespace koord::manager
