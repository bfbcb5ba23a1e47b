#pragma once

// Which pods a Recommendation is about: those that a label selector picks, or those of a workload. A pod
// belongs to the controller above it and to the controllers above that: the pods of a Deployment are those
// of its ReplicaSets, the pods of a CronJob those of its Jobs.

#include <functional>
#include <optional>

#include "api/pod.h"
#include "api/recommendation.h"
#include "api/selector.h"

namespace koord::manager {

// The controllers above one object of a kind; empty when there is none, or nothing is known of it.
using OwnersOf = std::function<const api::List<api::OwnerReference>*(
    std::string_view kind, std::string_view namespace_, std::string_view name)>;

class RecommendationPods {
 public:
  // The error names the field that is wrong.
  static Result<RecommendationPods> compile(const api::RecommendationSpec& spec);

  // `pod` is of the Recommendation's namespace.
  bool includes(const api::Pod& pod, const OwnersOf& ownersOf) const;

 private:
  std::optional<api::Selector> selector_;
  api::RecommendedWorkload workload_;
};

}  // namespace koord::manager
