#include "scheduler/plugins/reservation/conditions.h"

#include <algorithm>

#include "api/codec.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kScheduled = "Scheduled";
constexpr std::string_view kReady = "Ready";

api::ReservationCondition conditionOf(std::string_view type, std::string_view status,
                                      std::string_view reason, WallTime now) {
  api::ReservationCondition condition;
  condition.type = type;
  condition.status = status;
  condition.reason = reason;
  condition.lastProbeTime = now;
  condition.lastTransitionTime = now;
  return condition;
}

json::value listOf(const api::List<api::ReservationCondition>& conditions) {
  api::ReservationStatus status;
  status.conditions = conditions;
  const json::value document = api::encode(status);
  return memberOf(document, "conditions");
}

// The conditions with this one in place of the previous one of its type.
api::List<api::ReservationCondition> conditionsWith(const api::Reservation& reservation,
                                                    api::ReservationCondition condition) {
  api::List<api::ReservationCondition> conditions = reservation.status.conditions;
  const auto it = std::ranges::find(conditions, condition.type, &api::ReservationCondition::type);
  if (it == conditions.end()) {
    conditions.push_back(std::move(condition));
  } else {
    *it = std::move(condition);
  }
  return conditions;
}

json::object notReady(const api::Reservation& reservation, std::string_view phase,
                      std::string_view reason, WallTime now) {
  api::ReservationCondition ready = conditionOf(kReady, "False", reason, now);
  const auto* before = findCondition(reservation, kReady);
  if (before && before->status == "False") ready.lastTransitionTime = before->lastTransitionTime;
  return {{"phase", json::string(phase)},
          {"conditions", listOf(conditionsWith(reservation, std::move(ready)))}};
}

}  // namespace

const api::ReservationCondition* findCondition(const api::Reservation& reservation,
                                               std::string_view type) {
  const auto& conditions = reservation.status.conditions;
  const auto it = std::ranges::find(conditions, type, &api::ReservationCondition::type);
  return it == conditions.end() ? nullptr : &*it;
}

json::object placedStatus(const api::Reservation& reservation, const std::string& node,
                          api::ResourceList allocatable, WallTime now) {
  api::ReservationStatus status;
  status.allocatable = std::move(allocatable);
  json::object written{{"phase", "Available"},
                       {"nodeName", node},
                       {"conditions", listOf({conditionOf(kScheduled, "True", "Scheduled", now),
                                              conditionOf(kReady, "True", "Available", now)})}};
  // No amount of an earlier record may remain.
  json::object amounts;
  for (const auto& [name, amount] : reservation.status.allocatable)
    if (!status.allocatable.contains(name)) amounts[name] = nullptr;
  for (const auto& [name, amount] : status.allocatable) amounts[name] = amount.toString();
  if (!amounts.empty()) written["allocatable"] = std::move(amounts);
  return written;
}

json::object readyStatus(const api::Reservation& reservation, WallTime now) {
  api::ReservationCondition ready = conditionOf(kReady, "True", "Available", now);
  return {{"phase", "Available"},
          {"conditions", listOf(conditionsWith(reservation, std::move(ready)))}};
}

std::optional<json::object> unscheduledStatus(const api::Reservation& reservation,
                                              const std::string& message, WallTime now) {
  const auto* before = findCondition(reservation, kScheduled);
  if (before && before->status == "False" && before->message == message) return std::nullopt;
  api::ReservationCondition scheduled = conditionOf(kScheduled, "False", "Unschedulable", now);
  scheduled.message = message;
  if (before && before->status == "True") {
    scheduled = *before;
    scheduled.lastProbeTime = now;
  } else if (before) {
    scheduled.lastTransitionTime = before->lastTransitionTime;
  }
  return json::object{{"conditions", listOf(conditionsWith(reservation, std::move(scheduled)))}};
}

json::object expiredStatus(const api::Reservation& reservation, WallTime now) {
  return notReady(reservation, "Failed", "Expired", now);
}

json::object consumedStatus(const api::Reservation& reservation, WallTime now) {
  return notReady(reservation, "Succeeded", "Succeeded", now);
}

bool isReservationExpired(const api::Reservation& reservation) {
  if (reservation.status.phase != "Failed") return false;
  const auto* ready = findCondition(reservation, kReady);
  return ready && ready->status == "False" && ready->reason == "Expired";
}

}  // namespace koord::scheduler
