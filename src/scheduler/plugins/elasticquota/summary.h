#pragma once

// The state of a quota for operators, endpoints and annotations.

#include "api/elasticquota.h"
#include "scheduler/plugins/elasticquota/quotas.h"

namespace koord::scheduler {

struct QuotaSummary {
  api::ResourceList max, min, autoScaleMin, sharedWeight, runtime;
  api::ResourceList request, childRequest, used, allocated, guaranteed;
  api::ResourceList nonPreemptibleRequest, nonPreemptibleUsed;
  api::ResourceList selfRequest, selfUsed, selfNonPreemptibleRequest, selfNonPreemptibleUsed;
};

// With the stored runtimes; call refresh first. Includes the resources of max with amount 0.
QuotaSummary summaryOf(const Quotas& quotas, const Place& place);

// The fields that are written as annotations, by key: all except "sharedWeight", "min" and "max".
std::vector<std::pair<std::string_view, const api::ResourceList*>> annotationsOf(
    const QuotaSummary& summary);

json::object listJson(const api::ResourceList& list);
// Returns true if the lists are equal, where a missing resource equals 0.
bool sameAmounts(const api::ResourceList& a, const api::ResourceList& b);

// A merge patch that updates the object's annotations and status; null if they are current.
json::value statusPatch(const api::ElasticQuota& object, const QuotaSummary& summary);

}  // namespace koord::scheduler
