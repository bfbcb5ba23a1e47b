#pragma once

// What is known of a Recommendation as its status, when that is worth a write, and as a document for
// people.

#include <map>
#include <string>

#include "api/recommendation.h"
#include "base/json.h"
#include "manager/recommender/container_model.h"

namespace koord::manager {

struct RecommendationFacts {
  WallTime now{};
  std::int64_t generation = 0;
  std::size_t pods = 0;                                 // that it is about now
  std::string problem;                                  // with its target; "" = none
  std::map<std::string, const ContainerModel*> models;  // with samples, by container
};

// Conditions that never were true are left out; those of `before` keep their time while they stay the same.
// Without pods nothing is recommended.
//   ConfigUnsupported  the target cannot be read
//   NoObjectsMatched   there is no pod
//   FetchingHistory    less than a day is known
//   LowConfidence      less than a week is known
api::RecommendationStatus recommendationStatus(const RecommendationFacts& facts,
                                               const api::RecommendationStatus& before);

// A condition changed, a container came or went, or an amount moved by more than 5 %.
bool worthWriting(const api::RecommendationStatus& before, const api::RecommendationStatus& after);

// {"recommendation": "ns/name", "containers": [{"name", "samples", "since", "confidence", "cpu": {...},
// "memory": {...}}]}; amounts in cores and bytes.
json::value explainRecommendation(const api::Recommendation& object,
                                  const std::map<std::string, const ContainerModel*>& models);

}  // namespace koord::manager
