#pragma once

// The pods of a Recommendation: those that a label selector matches, or those of a workload. A pod
// belongs to its controller and to that controller's owners: the pods of a Deployment are those of
// its ReplicaSets, the pods of a CronJob those of its Jobs.

#include <functional>
#include <optional>

#include "api/pod.h"
#include "api/recommendation.h"
#include "api/selector.h"

namespace koord::manager {

// Returns the owners of an object; nullptr if it has none or is unknown.
using OwnersOf = std::function<const api::List<api::OwnerReference>*(
    std::string_view kind, std::string_view namespace_, std::string_view name)>;

class RecommendationPods {
 public:
  // The error names the invalid field.
  static Result<RecommendationPods> compile(const api::RecommendationSpec& spec);

  // `pod` must be of the Recommendation's namespace.
  bool includes(const api::Pod& pod, const OwnersOf& ownersOf) const;

 private:
  std::optional<api::Selector> selector_;
  api::RecommendedWorkload workload_;
};

}  // namespace koord::manager
