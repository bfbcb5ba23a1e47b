#include "cluster/up/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/time.h"
#include "cluster/simnode/kwok.h"
#include "model/qos.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::cluster {

namespace {

constexpr std::size_t kMaxPending = 5;

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

std::string whyPending(const api::Pod& pod) {
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
  const auto* number = find(from, key);
  if (!number || !number->is_number()) return 0;
  return static_cast<std::int64_t>(number->to_number<double>());
}

bool enabled(const json::value& section) {
  const auto* value = find(section, "enabled");
  return value && value->is_bool() && value->get_bool();
}

std::string clipped(std::string line, int width) {
  // Columns, not bytes: what is cut is ASCII apart from names, where a byte more or less is
  // harmless.
  if (width > 0 && line.size() > static_cast<std::size_t>(width))
    line.resize(static_cast<std::size_t>(width));
  return line;
}

std::string bar(std::int64_t part, std::int64_t whole, int cells) {
  const auto full = whole <= 0 ? 0 : std::clamp<std::int64_t>(part * cells / whole, 0, cells);
  return std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(cells - full), '.');
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

void summarize(const StatusInput& input, ClusterStatus& status) {
  std::map<std::string, NodeLine> nodes;
  for (const auto& node : input.nodes) {
    NodeLine& line = nodes[node->metadata.name];
    line.name = node->metadata.name;
    line.simulated = isSimulated(*node);
    line.host = api::findIn(node->metadata.labels, "koordctl.koordinator.sh/node") != nullptr;
    for (const auto& condition : node->status.conditions)
      if (condition.type == "Ready") line.ready = condition.status == "True";
    line.allocatable = amountsOf(node->status.allocatable);
    line.batch = batchOf(node->status.allocatable);
  }
  for (const auto& pod : input.pods) {
    ++status.pods[pod->status.phase.empty() ? "Pending" : pod->status.phase.str()];
    if (pod->status.phase != "Running" && !api::isTerminal(*pod) &&
        status.pending.size() < kMaxPending)
      status.pending.push_back(
          fmt::format("{}: {}", api::keyOf(pod->metadata).toString(), whyPending(*pod)));
    const auto node = nodes.find(pod->spec.nodeName);
    if (node == nodes.end() || api::isTerminal(*pod)) continue;
    for (const auto& container : pod->spec.containers)
      add(node->second.batchRequested, batchOf(container.resources.requests));
    if (pod->status.phase == "Running")
      ++(bestEffort(*pod) ? node->second.bePods : node->second.lsPods);
  }
  for (const auto& metric : input.metrics) {
    const auto node = nodes.find(metric->metadata.name);
    if (node == nodes.end() || !metric->status.nodeMetric) continue;
    node->second.used = amountsOf(metric->status.nodeMetric->nodeUsage.resources);
    for (const auto& pod : metric->status.podsMetric)
      if (pod.qos == "BE") add(node->second.beUsed, amountsOf(pod.podUsage.resources));
  }
  for (auto& [name, line] : nodes) status.nodes.push_back(std::move(line));
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
      qos.lines.push_back(fmt::format(
          "CPU suppress ({}): BE held to {}; budget {} of {} cores, LS uses {}, system {}", policy,
          held, cores(numberAt(*cpu, "budgetMilli")), cores(numberAt(*cpu, "nodeMilli")),
          cores(numberAt(*cpu, "lsUsedMilli")), cores(numberAt(*cpu, "systemUsedMilli"))));
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

std::vector<std::string> renderStatus(const ClusterStatus& status, int width, int height) {
  std::vector<std::string> lines;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(status.uptime);
  const std::string up = seconds.count() > 0 ? "  up " + formatDuration(seconds) : std::string();
  lines.push_back("API server " + status.server + up);
  if (!status.kubeconfig.empty()) lines.push_back("kubeconfig " + status.kubeconfig);
  for (const auto& note : status.notes) lines.push_back("note: " + note);
  lines.emplace_back();
  if (!status.components.empty()) {
    lines.push_back(
        fmt::format("{:<16} {:<28} {:>8}  {}", "COMPONENT", "STATE", "RESTARTS", "METRICS"));
    for (const auto& component : status.components)
      lines.push_back(fmt::format("{:<16} {:<28} {:>8}  {}", component.name, component.state,
                                  component.restarts, component.endpoint));
    lines.emplace_back();
  }

  // What comes after the nodes is short; the nodes get the room that is left.
  std::vector<std::string> after;
  std::string phases;
  for (const auto& [phase, count] : status.pods) phases += fmt::format("  {} {}", count, phase);
  after.emplace_back();
  after.push_back("PODS" + (phases.empty() ? std::string("  none") : phases));
  for (const auto& why : status.pending) after.push_back("  waiting: " + why);
  for (const auto& qos : status.qos) {
    after.emplace_back();
    after.push_back(fmt::format("koordlet on {}", qos.node));
    for (const auto& line : qos.lines) after.push_back("  " + line);
  }

  lines.push_back(fmt::format("{:<20} {:<9} {:<10} {:>12} {:>15} {:>14} {:>17} {:>7} {:>7} {:>8}",
                              "NODE", "STATE", "CPU", "USED/CORES", "MEMORY", "BATCH-CPU",
                              "BATCH-MEMORY", "LS-PODS", "BE-PODS", "BE-CPU"));
  const int left = height - static_cast<int>(lines.size() + after.size()) - 1;
  const std::size_t room =
      height > 0 ? static_cast<std::size_t>(std::max(left, 1)) : status.nodes.size();
  for (std::size_t i = 0; i < status.nodes.size(); ++i) {
    if (i == room && status.nodes.size() > room) {
      lines.push_back(fmt::format("... and {} more nodes", status.nodes.size() - room));
      break;
    }
    const auto& node = status.nodes[i];
    const std::string state = !node.ready      ? "NotReady"
                              : node.host      ? "this host"
                              : node.simulated ? "simulated"
                                               : "Ready";
    const Amounts used = node.used.value_or(Amounts{});
    lines.push_back(fmt::format(
        "{:<20} {:<9} {:<10} {:>12} {:>15} {:>14} {:>17} {:>7} {:>7} {:>8}", node.name, state,
        node.used ? bar(used.cpuMilli, node.allocatable.cpuMilli, 10) : "",
        fmt::format("{}/{}", node.used ? cores(used.cpuMilli) : "-",
                    cores(node.allocatable.cpuMilli)),
        fmt::format("{}/{}", node.used ? bytesText(used.memoryBytes) : "-",
                    bytesText(node.allocatable.memoryBytes)),
        fmt::format("{}/{}", cores(node.batchRequested.cpuMilli), cores(node.batch.cpuMilli)),
        fmt::format("{}/{}", bytesText(node.batchRequested.memoryBytes),
                    bytesText(node.batch.memoryBytes)),
        node.lsPods, node.bePods, cores(node.beUsed.cpuMilli)));
  }
  lines.insert(lines.end(), after.begin(), after.end());
  if (height > 0 && lines.size() > static_cast<std::size_t>(height))
    lines.resize(static_cast<std::size_t>(height));
  for (auto& line : lines) line = clipped(std::move(line), width);
  return lines;
}

std::string statusLine(const ClusterStatus& status) {
  std::size_t ready = 0;
  int ls = 0;
  int be = 0;
  Amounts batch;
  for (const auto& node : status.nodes) {
    ready += node.ready ? 1 : 0;
    ls += node.lsPods;
    be += node.bePods;
    add(batch, node.batch);
  }
  std::string line =
      fmt::format("nodes {}/{} ready, batch {} cores {}, LS pods {}, BE pods {}", ready,
                  status.nodes.size(), cores(batch.cpuMilli), bytesText(batch.memoryBytes), ls, be);
  for (const auto& component : status.components)
    if (component.state != "leading" && component.state != "running")
      line += fmt::format(", {} {}", component.name, component.state);
  for (const auto& qos : status.qos)
    if (!qos.lines.empty()) line += "; " + qos.lines.front();
  return line;
}

}  // namespace koord::cluster
