#include "koordlet/qos/cpusuppress/topology_annotations.h"

#include "base/json.h"
#include "model/node_reservation.h"
#include "model/well_known.h"

namespace koord::koordlet::cpusuppress {
namespace {

CpuSet cpusIn(std::string_view text) {
  return CpuSet::parse(text).value_or(CpuSet{});
}

}  // namespace

CpuSet excludedCpus(const api::StringMap& nodeAnnotations) {
  CpuSet excluded;
  if (const auto reservation = model::readNodeReservation(nodeAnnotations);
      reservation && *reservation)
    excluded = cpusIn((*reservation)->reservedCPUs);
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
