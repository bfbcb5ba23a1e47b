#include "scheduler/services/diagnose.h"

#include <algorithm>

#include "base/time.h"
#include "scheduler/core/diagnosis_document.h"
#include "scheduler/services/explain.h"

namespace koord::scheduler {

namespace {

// The plugins' current answers for a pending pod.
struct Finding {
  PodPtr pod;
  Verdicts verdicts;
  Diagnosis diagnosis;  // borrows the verdicts
  std::string error;    // of a plugin that failed
  std::string held;     // why it waits although nodes would take it
  std::string node;     // the best of those that take it; "" = none does
};

std::string bestOf(NodeSearch& search, const Cluster& cluster, CycleState& state, const PodPtr& pod,
                   const NodeSet& feasible) {
  std::vector<NodeId> nodes;
  feasible.copyTo(nodes);
  if (nodes.empty()) return {};
  const auto table = search.scoreNodes(state, pod, nodes);
  if (!table) return cluster.node(nodes.front()).name;
  const auto best = std::ranges::max_element(table->totals) - table->totals.begin();
  return cluster.node(nodes[static_cast<std::size_t>(best)]).name;
}

Result<std::unique_ptr<Finding>> findingFor(Scheduler& scheduler, const api::ObjectKey& key) {
  auto finding = std::make_unique<Finding>();
  finding->pod = scheduler.pending(key);
  if (!finding->pod)
    return fail(ErrorCode::NotFound, "no pod " + key.toString() + " waits to be scheduled");
  const auto profile = scheduler.profiles().find(finding->pod->pod->spec.schedulerName);
  if (profile == scheduler.profiles().end())
    return fail(ErrorCode::NotFound, "no profile schedules pod " + key.toString());
  const Cluster& cluster = scheduler.cluster();
  NodeSearch& search = profile->second->search();
  CycleState state;
  SearchResult prepared = search.prepare(state, finding->pod);
  finding->held = waitReason(scheduler, *finding->pod);
  Diagnosis& diagnosis = finding->diagnosis;
  diagnosis = std::move(prepared.diagnosis);
  diagnosis.totalNodes = cluster.liveCount();
  diagnosis.filterPlugins = search.filterNames();
  if (!prepared.status.ok()) {
    if (!prepared.status.rejected()) finding->error = prepared.status.message();
    return finding;
  }
  finding->verdicts.clear(cluster.capacity());
  diagnosis.verdicts = &finding->verdicts;
  NodeSet feasible = cluster.live();
  const Status status = search.filterNodes(state, finding->pod, feasible, finding->verdicts);
  if (status.ok()) {
    finding->node = bestOf(search, cluster, state, finding->pod, feasible);
  } else {
    finding->error = status.message();
  }
  return finding;
}

}  // namespace

Result<json::value> diagnosePod(Scheduler& scheduler, const api::ObjectKey& key, WallTime now) {
  const auto finding = findingFor(scheduler, key);
  if (!finding) return fail(Error(finding.error()));
  const Finding& found = **finding;
  json::object document = diagnosisDocument(scheduler.cluster(), *found.pod, found.diagnosis, now);
  if (!found.held.empty()) {
    // As upstream reports members that wait because of another member's failure.
    document.emplace("preFilterMessage", found.held);
    document["isRootCausePod"] = found.node.empty();
  }
  document.emplace("plugins", pluginFacts(scheduler, *found.pod));
  return json::value(std::move(document));
}

Result<json::value> explainSchedule(Scheduler& scheduler, const api::ObjectKey& key, WallTime now) {
  const auto found = findingFor(scheduler, key);
  if (!found) return fail(Error(found.error()));
  const Finding& finding = **found;
  const bool schedulable = !finding.node.empty() && finding.held.empty();
  json::object answer{{"schedulable", schedulable}};
  std::string message;
  if (schedulable) {
    answer.emplace("feasibleSchedulingResult",
                   json::array{json::object{{"namespace", key.namespace_},
                                            {"name", key.name},
                                            {"uid", finding.pod->uid()},
                                            {"nodeName", finding.node}}});
  } else {
    message = !finding.error.empty()  ? finding.error
              : !finding.node.empty() ? finding.held
                                      : finding.diagnosis.message();
    answer.emplace("failedMessage", message);
  }
  answer.emplace("nodeFailedDetails", failedDetails(scheduler.cluster(), finding.diagnosis));
  json::object status{{"schedulable", schedulable}};
  if (!schedulable) status.emplace("failedMessage", message);
  status.emplace("lastUpdateTime", formatTime(now));
  status.emplace("detailedExplanation",
                 json::array{json::object{{"topologyDomain", ""},
                                          {"schedulable", schedulable},
                                          {"scheduleExplanation", std::move(answer)}}});
  return json::value(
      json::object{{"apiVersion", "scheduling.koordinator.sh/v1alpha1"},
                   {"kind", "ScheduleExplanation"},
                   {"metadata", json::object{{"namespace", key.namespace_}, {"name", key.name}}},
                   {"spec", json::object{{"questionObjectKey", key.toString()}}},
                   {"status", std::move(status)}});
}

}  // namespace koord::scheduler
