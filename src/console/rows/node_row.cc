#include <algorithm>

#include "console/rows/rows.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::console {

namespace {

// Ends of the label keys that name a place, from the largest place to the smallest:
// topology.kubernetes.io/zone, network.topology.nvidia.com/spine, example.com/rack.
constexpr std::string_view kPlaces[] = {"/zone",  "/superblock", "/spine",
                                        "/block", "/leaf",       "/rack"};

std::string placesJson(const api::StringMap& labels) {
  std::string out;
  for (const auto place : kPlaces) {
    const auto label = std::ranges::find_if(
        labels, [&](const auto& item) { return std::string_view(item.first).ends_with(place); });
    if (label == labels.end() || label->second.empty()) continue;
    out += out.empty() ? "[" : ",";
    appendJsonText(out, label->second);
  }
  return out.empty() ? out : out + "]";
}

const api::NodeCondition* readiness(const api::Node& node) {
  for (const auto& condition : node.status.conditions)
    if (condition.type == "Ready") return &condition;
  return nullptr;
}

// Whole GPUs: koordinator.sh/gpu counts hundredths, vendors count devices.
Quantity gpusOf(const api::Node& node) {
  const auto shares = model::amountOf(node.status.allocatable, model::kGpu).value();
  if (shares > 0) return Quantity::of(shares / 100);
  Quantity whole;
  for (const auto& [name, amount] : node.status.allocatable)
    if (std::string_view(name).ends_with(".com/gpu")) whole.add(amount);
  return whole;
}

std::string_view kindOf(const api::Node& node) {
  const auto& meta = node.metadata;
  if (api::findIn(meta.annotations, "kwok.x-k8s.io/node")) return "simulated";
  return api::findIn(meta.labels, model::kLabelKoordctlNode) ? "this host" : "";
}

}  // namespace

// name, ready, cordoned, cpu, memory, batch cpu, batch memory, mid cpu, mid memory, GPUs, places,
// created, why it is not ready, kind
Row rowOf(const api::Node& node) {
  const auto& offers = node.status.allocatable;
  Row row{node.metadata.name, {}, {}, {}};
  row.figures = {.cpu = model::amountOf(offers, model::kCpu).milliValue(),
                 .memory = mebibytes(model::amountOf(offers, model::kMemory)),
                 .batchCpu = model::amountOf(offers, model::kBatchCpu).value(),
                 .batchMemory = mebibytes(model::amountOf(offers, model::kBatchMemory)),
                 .devices = gpusOf(node).scaledValue(-2)};
  const auto* ready = readiness(node);
  const bool isReady = ready && ready->status == "True";
  RowWriter out;
  out.text(node.metadata.name);
  out.flag(isReady);
  out.flag(node.spec.unschedulable);
  out.number(row.figures.cpu);
  out.number(row.figures.memory);
  out.number(row.figures.batchCpu);
  out.number(row.figures.batchMemory);
  out.number(model::amountOf(offers, model::kMidCpu).value());
  out.number(mebibytes(model::amountOf(offers, model::kMidMemory)));
  out.number(row.figures.devices / 100);
  out.json(placesJson(node.metadata.labels));
  out.time(node.metadata.creationTimestamp);
  out.text(isReady ? std::string_view()
           : ready ? ready->message.view()
                   : "kubelet has not reported");
  out.text(kindOf(node));
  row.columns = std::move(out).finish();
  return row;
}

// node, measured, cpu, memory, system cpu, system memory, cpu and memory of BE pods
std::optional<Row> rowOf(const api::NodeMetric& metric) {
  if (!metric.status.nodeMetric || !metric.status.updateTime) return std::nullopt;
  Row row{metric.metadata.name, {}, {}, {}};
  const api::ResourceList& node = metric.status.nodeMetric->nodeUsage.resources;
  const api::ResourceList& system = metric.status.nodeMetric->systemUsage.resources;
  row.figures.cpu = model::amountOf(node, model::kCpu).milliValue();
  row.figures.memory = mebibytes(model::amountOf(node, model::kMemory));
  Quantity batchCpu;
  for (const auto& pod : metric.status.podsMetric) {
    if (pod.qos != "BE") continue;
    batchCpu.add(model::amountOf(pod.podUsage.resources, model::kCpu));
    row.figures.batchMemory += mebibytes(model::amountOf(pod.podUsage.resources, model::kMemory));
  }
  row.figures.batchCpu = batchCpu.milliValue();
  RowWriter out;
  out.text(metric.metadata.name);
  out.time(metric.status.updateTime);
  out.number(row.figures.cpu);
  out.number(row.figures.memory);
  out.number(model::amountOf(system, model::kCpu).milliValue());
  out.number(mebibytes(model::amountOf(system, model::kMemory)));
  out.number(row.figures.batchCpu);
  out.number(row.figures.batchMemory);
  row.columns = std::move(out).finish();
  return row;
}

}  // namespace koord::console
