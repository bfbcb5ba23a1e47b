#include "scheduler/core/diagnosis_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/time.h"

namespace koord::scheduler {

// Visits the nodes that filters rejected.
void forEachRejected(const Cluster& cluster, const Diagnosis& diagnosis,
                     const std::function<void(NodeId, const Rejection&)>& visit) {
  if (!diagnosis.verdicts || diagnosis.preFilter.rejected()) return;
  cluster.live().forEach([&](NodeId node) {
    const VerdictId verdict = diagnosis.verdicts->at(node);
    if (verdict != kPasses && !diagnosis.absent.contains(node) &&
        !diagnosis.declined.contains(node))
      visit(node, diagnosis.verdicts->rejection(verdict));
  });
}

// One item for all nodes with the same reasons; names sorted.
json::array failedDetails(const Cluster& cluster, const Diagnosis& diagnosis) {
  std::map<std::tuple<std::string, std::string, bool>, std::vector<std::string>> alike;
  const auto add = [&](NodeId node, const std::string& plugin, const std::string& reason,
                       Code code) {
    alike[{plugin, reason, code != Code::UnschedulableAndUnresolvable}].push_back(
        cluster.node(node).name);
  };
  if (diagnosis.preFilter.rejected()) {
    const Status& status = diagnosis.preFilter;
    cluster.live().forEach(
        [&](NodeId node) { add(node, status.plugin(), status.message(), status.code); });
  }
  forEachRejected(cluster, diagnosis, [&](NodeId node, const Rejection& rejection) {
    add(node, diagnosis.filterPlugins[rejection.plugin],
        fmt::format("{}", fmt::join(rejection.reasons, ", ")), rejection.code);
  });
  json::array details;
  for (auto& [key, nodes] : alike) {
    const auto& [plugin, reason, preemptable] = key;
    std::ranges::sort(nodes);
    details.push_back(json::object{{"failedPlugin", plugin},
                                   {"reason", reason},
                                   {"preemptMightHelp", preemptable},
                                   {"failedNodes", json::array(nodes.begin(), nodes.end())}});
  }
  return details;
}

json::object diagnosisDocument(const Cluster& cluster, const PodInfo& pod,
                               const Diagnosis& diagnosis, WallTime now) {
  json::object document{{"timestamp", formatTime(now)}, {"questionedKey", pod.key()}};
  if (const auto& node = pod.pod->status.nominatedNodeName; !node.empty())
    document.emplace("nominatedNode", std::string(node));
  if (diagnosis.preFilter.rejected())
    document.emplace("preFilterMessage", diagnosis.preFilter.message());
  if (!diagnosis.gatheredIn.empty()) document.emplace("topologyKeyToExplain", diagnosis.gatheredIn);
  document.emplace("isRootCausePod", true);
  json::object schedule{{"alreadyWaitForBound", 0}};
  if (!diagnosis.offers.empty()) {
    json::object offers;
    for (const auto& [node, slots] : diagnosis.offers)
      offers.emplace(cluster.node(node).name, slots);
    schedule.emplace("nodeOfferSlot", std::move(offers));
  }
  schedule.emplace("nodeFailedDetails", failedDetails(cluster, diagnosis));
  document.emplace("scheduleDiagnosis", std::move(schedule));
  document.emplace("preemptionDiagnosis", nullptr);
  return document;
}

}  // namespace koord::scheduler
