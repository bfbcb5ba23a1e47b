#include "koordlet/qos/cpusuppress/topology_annotations.h"

#include <algorithm>

#include "base/json.h"
#include "koordlet/system/take_cpus.h"
#include "model/node_reservation.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::koordlet::cpusuppress {
namespace {

CpuSet cpusIn(std::string_view text) {
  return CpuSet::parse(text).value_or(CpuSet{});
}

CpuSet reservedIn(const model::NodeReservation& reservation, const CpuTopology* topology) {
  if (!reservation.reservedCPUs.empty()) return cpusIn(reservation.reservedCPUs);
  // Quantities round up: a part of a CPU cannot be set aside.
  const std::int64_t count = model::amountOf(reservation.resources, model::kCpu).value();
  if (!topology || count <= 0) return {};
  const auto all = static_cast<std::int64_t>(topology->count());
  return takeByTopology(*topology, topology->all(), static_cast<int>(std::min(count, all)))
      .value_or(CpuSet{});
}

bool pinnedByKoordinator(const PodView& view) {
  if (view.qos == model::Qos::LS || view.qos == model::Qos::BE) return true;
  const auto* text = api::findIn(view.pod->metadata.annotations, model::kAnnotationResourceStatus);
  const auto document = text ? parseJson(*text) : Result<json::value>(json::value());
  return document && !textAt(*document, "cpuset").empty();
}

}  // namespace

CpuSet ownedByKubelet(const CpuManagerState& state, const std::vector<PodView>& pods) {
  CpuSet owned;
  for (const auto& [uid, cpus] : state.owned) {
    const auto view = std::ranges::find(pods, uid, [](const PodView& pod) { return pod.uid(); });
    // A pod that is not listed yet owns them, too.
    if (view == pods.end() || !pinnedByKoordinator(*view)) owned = owned.unionWith(cpus);
  }
  return owned;
}

CpuSet excludedCpus(const api::StringMap& nodeAnnotations, const CpuTopology* topology) {
  CpuSet excluded;
  if (const auto reservation = model::readNodeReservation(nodeAnnotations);
      reservation && *reservation)
    excluded = reservedIn(**reservation, topology);
  if (const auto* text = api::findIn(nodeAnnotations, model::kAnnotationSystemQosResource)) {
    const auto document = parseJson(*text);
    if (document) {
      const auto* exclusive = find(*document, "cpusetExclusive");
      const bool shared = exclusive && exclusive->is_bool() && !exclusive->get_bool();
      if (!shared) excluded = excluded.unionWith(cpusIn(textAt(*document, "cpuset")));
    }
  }
  return excluded;
}

bool placedByScheduler(const api::Pod& pod) {
  const auto* text = api::findIn(pod.metadata.annotations, model::kAnnotationResourceStatus);
  const auto document = text ? parseJson(*text) : Result<json::value>(json::value());
  if (!document) return false;
  const auto* nodes = find(*document, "numaNodeResources");
  return !textAt(*document, "cpuset").empty() ||
         (nodes && nodes->is_array() && !nodes->get_array().empty());
}

std::vector<PinnedPod> pinnedPods(const std::vector<PodView>& pods) {
  std::vector<PinnedPod> pinned;
  for (const auto& view : pods) {
    const auto* text =
        api::findIn(view.pod->metadata.annotations, model::kAnnotationResourceStatus);
    if (!text || !view.active()) continue;
    const auto document = parseJson(*text);
    if (!document) continue;
    if (CpuSet cpus = cpusIn(textAt(*document, "cpuset")); !cpus.empty())
      pinned.push_back({view.qos, std::move(cpus)});
  }
  return pinned;
}

}  // namespace koord::koordlet::cpusuppress
