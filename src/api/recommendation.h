#pragma once

// analysis.koordinator.sh/v1alpha1: Recommendation, how much the containers of a workload should
// request.

#include "api/meta.h"

namespace koord::api {

struct RecommendedWorkload {
  std::string apiVersion;
  std::string kind;
  std::string name;
};
struct RecommendationTarget {
  std::string type;  // workload, podSelector
  std::optional<RecommendedWorkload> workload;
  std::optional<LabelSelector> podSelector;
};
struct RecommendationSpec {
  RecommendationTarget target;
};

struct RecommendedContainer {
  std::string containerName;
  ResourceList resources;
  // Beyond upstream's fields: the range of the right amounts, and how much is known, in days.
  ResourceList lowerBound;
  ResourceList upperBound;
  std::string confidence;  // "1.25"
};
struct RecommendedPod {
  List<RecommendedContainer> containerStatuses;
};
struct RecommendationStatus {
  std::optional<RecommendedPod> podStatus;
  Time updateTime;
  List<Condition> conditions;
};
struct Recommendation {
  static constexpr ResourceType kType{"analysis.koordinator.sh", "v1alpha1", "recommendations",
                                      "Recommendation", true};
  ObjectMeta metadata;
  RecommendationSpec spec;
  RecommendationStatus status;
};

}  // namespace koord::api
