#include "manager/recommender/targets.h"
#include "api/group_version.h"

#include <fmt/format.h>

#include <algorithm>

namespace koord::manager {

namespace {

constexpr int kLevels = 4;  // of controllers above a pod

const api::OwnerReference* controllerIn(const api::List<api::OwnerReference>& owners) {
  const auto found = std::ranges::find_if(owners, &api::OwnerReference::controller);
  return found == owners.end() ? nullptr : &*found;
}

}  // namespace

Result<RecommendationPods> RecommendationPods::compile(const api::RecommendationSpec& spec) {
  RecommendationPods pods;
  const auto& target = spec.target;
  if (target.type == "podSelector") {
    if (!target.podSelector)
      return fail(ErrorCode::Invalid,
                  "spec.target.podSelector: is missing, and spec.target.type is podSelector");
    auto selector = api::Selector::compile(*target.podSelector);
    if (!selector) return fail(std::move(selector.error()).within("spec.target.podSelector"));
    pods.selector_ = *std::move(selector);
    return pods;
  }
  if (target.type != "workload")
    return fail(
        ErrorCode::Invalid,
        fmt::format("spec.target.type: \"{}\" is neither workload nor podSelector", target.type));
  if (!target.workload || target.workload->kind.empty() || target.workload->name.empty())
    return fail(ErrorCode::Invalid,
                "spec.target.workload: kind and name are needed, as spec.target.type is workload");
  pods.workload_ = *target.workload;
  return pods;
}

bool RecommendationPods::includes(const api::Pod& pod, const OwnersOf& ownersOf) const {
  if (selector_) return selector_->matches(pod.metadata.labels);
  const auto isIt = [this](std::string_view apiVersion, std::string_view kind,
                           std::string_view name) {
    return kind == workload_.kind && name == workload_.name &&
           (workload_.apiVersion.empty() || api::splitApiVersion(apiVersion).group ==
                                                api::splitApiVersion(workload_.apiVersion).group);
  };
  if (isIt("v1", "Pod", pod.metadata.name)) return true;
  const auto* owner = controllerIn(pod.metadata.ownerReferences);
  for (int level = 0; owner && level < kLevels; ++level) {
    if (isIt(owner->apiVersion, owner->kind, owner->name)) return true;
    const auto* above = ownersOf(owner->kind, pod.metadata.namespace_, owner->name);
    owner = above ? controllerIn(*above) : nullptr;
  }
  return false;
}

}  // namespace koord::manager
