#include <algorithm>
#include <tuple>

#include "cluster/screen/object_rows.h"
#include "model/pod_requests.h"
#include "model/qos.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::cluster {

namespace {

bool isReady(const api::Pod& pod) {
  return std::ranges::any_of(pod.status.conditions, [](const api::PodCondition& condition) {
    return condition.type == "Ready" && condition.status == "True";
  });
}

// Why it does not run or is not ready.
std::string whyNot(const api::Pod& pod) {
  if (!pod.status.message.empty()) return pod.status.message.str();
  for (const auto& condition : pod.status.conditions)
    if (condition.type == "PodScheduled" && condition.status == "False") return condition.message;
  for (const auto& container : pod.status.containerStatuses)
    if (container.state.waiting) return container.state.waiting->message;
  return {};
}

Style styleOfPod(const api::Pod& pod) {
  const auto phase = pod.status.phase.view();
  if (phase == "Succeeded") return Style::Dim;
  if (phase == "Failed") return Style::Bad;
  return phase == "Running" && isReady(pod) ? Style::Normal : Style::Warning;
}

// cpu and memory, or the batch resources that replace them in BE pods.
std::pair<std::int64_t, std::int64_t> requestsOf(const api::Pod& pod) {
  using namespace model;
  if (const auto batch = runningRequest(pod.spec, kBatchCpu).value(); batch > 0)
    return {batch, runningRequest(pod.spec, kBatchMemory).value()};
  return {runningRequest(pod.spec, kCpu).milliValue(), runningRequest(pod.spec, kMemory).value()};
}

}  // namespace

const std::vector<Column>& podColumns() {
  using Kind = Column::Kind;
  static const std::vector<Column> columns = {{"POD"},
                                              {"STATE"},
                                              {"CPU/REQUEST", Kind::Amount, 11},
                                              {"DATA", Kind::Age, 4},
                                              {"AGE", Kind::Age, 4},
                                              {"QOS", Kind::Text, 3},
                                              {"NODE"},
                                              {"MEMORY/REQUEST", Kind::Amount, 13},
                                              {"RESTARTS", Kind::Amount, 8},
                                              {"WHY"}};
  return columns;
}

std::string stateOfPod(const api::Pod& pod) {
  if (pod.metadata.deletionTimestamp && !api::isTerminal(pod)) return "Terminating";
  for (const auto& container : pod.status.containerStatuses)
    if (container.state.waiting && !container.state.waiting->reason.empty())
      return std::string(container.state.waiting->reason);
  if (!pod.status.reason.empty()) return pod.status.reason.str();
  const auto phase = pod.status.phase.view();
  if (phase == "Running" && !isReady(pod)) return "not ready";
  return phase.empty() ? "Pending" : std::string(phase);
}

PodUses usesOf(const Objects& objects) {
  PodUses uses;
  for (const auto& metric : objects.metrics)
    for (const auto& pod : metric->status.podsMetric)
      uses[{pod.namespace_, pod.name}] = {
          {model::amountOf(pod.podUsage.resources, model::kCpu).milliValue(),
           model::amountOf(pod.podUsage.resources, model::kMemory).value()},
          metric->status.updateTime};
  return uses;
}

std::vector<Row> podRows(const Objects& objects) {
  const PodUses uses = usesOf(objects);
  std::vector<Row> rows;
  rows.reserve(objects.pods.size());
  for (const auto& pod : objects.pods) {
    const auto& meta = pod->metadata;
    // Pods that have ended since the report do not use anything.
    const auto use = pod->status.phase == "Running" ? uses.find(api::keyOf(meta)) : uses.end();
    using Some = std::optional<std::int64_t>;
    const bool known = use != uses.end();
    const auto [cpu, memory] = requestsOf(*pod);
    int restarts = 0;
    for (const auto& container : pod->status.containerStatuses) restarts += container.restartCount;
    Row row{{Subject::Kind::Pod, meta.namespace_, meta.name}, {}, styleOfPod(*pod)};
    row.values = {textValue(meta.namespace_ + "/" + meta.name),
                  textValue(stateOfPod(*pod)),
                  coresOfValue(known ? Some(use->second.used.cpuMilli) : std::nullopt, cpu),
                  sinceValue(known ? use->second.reported : std::nullopt),
                  sinceValue(meta.creationTimestamp),
                  textValue(std::string(model::textOf(model::qosWithDefault(*pod)))),
                  textValue(pod->spec.nodeName),
                  bytesOfValue(known ? Some(use->second.used.memoryBytes) : std::nullopt, memory),
                  numberValue(restarts),
                  textValue(whyNot(*pod))};
    rows.push_back(std::move(row));
  }
  std::ranges::sort(
      rows, {}, [](const Row& row) { return std::tie(row.subject.namespace_, row.subject.name); });
  return rows;
}

}  // namespace koord::cluster
