#pragma once

// The elastic quotas of pods, as the plugin ElasticQuota shows them: limits and use.

#include <map>
#include <string>

#include "base/json.h"
#include "scheduler/core/scheduler.h"
#include "scheduler/oracle/expand.h"

namespace koord::scheduler::oracle {

// By the quota's name.
using QuotaViews = std::map<std::string, json::value>;

// The quotas in which the pods of the question count, and their ancestors, in their current state.
QuotaViews quotasOf(Scheduler& scheduler, const std::vector<AskedPod>& pods);
// The current state of these quotas.
QuotaViews quotasNamed(Scheduler& scheduler, const QuotaViews& names);
// [{name, before, after}]
json::array quotaChanges(const QuotaViews& before, const QuotaViews& after);

}  // namespace koord::scheduler::oracle
