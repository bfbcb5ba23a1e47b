#pragma once

// The status of a Recommendation, whether a change is large enough to write, and an explanation for
// operators.

#include <map>
#include <string>

#include "api/recommendation.h"
#include "base/json.h"
#include "manager/recommender/container_model.h"

namespace koord::manager {

struct RecommendationFacts {
  WallTime now{};
  std::int64_t generation = 0;
  std::size_t pods = 0;                                 // that match now
  std::string problem;                                  // with its target; "" = none
  std::map<std::string, const ContainerModel*> models;  // with samples, by container
};

// Omits conditions that were never true; conditions of `before` keep their time while they are
// unchanged. Recommends nothing without pods.
//   ConfigUnsupported  the target cannot be read
//   NoObjectsMatched   no pod matches
//   FetchingHistory    less than a day is known
//   LowConfidence      less than a week is known
api::RecommendationStatus recommendationStatus(const RecommendationFacts& facts,
                                               const api::RecommendationStatus& before);

// Returns true if a condition changed, a container was added or removed, or an amount changed by
// more than 5 %.
bool differsEnough(const api::RecommendationStatus& before, const api::RecommendationStatus& after);

// {"recommendation": "ns/name", "containers": [{"name", "samples", "since", "confidence", "cpu":
// {...}, "memory": {...}}]}; amounts in cores and bytes.
json::value explainRecommendation(const api::Recommendation& object,
                                  const std::map<std::string, const ContainerModel*>& models);

}  // namespace koord::manager
