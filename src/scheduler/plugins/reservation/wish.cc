#include "scheduler/plugins/reservation/wish.h"

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

bool isReservationToBe(const api::Pod& pod) {
  return api::findIn(pod.metadata.annotations, model::kAnnotationReservePod) &&
         !api::findIn(pod.metadata.annotations, model::kAnnotationReservationAffinity);
}

ReservationRequest ReservationRequest::of(const api::Pod& pod) {
  ReservationRequest wish;
  if (const auto* ignored = api::findIn(pod.metadata.labels, model::kLabelReservationIgnored))
    wish.ignoresReservations = *ignored == "true";
  api::ReservationAffinity affinity;
  if (readAnnotation(pod, model::kAnnotationReservationAffinity, affinity, wish.error)) {
    wish.required = true;
    wish.name = std::move(affinity.name);
    wish.labels = api::Selector::ofLabels(affinity.reservationSelector);
    wish.tolerations = std::move(affinity.tolerations);
    if (const auto& required = affinity.requiredDuringSchedulingIgnoredDuringExecution) {
      auto terms = api::NodeSelectorMatcher::compile({required->reservationSelectorTerms});
      if (terms) {
        wish.terms = *std::move(terms);
      } else if (wish.error.empty()) {
        wish.error = fmt::format(
            "metadata.annotations[{}].requiredDuringSchedulingIgnoredDuringExecution: {}",
            model::kAnnotationReservationAffinity, terms.error().message);
      }
    }
  }
  api::ExactMatchReservation exact;
  if (readAnnotation(pod, model::kAnnotationExactMatchReservation, exact, wish.error) &&
      !exact.resourceNames.empty()) {
    wish.exact.emplace(exact.resourceNames.begin(), exact.resourceNames.end());
  }
  return wish;
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
    const bool lacks = here == pod.end();
    if (lacks != (there == reservation.end())) return false;
    return lacks || here->second == there->second;
  });
}

}  // namespace koord::scheduler
