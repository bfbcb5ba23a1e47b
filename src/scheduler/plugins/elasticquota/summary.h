#pragma once

// What is known of a quota, as people and annotations say it.

#include "api/elasticquota.h"
#include "scheduler/plugins/elasticquota/quotas.h"

namespace koord::scheduler {

struct QuotaSummary {
  api::ResourceList max, min, autoScaleMin, sharedWeight, runtime;
  api::ResourceList request, childRequest, used, allocated, guaranteed;
  api::ResourceList nonPreemptibleRequest, nonPreemptibleUsed;
  api::ResourceList selfRequest, selfUsed, selfNonPreemptibleRequest, selfNonPreemptibleUsed;
};

// By runtimes as they are; refresh first. What max names is there even if it is 0.
QuotaSummary summaryOf(const Quotas& quotas, const Place& place);

// Field names as in metrics, without "sharedWeight", "min", "max": those that are annotations, by key.
std::vector<std::pair<std::string_view, const api::ResourceList*>> annotationsOf(
    const QuotaSummary& summary);

json::object listJson(const api::ResourceList& list);
// Whether two lists say the same, where nothing and 0 are the same.
bool sameAmounts(const api::ResourceList& a, const api::ResourceList& b);

// A merge patch that brings the object's annotations and status up to date; null when they are.
json::value statusPatch(const api::ElasticQuota& object, const QuotaSummary& summary);

}  // namespace koord::scheduler
