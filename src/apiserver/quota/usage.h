#pragma once

// What an object costs a ResourceQuota, and whether a quota with scopes is about it. Pure
// functions.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "api/meta.h"
#include "apiserver/registry/resource.h"
#include "base/executor.h"

namespace koord::apiserver {

// One requirement of spec.scopes or spec.scopeSelector.
struct QuotaScope {
  std::string name;  // Terminating, NotTerminating, BestEffort, NotBestEffort, PriorityClass, ...
  std::string operator_;  // In, NotIn, Exists, DoesNotExist
  std::vector<std::string> values;
};

struct QuotaRules {
  api::ResourceList hard;
  std::vector<QuotaScope> scopes;
};
QuotaRules quotaRulesOf(const json::value& quota);

// Whether the quota limits something that objects of this kind use.
bool quotaCounts(const QuotaRules& rules, const Resource& resource);
// Whether it counts this object of such a kind: all scopes hold.
bool quotaMatches(const QuotaRules& rules, const json::value& object, const Resource& resource);

// By the names a quota can limit: "pods", "requests.cpu", "count/jobs.batch", ... Pods that are
// over cost nothing but their count; `now` decides about those that should have ended long ago.
api::ResourceList quotaUsage(const json::value& object, const Resource& resource, WallTime now);
// When the usage of a pod that is being deleted changes without any write.
std::optional<WallTime> quotaUsageEnds(const json::value& object, const Resource& resource);

// Quotas of cpu and memory demand that every container says what it needs. "must specify limits.cpu
// for: main", or "" when all is said.
std::string missingForQuota(const QuotaRules& rules, const json::value& pod);

// "cpu=2,pods=5", sorted.
std::string quotaText(const api::ResourceList& amounts);

}  // namespace koord::apiserver
