#include "scheduler/plugins/reservation/operating_pod.h"

#include <algorithm>

#include "api/codec.h"
#include "model/pod_requests.h"

namespace koord::scheduler {

namespace {

bool isReady(const api::Pod& pod) {
  return pod.status.phase == "Running" &&
         std::ranges::any_of(pod.status.conditions, [](const api::PodCondition& condition) {
           return condition.type == "Ready" && condition.status == "True";
         });
}

// The list is read as it would be in a Reservation.
Result<api::List<api::ReservationOwner>> ownersIn(const std::string& text) {
  auto list = parseJson(text);
  if (!list) return fail(std::move(list.error()));
  json::value object = json::object{{"spec", json::object{{"owners", *std::move(list)}}}};
  auto read = api::decode<api::Reservation>(object);
  if (!read) return fail(std::move(read.error()));
  return std::move(read->spec.owners);
}

Result<api::List<api::ObjectReference>> currentOwnerIn(const std::string& text) {
  auto owner = parseJson(text);
  if (!owner) return fail(std::move(owner.error()));
  json::value object =
      json::object{{"status", json::object{{"currentOwners", json::array{*std::move(owner)}}}}};
  auto read = api::decode<api::Reservation>(object);
  if (!read) return fail(std::move(read.error()));
  return std::move(read->status.currentOwners);
}

std::string wrong(std::string_view key, const Error& error) {
  return "metadata.annotations[" + std::string(key) + "]: " + error.message;
}

}  // namespace

bool isOperatingPod(const api::Pod& pod) {
  const std::string* mode = api::findIn(pod.metadata.labels, kLabelOperatingMode);
  return mode && *mode == "Reservation";
}

api::Reservation reservationOf(const api::Pod& pod, std::string& error) {
  api::Reservation reservation;
  reservation.metadata.name = pod.metadata.name;
  reservation.metadata.namespace_ = pod.metadata.namespace_;
  reservation.metadata.uid = pod.metadata.uid;
  reservation.metadata.labels = pod.metadata.labels;
  reservation.metadata.deletionTimestamp = pod.metadata.deletionTimestamp;
  reservation.spec.allocateOnce = true;
  reservation.spec.allocatePolicy = "Aligned";
  if (const auto* text = api::findIn(pod.metadata.annotations, kAnnotationReservationOwners)) {
    if (auto owners = ownersIn(*text)) {
      reservation.spec.owners = *std::move(owners);
    } else {
      error = wrong(kAnnotationReservationOwners, owners.error());
    }
  }
  const auto* user = api::findIn(pod.metadata.annotations, kAnnotationReservationCurrentOwner);
  if (user && !user->empty()) {
    if (auto owner = currentOwnerIn(*user)) {
      reservation.status.currentOwners = *std::move(owner);
    } else if (error.empty()) {
      error = wrong(kAnnotationReservationCurrentOwner, owner.error());
    }
  }
  if (pod.spec.nodeName.empty()) return reservation;
  reservation.status.nodeName = pod.spec.nodeName;
  reservation.status.allocatable = model::podRequests(pod);
  if (isReady(pod)) reservation.status.phase = "Available";
  return reservation;
}

}  // namespace koord::scheduler
