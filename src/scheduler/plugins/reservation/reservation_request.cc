#include "scheduler/plugins/reservation/reservation_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "model/well_known.h"

namespace koord::scheduler {

namespace {

// Parses the annotation into `read`; returns false if it is missing. `error` gets the problem if it
// is invalid.
template <class T>
bool readAnnotation(const api::Pod& pod, std::string_view key, T& read, std::string& error) {
  const std::string* text = api::findIn(pod.metadata.annotations, key);
  if (!text) return false;
  auto value = api::decodeText<T>(*text, api::Reading::Go);
  if (value) {
    read = *std::move(value);
  } else if (error.empty()) {
    error = fmt::format("metadata.annotations[{}]: {}", key, value.error().message);
  }
  return true;
}

}  // namespace

bool ReservationRequest::isThere(const api::Pod& pod) {
  return api::findIn(pod.metadata.labels, model::kLabelReservationIgnored) ||
         api::findIn(pod.metadata.annotations, model::kAnnotationReservationAffinity) ||
         api::findIn(pod.metadata.annotations, model::kAnnotationExactMatchReservation);
}

bool isUnboundReservation(const api::Pod& pod) {
  return api::findIn(pod.metadata.annotations, model::kAnnotationReservePod) &&
         !api::findIn(pod.metadata.annotations, model::kAnnotationReservationAffinity);
}

ReservationRequest ReservationRequest::of(const api::Pod& pod) {
  ReservationRequest reservationRequest;
  if (const auto* ignored = api::findIn(pod.metadata.labels, model::kLabelReservationIgnored))
    reservationRequest.ignoresReservations = *ignored == "true";
  api::ReservationAffinity affinity;
  if (readAnnotation(pod, model::kAnnotationReservationAffinity, affinity,
                     reservationRequest.error)) {
    reservationRequest.required = true;
    reservationRequest.name = std::move(affinity.name);
    reservationRequest.labels = api::Selector::ofLabels(affinity.reservationSelector);
    reservationRequest.tolerations = std::move(affinity.tolerations);
    if (const auto& required = affinity.requiredDuringSchedulingIgnoredDuringExecution) {
      auto terms = api::NodeSelectorMatcher::compile({required->reservationSelectorTerms});
      if (terms) {
        reservationRequest.terms = *std::move(terms);
      } else if (reservationRequest.error.empty()) {
        reservationRequest.error = fmt::format(
            "metadata.annotations[{}].requiredDuringSchedulingIgnoredDuringExecution: {}",
            model::kAnnotationReservationAffinity, terms.error().message);
      }
    }
  }
  api::ExactMatchReservation exact;
  if (readAnnotation(pod, model::kAnnotationExactMatchReservation, exact,
                     reservationRequest.error) &&
      !exact.resourceNames.empty()) {
    reservationRequest.exact.emplace(exact.resourceNames.begin(), exact.resourceNames.end());
  }
  return reservationRequest;
}

void ReservationRequest::sign(const api::Pod& pod, Signature& signature) {
  const auto add = [&](const api::StringMap& map, std::string_view key) {
    const std::string* text = api::findIn(map, key);
    signature.add(static_cast<std::int64_t>(text != nullptr));
    if (text) signature.add(*text);
  };
  add(pod.metadata.labels, model::kLabelReservationIgnored);
  add(pod.metadata.annotations, model::kAnnotationReservationAffinity);
  add(pod.metadata.annotations, model::kAnnotationExactMatchReservation);
}

bool matchesExactly(const std::vector<std::string>& resources, const api::ResourceList& pod,
                    const api::ResourceList& reservation) {
  return std::ranges::all_of(resources, [&](const std::string& name) {
    const auto here = pod.find(name);
    const auto there = reservation.find(name);
    const bool missingForPod = here == pod.end();
    if (missingForPod != (there == reservation.end())) return false;
    return missingForPod || here->second == there->second;
  });
}

}  // namespace koord::scheduler
