#pragma once

// The usage of an object for ResourceQuota, and whether a quota with scopes matches it. Pure
// functions.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "api/meta.h"
#include "apiserver/registry/resource.h"
#include "base/executor.h"

namespace koord::apiserver {

// Ends the name of the devices that claims may have of a class.
inline constexpr std::string_view kDevicesOfClass = ".deviceclass.resource.k8s.io/devices";

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

// Returns true if the quota limits a resource that objects of this kind use.
bool quotaCounts(const QuotaRules& rules, const Resource& resource);
// Returns true if the quota matches this object of such a kind: all scopes match.
bool quotaMatches(const QuotaRules& rules, const json::value& object, const Resource& resource);

// Usage by the names that a quota can limit: "pods", "requests.cpu", "count/jobs.batch", ...
// Finished pods use only their count. `now` decides about deleted pods whose grace period is over.
api::ResourceList quotaUsage(const json::value& object, const Resource& resource, WallTime now);
// The time when the usage of a pod that is being deleted changes without a write; nullopt if never.
std::optional<WallTime> quotaUsageEnds(const json::value& object, const Resource& resource);

// A quota of cpu or memory requires that every container sets it. Returns "must specify limits.cpu
// for: main", or "" if nothing is missing.
std::string missingForQuota(const QuotaRules& rules, const json::value& pod);

// "cpu=2,pods=5", sorted.
std::string quotaText(const api::ResourceList& amounts);

}  // namespace koord::apiserver
