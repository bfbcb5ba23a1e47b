#include "koordctl/trace/trace_objects.h"

#include <fmt/format.h>

#include "model/node_names.h"
#include "model/well_known.h"

namespace koord::koordctl {

namespace {

// Traces do not say how much memory a GPU has. Shares are percent, so the amount does not matter.
constexpr std::int64_t kGpuBytes = std::int64_t{16} << 30;

// The models of the task, as a required node affinity.
api::Affinity affinityTo(const std::vector<std::string>& models) {
  api::NodeSelectorRequirement oneOf;
  oneOf.key = std::string(model::kLabelGpuModel);
  oneOf.operator_ = "In";
  for (const std::string& each : models) oneOf.values.push_back(each);
  api::NodeSelectorTerm term;
  term.matchExpressions.push_back(std::move(oneOf));
  api::NodeSelector required;
  required.nodeSelectorTerms.push_back(std::move(term));
  api::NodeAffinity nodes;
  nodes.requiredDuringSchedulingIgnoredDuringExecution = std::move(required);
  api::Affinity affinity;
  affinity.nodeAffinity = std::move(nodes);
  return affinity;
}

}  // namespace

std::shared_ptr<const api::Node> nodeOf(const TraceNode& node) {
  auto object = std::make_shared<api::Node>();
  object->metadata.name = node.name;
  object->metadata.uid = node.name;
  api::ResourceList& allocatable = object->status.allocatable;
  allocatable["cpu"] = Quantity::ofMilli(node.cpu);
  allocatable["memory"] = Quantity::of(node.memory * kBytesOfMib);
  allocatable["pods"] = Quantity::of(1000);
  if (node.gpus == 0) return object;
  object->metadata.labels[std::string(model::kLabelGpuModel)] = node.model;
  for (const std::string_view share : {model::kGpu, model::kGpuCore, model::kGpuMemoryRatio})
    allocatable[std::string(share)] = Quantity::of(node.gpus * 100);
  allocatable[std::string(model::kGpuMemory)] = Quantity::of(node.gpus * kGpuBytes);
  return object;
}

std::shared_ptr<const api::Device> deviceOf(const TraceNode& node) {
  if (node.gpus == 0) return nullptr;
  auto device = std::make_shared<api::Device>();
  device->metadata.name = node.name;
  for (std::int64_t minor = 0; minor < node.gpus; ++minor) {
    api::DeviceInfo& gpu = device->spec.devices.emplace_back();
    gpu.type = "gpu";
    gpu.minor = static_cast<std::int32_t>(minor);
    gpu.id = fmt::format("{}-{}", node.name, minor);
    gpu.health = true;
    gpu.resources[std::string(model::kGpuCore)] = Quantity::of(100);
    gpu.resources[std::string(model::kGpuMemoryRatio)] = Quantity::of(100);
    gpu.resources[std::string(model::kGpuMemory)] = Quantity::of(kGpuBytes);
  }
  return device;
}

std::shared_ptr<const api::Pod> podOf(const TraceTask& task, const std::string& name,
                                      const std::string& scheduler) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.name = name;
  pod->metadata.uid = name;
  pod->metadata.namespace_ = "trace";
  pod->metadata.resourceVersion = "1";
  if (!task.qos.empty()) pod->metadata.labels[std::string(model::kLabelQos)] = task.qos;
  pod->spec.schedulerName = scheduler;
  pod->spec.priority = static_cast<std::int32_t>(task.priority);
  api::Container& container = pod->spec.containers.emplace_back();
  container.name = "task";
  api::ResourceList& requests = container.resources.requests;
  requests["cpu"] = Quantity::ofMilli(task.cpu);
  requests["memory"] = Quantity::of(task.memory * kBytesOfMib);
  if (task.gpus == 0) return pod;
  // Parts of a GPU in percent, rounded up; several GPUs are whole.
  const std::int64_t percent = task.gpus > 1 ? task.gpus * 100 : (task.share + 9) / 10;
  for (const std::string_view share : {model::kGpuCore, model::kGpuMemoryRatio})
    requests[std::string(share)] = Quantity::of(percent);
  if (!task.models.empty()) pod->spec.affinity = affinityTo(task.models);
  return pod;
}

}  // namespace koord::koordctl
