// The log output of --debug-scores, --debug-filters and --debug-diagnosis, in upstream's words.
// Costs nothing while it is off.

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "scheduler/core/diagnosis_document.h"
#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

void Scheduler::logFilterFailures(Attempt& attempt, const SearchResult& result) {
  const auto write = [&](NodeId node, std::string_view plugin, const Rejection& rejection) {
    log::info(
        "Failed to filter for Pod \"{}\" on Node \"{}\" (pass 0), failedPlugin: {}, reason: {}",
        attempt.pod.info->key(), shared_.cluster.node(node).name, plugin,
        fmt::join(rejection.reasons, ", "));
  };
  if (!result.status.ok()) {
    forEachRejected(shared_.cluster, result.diagnosis,
                    [&](NodeId node, const Rejection& rejection) {
                      write(node, result.diagnosis.filterPlugins[rejection.plugin], rejection);
                    });
    return;
  }
  // A successful search does not keep the reasons of rejected nodes.
  NodeSearch& search = attempt.profile->search();
  CycleState state;
  if (!search.prepare(state, attempt.pod.info).status.ok()) return;
  NodeSet nodes = shared_.cluster.live();
  Verdicts verdicts;
  verdicts.clear(shared_.cluster.capacity());
  if (!search.filterNodes(state, attempt.pod.info, nodes, verdicts).ok()) return;
  const auto& filters = attempt.profile->profile().filter;
  shared_.cluster.live().forEach([&](NodeId node) {
    const VerdictId verdict = verdicts.at(node);
    if (verdict == kPasses) return;
    const Rejection& rejection = verdicts.rejection(verdict);
    write(node, filters[rejection.plugin].name, rejection);
  });
}

void Scheduler::dumpDiagnosis(const Attempt& attempt, const Diagnosis& diagnosis) {
  const PodInfo& pod = *attempt.pod.info;
  json::object document = diagnosisDocument(shared_.cluster, pod, diagnosis, executor_.wallNow());
  if (!attempt.group.empty()) {
    document["questionedKey"] = attempt.group;
    document["isRootCausePod"] = attempt.rootCause;
    document["scheduleDiagnosis"].get_object()["alreadyWaitForBound"] = attempt.waiting;
  }
  const auto write = [key = pod.key(), target = pod.key() + "/" + pod.uid(),
                      document = std::move(document)] {
    log::info("dump diagnosis for {}, targetPod: {}: ${}", key, target, toJson(document));
  };
  if (debug_.diagnosisAtOnce) return write();
  if (diagnosesWaiting_ >= debug_.diagnosisQueue)
    return log::warn("Diagnosis queue is full, dropping diagnosis for {}", pod.key());
  ++diagnosesWaiting_;
  executor_.post([this, alive = alive_, write] {
    write();
    if (*alive) --diagnosesWaiting_;
  });
}

void Scheduler::printScores(Attempt& attempt) {
  NodeSearch& search = attempt.profile->search();
  CycleState state;
  if (!search.prepare(state, attempt.pod.info).status.ok()) return;
  NodeSet nodes = shared_.cluster.live();
  Verdicts verdicts;
  verdicts.clear(shared_.cluster.capacity());
  if (!search.filterNodes(state, attempt.pod.info, nodes, verdicts).ok()) return;
  std::vector<NodeId> list;
  nodes.copyTo(list);
  const auto table = search.scoreNodes(state, attempt.pod.info, list);
  if (!table) return;
  std::vector<std::size_t> order(list.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, std::greater<>{},
                           [&](std::size_t i) { return table->totals[i]; });
  std::string text = fmt::format(
      "Top{} scores for Pod: {}, feasibleNodes: {}, plugins:[{}]\n| # | Pod | Node | Score |",
      debug_.topScores, attempt.pod.info->key(), list.size(), fmt::join(table->plugins, " "));
  for (const auto& plugin : table->plugins) text += fmt::format(" {} |", plugin);
  text += "\n| --- | --- | --- | ---:|";
  for (std::size_t p = 0; p < table->plugins.size(); ++p) text += " ---:|";
  const std::size_t rows = std::min(order.size(), static_cast<std::size_t>(debug_.topScores));
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t n = order[row];
    text += fmt::format("\n| {} | {} | {} | {} |", row, attempt.pod.info->key(),
                        shared_.cluster.node(list[n]).name, table->totals[n]);
    for (const auto& values : table->values) text += fmt::format(" {} |", values[n]);
  }
  log::write(log::Level::Info, text);
}

}  // namespace koord::scheduler
