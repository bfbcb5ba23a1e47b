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
      std::chrono::seconds(120);  // how long a quota is above its runtime before it is revoked
  Duration revokePodInterval = std::chrono::seconds(1);
  api::ResourceList defaultQuotaGroupMax;
  api::ResourceList systemQuotaGroupMax;
  std::string quotaGroupNamespace = "koordinator-system";
  bool monitorAllQuotas = false;  // whether to revoke at all
  bool enableCheckParentQuota = false;
  bool enableRuntimeQuota = true;  // the limit is runtime, else max
  bool enableMinQuotaScale = true;
  bool disableDefaultQuotaPreemption = true;
  bool enableQueueHint = false;  // no effect: hints are always available
  Duration quotaSnapshotUpdateInterval = std::chrono::seconds(120);  // no effect: always current

  static ElasticQuotaArgs read(Fields& fields);
};

}  // namespace koord::scheduler
