#include "model/node_reservation.h"

#include "api/codec.h"
#include "base/cpuset.h"
#include "model/well_known.h"

namespace koord::model {

Result<std::optional<NodeReservation>> readNodeReservation(const api::StringMap& annotations) {
  const auto* text = api::findIn(annotations, kAnnotationNodeReservation);
  if (!text) return std::nullopt;
  auto reservation = api::decodeText<NodeReservation>(*text, api::Reading::Go);
  if (!reservation)
    return fail(
        std::move(reservation.error())
            .within("metadata.annotations[" + std::string(kAnnotationNodeReservation) + "]"));
  return *std::move(reservation);
}

api::ResourceList reservedResources(const api::StringMap& annotations) {
  const auto reservation = readNodeReservation(annotations);
  if (!reservation || !*reservation) return {};
  api::ResourceList resources = (*reservation)->resources;
  if ((*reservation)->reservedCPUs.empty()) return resources;
  const auto cpus = CpuSet::parse((*reservation)->reservedCPUs);
  if (!cpus) return {};
  resources[std::string(kCpu)] = Quantity::of(static_cast<std::int64_t>(cpus->size()));
  return resources;
}

}  // namespace koord::model
