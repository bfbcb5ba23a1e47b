#include "scheduler/plugins/reservation/problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/codec.h"
#include "base/time.h"
#include "model/node_reservation.h"
#include "model/pod_requests.h"
#include "model/well_known.h"
#include "scheduler/plugins/reservation/reserve_pod.h"

namespace koord::scheduler {

namespace {

using Problems = std::vector<std::string>;

// A label that must be a number of this type.
template <class Number>
void checkNumber(const api::Reservation& reservation, std::string_view key, Problems& problems) {
  const std::string* text = api::findIn(reservation.metadata.labels, key);
  if (!text) return;
  Number number = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error == std::errc{} && stop == end) return;
  problems.push_back(
      fmt::format("metadata.labels[{}]: Invalid value: \"{}\": must be an integer of {} bits", key,
                  *text, 8 * sizeof(Number)));
}

void checkTimes(const api::ReservationSpec& spec, Problems& problems) {
  const auto ttl = spec.ttl ? parseDuration(*spec.ttl) : Result<Duration>(Duration::max());
  if (!ttl) {
    problems.push_back(Error(ttl.error()).within("spec.ttl").message);
  } else if (*ttl < Duration::zero()) {
    problems.push_back(fmt::format(
        "spec.ttl: Invalid value: \"{}\": must not be negative; the reservation expires at once",
        spec.ttl->view()));
  }
  if (!spec.expires) return;
  if (const auto at = parseTime(*spec.expires); !at) {
    problems.push_back(Error(at.error()).within("spec.expires").message);
  } else if (ttl && *ttl == Duration::zero()) {
    problems.emplace_back("spec.expires: is ignored because spec.ttl: 0s means never");
  }
}

void checkRestrictedOptions(const api::Reservation& reservation, Problems& problems) {
  constexpr std::string_view kKey = model::kAnnotationReservationRestrictedOptions;
  const std::string* text = api::findIn(reservation.metadata.annotations, kKey);
  if (!text) return;
  const auto problem = [&](std::string_view what) {
    problems.push_back(fmt::format("metadata.annotations[{}]: {}", kKey, what));
  };
  const auto read = api::decodeText<api::ReservationRestrictedOptions>(*text, api::Reading::Go);
  if (!read) return problem(read.error().message + "; all resources are limited");
  if (reservation.spec.allocatePolicy != "Restricted")
    return problem("needs spec.allocatePolicy: Restricted");
  const auto unit = makeReservePod(reservation);
  if (!unit) return;
  const api::ResourceList reserved = model::podRequests(**unit);
  const auto isReserved = [&](const std::string& name) { return reserved.contains(name); };
  if (std::ranges::none_of(read->resources, isReserved))
    problem("names nothing that spec.template reserves; all resources are limited");
}

void checkPreAllocation(const api::Reservation& reservation, Problems& problems) {
  const std::string* required =
      api::findIn(reservation.metadata.labels, model::kLabelPreAllocationRequired);
  if (required && *required == "true" && !reservation.spec.preAllocation) {
    problems.push_back(fmt::format("metadata.labels[{}]: needs spec.preAllocation: true",
                                   model::kLabelPreAllocationRequired));
  }
  if (reservation.spec.preAllocation && reservation.spec.allocatePolicy != "Restricted")
    problems.emplace_back("spec.preAllocation: needs spec.allocatePolicy: Restricted");
  if (reservation.spec.preAllocationPolicy && !reservation.spec.preAllocation)
    problems.emplace_back("spec.preAllocationPolicy: needs spec.preAllocation: true");
}

void checkTaints(const api::ReservationSpec& spec, Problems& problems) {
  for (std::size_t i = 0; i < spec.taints.size(); ++i) {
    const auto& effect = spec.taints[i].effect;
    if (effect == "NoSchedule" || effect == "NoExecute" || effect == "PreferNoSchedule") continue;
    problems.push_back(
        fmt::format("spec.taints[{}].effect: Invalid value: \"{}\": supported values: NoSchedule, "
                    "NoExecute, PreferNoSchedule; the taint has no effect",
                    i, effect));
  }
}

}  // namespace

Problems problemsOf(const api::Reservation& reservation) {
  Problems problems;
  checkTimes(reservation.spec, problems);
  checkNumber<std::int64_t>(reservation, model::kLabelReservationOrder, problems);
  checkNumber<std::int32_t>(reservation, model::kLabelSubPriority, problems);
  if (const auto kept = model::readNodeReservation(reservation.metadata.annotations); !kept)
    problems.push_back(kept.error().message + "; nothing is reserved for the node");
  checkRestrictedOptions(reservation, problems);
  checkPreAllocation(reservation, problems);
  checkTaints(reservation.spec, problems);
  return problems;
}

}  // namespace koord::scheduler
