#include "manager/recommender/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/codec.h"
#include "base/time.h"
#include "model/resources.h"

namespace koord::manager {

namespace {

using namespace std::chrono_literals;

constexpr double kMinChange = 0.05;
constexpr Duration kHistory = 24h;
constexpr double kFullConfidenceDays = 7;  // days
constexpr Duration kEarly = 1min;          // a day of reports, one a minute, spans a bit less

struct ConditionState {
  const char* type;
  bool isTrue;
  const char* reason;
  std::string message;
  const char* otherwise;  // the message while it is false; conditions must have one
};

void addCondition(const ConditionState& truth, const RecommendationFacts& facts,
                  const api::RecommendationStatus& before, api::List<api::Condition>& conditions) {
  const auto old = std::ranges::find(before.conditions, truth.type, &api::Condition::type);
  const bool known = old != before.conditions.end();
  if (!truth.isTrue && !known) return;
  api::Condition condition;
  condition.type = truth.type;
  condition.status = truth.isTrue ? "True" : "False";
  condition.reason = truth.isTrue ? truth.reason : "Resolved";
  condition.message = truth.isTrue ? truth.message : truth.otherwise;
  condition.observedGeneration = facts.generation;
  condition.lastTransitionTime =
      known && old->status == condition.status ? old->lastTransitionTime : api::Time(facts.now);
  conditions.push_back(std::move(condition));
}

double leastConfidence(const RecommendationFacts& facts) {
  double least = facts.models.empty() ? 0 : 1e9;
  for (const auto& [name, model] : facts.models) least = std::min(least, model->confidence());
  return least;
}

bool hasDay(const RecommendationFacts& facts) {
  return !facts.models.empty() && std::ranges::all_of(facts.models, [](const auto& entry) {
    return entry.second->lastSample() - entry.second->firstSample() + kEarly >= kHistory;
  });
}

bool moved(const api::ResourceList& before, const api::ResourceList& after) {
  if (before.size() != after.size()) return true;
  return std::ranges::any_of(after, [&](const auto& entry) {
    const double old = model::amountOf(before, entry.first).toDouble();
    return std::abs(entry.second.toDouble() - old) > old * kMinChange;
  });
}

json::object quantiles(const ContainerModel& model, bool cpu) {
  const auto at = [&](double share) {
    return cpu ? model.cpuPercentile(share) : model.memoryPercentile(share);
  };
  return {
      {"p50", at(0.5)}, {"p90", at(0.9)}, {"p95", at(0.95)}, {"p98", at(0.98)}, {"max", at(1.0)}};
}

}  // namespace

api::RecommendationStatus recommendationStatus(const RecommendationFacts& facts,
                                               const api::RecommendationStatus& before) {
  api::RecommendationStatus status;
  const bool unreadable = !facts.problem.empty();
  const bool nobody = !unreadable && facts.pods == 0;
  const double sure = leastConfidence(facts);
  addCondition(
      {"ConfigUnsupported", unreadable, "InvalidTarget", facts.problem, "the target can be read"},
      facts, before, status.conditions);
  addCondition({"NoObjectsMatched", nobody, "NoPods", "no pod belongs to the target",
                "pods belong to the target"},
               facts, before, status.conditions);
  const bool learning = !unreadable && !nobody;
  addCondition({"FetchingHistory", learning && !hasDay(facts), "Learning",
                "less than a day of samples", "a day of samples is known"},
               facts, before, status.conditions);
  addCondition({"LowConfidence", learning && sure + 1e-3 < kFullConfidenceDays, "FewSamples",
                "less than seven days of samples", "seven days of samples are known"},
               facts, before, status.conditions);
  status.updateTime = facts.now;
  if (!learning || facts.models.empty()) return status;
  api::RecommendedPod pod;
  for (const auto& [name, model] : facts.models) {
    const ContainerAdvice advice = model->advice();
    pod.containerStatuses.push_back({name, advice.target.list(), advice.lower.list(),
                                     advice.upper.list(),
                                     fmt::format("{:.2f}", advice.confidence)});
  }
  status.podStatus = std::move(pod);
  return status;
}

bool differsEnough(const api::RecommendationStatus& before,
                   const api::RecommendationStatus& after) {
  const auto sameCondition = [](const api::Condition& a, const api::Condition& b) {
    return a.type == b.type && a.status == b.status && a.message == b.message;
  };
  if (!before.updateTime ||
      !std::ranges::equal(before.conditions, after.conditions, sameCondition) ||
      before.podStatus.has_value() != after.podStatus.has_value())
    return true;
  if (!after.podStatus) return false;
  const auto& old = before.podStatus->containerStatuses;
  const auto& now = after.podStatus->containerStatuses;
  const auto sameContainer = [](const api::RecommendedContainer& a,
                                const api::RecommendedContainer& b) {
    return a.containerName == b.containerName && !moved(a.resources, b.resources) &&
           !moved(a.lowerBound, b.lowerBound) && !moved(a.upperBound, b.upperBound);
  };
  return !std::ranges::equal(old, now, sameContainer);
}

json::value explainRecommendation(const api::Recommendation& object,
                                  const std::map<std::string, const ContainerModel*>& models) {
  json::array containers;
  for (const auto& [name, model] : models) {
    const ContainerAdvice advice = model->advice();
    json::object entry{{"name", name},
                       {"samples", model->samples()},
                       {"since", formatTime(model->firstSample())},
                       {"until", formatTime(model->lastSample())},
                       {"confidence", advice.confidence}};
    for (const bool cpu : {true, false}) {
      json::object side = quantiles(*model, cpu);
      const auto text = [&](const RecommendedAmounts& amounts) {
        return (cpu ? amounts.cpu : amounts.memory).toString();
      };
      side["lower"] = text(advice.lower);
      side["target"] = text(advice.target);
      side["upper"] = text(advice.upper);
      entry[cpu ? "cpu" : "memory"] = std::move(side);
    }
    containers.push_back(std::move(entry));
  }
  return json::object{{"recommendation", api::keyOf(object.metadata).toString()},
                      {"target", api::encode(object.spec)},
                      {"containers", std::move(containers)}};
}

}  // namespace koord::manager
