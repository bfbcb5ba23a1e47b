#include "cluster/screen/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <unordered_set>

#include "cluster/simnode/kwok.h"
#include "manager/noderesource/batch_resource.h"
#include "model/pod_requests.h"
#include "model/qos.h"
#include "model/resources.h"
#include "model/slo_config.h"
#include "model/well_known.h"

namespace koord::cluster {

namespace {

Amounts amountsOf(const api::ResourceList& list) {
  return {model::amountOf(list, model::kCpu).milliValue(),
          model::amountOf(list, model::kMemory).value()};
}

Amounts batchOf(const api::ResourceList& list) {
  return {model::amountOf(list, model::kBatchCpu).value(),
          model::amountOf(list, model::kBatchMemory).value()};
}

void add(Amounts& sum, const Amounts& amounts) {
  sum.cpuMilli += amounts.cpuMilli;
  sum.memoryBytes += amounts.memoryBytes;
}

bool bestEffort(const api::Pod& pod) {
  return model::qosWithDefault(pod) == model::Qos::BE;
}

std::string pendingReason(const api::Pod& pod) {
  for (const auto& condition : pod.status.conditions)
    if (condition.type == "PodScheduled" && condition.status == "False") return condition.message;
  for (const auto& container : pod.status.containerStatuses)
    if (container.state.waiting) {
      const auto& waiting = *container.state.waiting;
      return waiting.message.empty() ? waiting.reason : waiting.reason + ": " + waiting.message;
    }
  return "not scheduled yet";
}

std::int64_t numberAt(const json::value& from, std::string_view key) {
  const double number = realNumber(memberOf(from, key)).value_or(0);
  return std::abs(number) < 0x1p63 ? static_cast<std::int64_t>(number) : 0;
}

bool enabled(const json::value& section) {
  const auto* value = find(section, "enabled");
  return value && value->is_bool() && value->get_bool();
}

// A node that offers less gets a sentence that says why.
constexpr std::int64_t kLittleMilli = 100;

using PodPtr = std::shared_ptr<const api::Pod>;
using PodsOfNodes = std::map<std::string, std::vector<PodPtr>>;
// A report covers a minute or more: pods that have ended since are in it but do not use anything
// now.
using Running = std::unordered_set<api::ObjectKey>;

NodeLine lineOf(const api::Node& node) {
  NodeLine line;
  line.name = node.metadata.name;
  line.simulated = isSimulated(node);
  line.host = api::findIn(node.metadata.labels, model::kLabelKoordctlNode) != nullptr;
  for (const auto& condition : node.status.conditions)
    if (condition.type == "Ready") line.ready = condition.status == "True";
  line.allocatable = amountsOf(node.status.allocatable);
  line.batch = batchOf(node.status.allocatable);
  line.created = node.metadata.creationTimestamp;
  line.cordoned = node.spec.unschedulable;
  return line;
}

void addPods(const std::vector<PodPtr>& pods, NodeLine& line) {
  line.pods = static_cast<int>(pods.size());
  for (const auto& pod : pods) {
    add(line.batchRequested, {model::runningRequest(pod->spec, model::kBatchCpu).value(),
                              model::runningRequest(pod->spec, model::kBatchMemory).value()});
    if (pod->status.phase == "Running") ++(bestEffort(*pod) ? line.bePods : line.lsPods);
  }
}

void addUsage(const api::NodeMetric& metric, const Running& running, WallTime now, NodeLine& line) {
  if (!metric.status.nodeMetric) return;
  line.used = amountsOf(metric.status.nodeMetric->nodeUsage.resources);
  line.reported = metric.status.updateTime;
  if (line.reported) line.age = now - *line.reported;
  for (const auto& info : metric.status.podsMetric)
    if (info.qos == "BE" && running.contains({info.namespace_, info.name}))
      add(line.beUsed, amountsOf(info.podUsage.resources));
}

void explainLittleBatch(const Objects& input, const PodsOfNodes& pods, ClusterStatus& status) {
  if (!input.sloConfig) return;
  model::ColocationConfig config;
  config.update(input.sloConfig.get());
  std::map<std::string, const api::NodeMetric*> metrics;
  for (const auto& metric : input.metrics) metrics[metric->metadata.name] = metric.get();
  for (const auto& node : input.nodes) {
    const std::string& name = node->metadata.name;
    const std::int64_t offered = batchOf(node->status.allocatable).cpuMilli;
    if (isSimulated(*node) || offered >= kLittleMilli) continue;
    const auto strategy = config.strategyOf(node->metadata);
    if (!strategy.enable.value_or(false)) {
      status.littleBatch.push_back(
          {name, fmt::format("no batch-cpu on {}: co-location is switched off "
                             "(colocation-config.enable)",
                             name)});
      continue;
    }
    static const api::NodeMetric none;
    const auto metric = metrics.find(name);
    const auto of = pods.find(name);
    const manager::NodeView view{
        strategy, *node, metric == metrics.end() ? none : *metric->second,
        of == pods.end() ? std::span<const PodPtr>{} : std::span<const PodPtr>{of->second},
        input.now};
    status.littleBatch.push_back({name, fmt::format("batch-cpu {} on {}: {}", cores(offered), name,
                                                    manager::explainBatchCpu(view))});
  }
}

std::string percentOf(const json::value& from, std::string_view key) {
  return fmt::format("{}%", numberAt(from, key));
}

// A negative part is text: -0.3 cores are of no use.
std::string budgetText(const json::value& cpu) {
  const auto budget = numberAt(cpu, "budgetMilli");
  const std::string whole = cores(numberAt(cpu, "nodeMilli"));
  if (budget >= 0) return fmt::format("budget {} of {} cores", cores(budget), whole);
  return fmt::format("budget 0 of {} cores, {} are used beyond {}", whole, cores(-budget),
                     percentOf(cpu, "thresholdPercent"));
}

}  // namespace

std::string cores(std::int64_t milli) {
  if (milli % 1000 == 0) return fmt::format("{}", milli / 1000);
  return fmt::format("{:.2f}", static_cast<double>(milli) / 1000.0);
}

std::string bytesText(std::int64_t bytes) {
  const char* units[] = {"", "Ki", "Mi", "Gi", "Ti"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  return value >= 100 || unit == 0 ? fmt::format("{:.0f}{}", value, units[unit])
                                   : fmt::format("{:.1f}{}", value, units[unit]);
}

std::string ageText(Duration age) {
  const auto seconds =
      std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::seconds>(age).count(), 0);
  if (seconds < 120) return fmt::format("{}s", seconds);
  if (seconds < 120 * 60) return fmt::format("{}m", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{}h", seconds / 3600);
  return fmt::format("{}d", seconds / 86400);
}

void summarize(const Objects& input, ClusterStatus& status) {
  PodsOfNodes onNodes;
  std::vector<PodPtr> waiting;
  Running running;
  for (const auto& pod : input.pods) {
    ++status.pods[pod->status.phase.empty() ? "Pending" : pod->status.phase.str()];
    if (api::isTerminal(*pod)) continue;
    if (pod->status.phase == "Running")
      running.insert(api::keyOf(pod->metadata));
    else
      waiting.push_back(pod);
    if (!pod->spec.nodeName.empty()) onNodes[pod->spec.nodeName].push_back(pod);
  }
  std::ranges::sort(waiting, {}, [](const PodPtr& pod) {
    return std::tuple(pod->metadata.creationTimestamp, pod->metadata.namespace_,
                      pod->metadata.name);
  });
  for (const auto& pod : waiting) {
    const auto& made = pod->metadata.creationTimestamp;
    status.pending.push_back(fmt::format("{}{}: {}", api::keyOf(pod->metadata).toString(),
                                         made ? " (" + ageText(input.now - *made) + ")" : "",
                                         pendingReason(*pod)));
  }
  std::map<std::pair<bool, std::string>, NodeLine> lines;
  for (const auto& node : input.nodes) {
    NodeLine line = lineOf(*node);
    const auto pods = onNodes.find(line.name);
    if (pods != onNodes.end()) addPods(pods->second, line);
    const auto key = std::pair(!line.host, line.name);
    lines.emplace(key, std::move(line));
  }
  std::map<std::string, NodeLine*> byName;
  for (auto& [key, line] : lines) byName[line.name] = &line;
  for (const auto& metric : input.metrics)
    if (const auto line = byName.find(metric->metadata.name); line != byName.end())
      addUsage(*metric, running, input.now, *line->second);
  for (auto& [key, line] : lines) status.nodes.push_back(std::move(line));
  explainLittleBatch(input, onNodes, status);
  status.moves = describeMoves(input.migrations, input.now);
}

QosLine describeQos(const json::value& document) {
  QosLine qos;
  qos.node = textAt(document, "node");
  if (const auto* cpu = find(document, "cpuSuppress")) {
    if (!enabled(*cpu)) {
      qos.lines.push_back("CPU suppress: off");
    } else {
      const std::string_view policy = textAt(*cpu, "policy");
      const auto quota = numberAt(*cpu, "beQuotaUs");
      std::string held = policy == "cfsQuota"
                             ? (quota < 0 ? std::string("no quota")
                                          : fmt::format("quota {} cores", cores(quota / 100)))
                             : fmt::format("cpus {}", textAt(*cpu, "beCpuset"));
      qos.lines.push_back(
          fmt::format("CPU suppress ({}): BE limited to {}; {}, LS uses {}, system {}", policy,
                      held, budgetText(*cpu), cores(numberAt(*cpu, "lsUsedMilli")),
                      cores(numberAt(*cpu, "systemUsedMilli"))));
    }
    if (const auto reason = textAt(*cpu, "reason"); !reason.empty())
      qos.lines.push_back("  why: " + std::string(reason));
  }
  if (const auto* memory = find(document, "memoryEvict")) {
    if (!enabled(*memory)) {
      qos.lines.push_back("memory eviction: off");
    } else {
      qos.lines.push_back(
          fmt::format("memory eviction: {}% used, BE pods are evicted from {}% down to {}%",
                      numberAt(*memory, "usedPercent"), numberAt(*memory, "thresholdPercent"),
                      numberAt(*memory, "lowerPercent")));
    }
    if (const auto last = textAt(*memory, "lastEviction"); !last.empty())
      qos.lines.push_back("  last eviction: " + std::string(last));
  }
  return qos;
}

}  // namespace koord::cluster
