#include "cluster/controllers/conditions.h"

#include <algorithm>
#include <boost/json/object.hpp>

#include "base/time.h"

namespace koord::cluster {

WallTime wholeSeconds(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time);
}

const api::WorkloadCondition* findCondition(const std::vector<api::WorkloadCondition>& conditions,
                                            std::string_view type) {
  const auto found = std::ranges::find(conditions, type, &api::WorkloadCondition::type);
  return found == conditions.end() ? nullptr : &*found;
}

void setCondition(std::vector<api::WorkloadCondition>& conditions,
                  api::WorkloadCondition condition) {
  if (const auto* before = findCondition(conditions, condition.type);
      before && before->status == condition.status) {
    if (before->reason == condition.reason) return;
    condition.lastTransitionTime = before->lastTransitionTime;
  }
  removeCondition(conditions, condition.type);
  conditions.push_back(std::move(condition));
}

void removeCondition(std::vector<api::WorkloadCondition>& conditions, std::string_view type) {
  std::erase_if(conditions, [&](const auto& condition) { return condition.type == type; });
}

json::value conditionsJson(const std::vector<api::WorkloadCondition>& conditions) {
  if (conditions.empty()) return nullptr;
  json::array list;
  for (const auto& condition : conditions) {
    json::object one{{"type", condition.type}, {"status", condition.status}};
    if (condition.lastUpdateTime) one["lastUpdateTime"] = formatTime(*condition.lastUpdateTime);
    if (condition.lastTransitionTime)
      one["lastTransitionTime"] = formatTime(*condition.lastTransitionTime);
    one["reason"] = condition.reason;
    one["message"] = condition.message;
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace koord::cluster
