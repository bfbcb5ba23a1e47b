#pragma once

// ElasticQuotaArgs.

#include <chrono>
#include <string>
#include <vector>

#include "api/meta.h"
#include "scheduler/config/fields.h"

namespace koord::scheduler {

struct ElasticQuotaArgs {
  Duration delayEvictTime =
      std::chrono::seconds(120);  // above its runtime for so long, it is revoked
  Duration revokePodInterval = std::chrono::seconds(1);
  api::ResourceList defaultQuotaGroupMax;
  api::ResourceList systemQuotaGroupMax;
  std::string quotaGroupNamespace = "koordinator-system";
  bool monitorAllQuotas = false;  // revoke at all
  bool enableCheckParentQuota = false;
  bool enableRuntimeQuota = true;  // the limit is runtime, else max
  bool enableMinQuotaScale = true;
  bool disableDefaultQuotaPreemption = true;
  bool enableQueueHint = false;                                      // hints are always there
  Duration quotaSnapshotUpdateInterval = std::chrono::seconds(120);  // and never out of date

  static ElasticQuotaArgs read(Fields& fields);
};

}  // namespace koord::scheduler
