#include "model/node_reservation.h"

#include <fmt/format.h>

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

std::vector<std::string> problemsOfReservation(const api::StringMap& annotations) {
  const auto reservation = readNodeReservation(annotations);
  if (!reservation) return {reservation.error().message};
  std::vector<std::string> problems;
  if (!*reservation) return problems;
  const auto wrong = [&](std::string_view field, std::string_view what) {
    problems.push_back(
        fmt::format("metadata.annotations[{}].{}: {}", kAnnotationNodeReservation, field, what));
  };
  const NodeReservation& said = **reservation;
  for (const auto& [name, amount] : said.resources)
    if (amount.sign() < 0)
      wrong(fmt::format("resources[{}]", name), amount.toString() + " is negative");
  if (const auto cpus = CpuSet::parse(said.reservedCPUs); !cpus)
    wrong("reservedCPUs", cpus.error().message);
  const std::string& policy = said.applyPolicy;
  if (!policy.empty() && policy != "Default" && policy != "ReservedCPUsOnly")
    wrong("applyPolicy", fmt::format("\"{}\" is none of Default, ReservedCPUsOnly", policy));
  return problems;
}

api::ResourceList reservedResources(const api::StringMap& annotations) {
  const auto reservation = readNodeReservation(annotations);
  if (!reservation || !*reservation) return {};
  api::ResourceList resources;
  for (const auto& [name, amount] : (*reservation)->resources)
    if (amount.sign() >= 0) resources[name] = amount;
  if ((*reservation)->reservedCPUs.empty()) return resources;
  const auto cpus = CpuSet::parse((*reservation)->reservedCPUs);
  if (!cpus) return {};
  resources[std::string(kCpu)] = Quantity::of(static_cast<std::int64_t>(cpus->size()));
  return resources;
}

}  // namespace koord::model
