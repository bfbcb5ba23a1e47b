#include "model/transforms.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/split.h"
#include "model/node_names.h"
#include "model/node_reservation.h"
#include "model/priority.h"
#include "model/well_known.h"

namespace koord::model {

namespace {

struct Renaming {
  std::string_view from;
  std::string_view to;
};
constexpr std::array<Renaming, 2> kBatch{
    {{"koordinator.sh/batch-cpu", kBatchCpu}, {"koordinator.sh/batch-memory", kBatchMemory}}};
constexpr std::array<Renaming, 6> kDevices{{{"kubernetes.io/rdma", kRdma},
                                            {"kubernetes.io/fpga", kFpga},
                                            {"kubernetes.io/gpu", kGpu},
                                            {"kubernetes.io/gpu-core", kGpuCore},
                                            {"kubernetes.io/gpu-memory", kGpuMemory},
                                            {"kubernetes.io/gpu-memory-ratio", kGpuMemoryRatio}}};

// What is called cpu is counted in cores, under all other names in thousandths.
bool rename(api::ResourceList& amounts, std::string_view from, std::string_view to) {
  const auto found = amounts.find(from);
  if (found == amounts.end() || amounts.contains(to)) return false;
  const Quantity amount = from == kCpu ? Quantity::of(found->second.milliValue()) : found->second;
  amounts.erase(from);
  amounts[to] = amount;
  return true;
}

template <class Renamings>
bool renameAll(api::ResourceList& amounts, const Renamings& renamings) {
  bool changed = false;
  for (const auto& [from, to] : renamings) changed |= rename(amounts, from, to);
  return changed;
}

// Everything by which a pod asks for resources.
template <class F>
void forEachAmounts(api::Pod& pod, F&& visit) {
  for (auto* containers : {&pod.spec.containers, &pod.spec.initContainers}) {
    for (auto& container : *containers) {
      visit(container.resources.requests);
      visit(container.resources.limits);
    }
  }
  visit(pod.spec.overhead);
}

// The names of resources in what a pod says it was given of devices:
// {"gpu": [{"minor": 0, "resources": {...}}]}
void renameAllocatedDevices(api::StringMap& annotations) {
  const auto found = annotations.find(kAnnotationDeviceAllocated);
  if (found == annotations.end() || found->second.find("\"kubernetes.io/") == std::string::npos)
    return;
  auto allocated = parseJson(found->second);
  if (!allocated || !allocated->is_object()) return;
  bool changed = false;
  for (auto& type : allocated->get_object()) {
    auto* devices = type.value().if_array();
    if (!devices) continue;
    for (auto& device : *devices) {
      auto* parts = device.if_object();
      auto* given = parts ? parts->if_contains("resources") : nullptr;
      auto* resources = given ? given->if_object() : nullptr;
      if (!resources) continue;
      for (const auto& [from, to] : kDevices) {
        const auto* amount = resources->if_contains(from);
        if (!amount || resources->contains(to)) continue;
        json::value moved = *amount;
        resources->erase(from);
        resources->emplace(to, std::move(moved));
        changed = true;
      }
    }
  }
  if (changed) found->second = toJson(*allocated);
}

void replaceResources(api::Pod& pod) {
  const auto* text = api::findIn(pod.metadata.annotations, kAnnotationReplaceResources);
  if (!text) return;
  const std::string wanted = *text;
  std::string_view rest = wanted;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(item.size() + 1, rest.size()));
    const auto colon = item.find(':');
    if (colon == std::string_view::npos || item.find(':', colon + 1) != std::string_view::npos)
      continue;  // as upstream, what is not of the form means nothing
    const std::string_view from = trim(item.substr(0, colon));
    const std::string_view to = trim(item.substr(colon + 1));
    forEachAmounts(pod, [&](api::ResourceList& amounts) {
      if (to.empty()) {
        amounts.erase(from);
      } else {
        rename(amounts, from, to);
      }
    });
  }
}

void overrideSchedulerName(api::Pod& pod) {
  const auto* label = api::findIn(pod.metadata.labels, kLabelSchedulerName);
  if (!label || pod.spec.schedulerName == *label) return;
  pod.metadata.annotations[kAnnotationOriginalSchedulerName] = pod.spec.schedulerName.str();
  pod.spec.schedulerName = *label;
}

std::string_view preemptionPolicyOf(const api::Pod& pod) {
  const auto* label = api::findIn(pod.metadata.labels, kLabelPreemptionPolicy);
  return label && *label == "PreemptLowerPriority" ? "PreemptLowerPriority" : "Never";
}

// What the manager gives out for batch pods is without the reserved part already.
void trimReserved(api::Node& node) {
  const auto reservation = readNodeReservation(node.metadata.annotations);
  if (!reservation || !*reservation) return;
  const std::string& policy = (*reservation)->applyPolicy;
  if (!policy.empty() && policy != "Default") return;
  const api::ResourceList reserved = reservedResources(node.metadata.annotations);
  if (std::ranges::all_of(reserved, [](const auto& entry) { return entry.second.isZero(); }))
    return;
  api::ResourceList& allocatable = node.status.allocatable;
  for (const auto& [name, amount] : reserved) {
    if (name == kBatchCpu || name == kBatchMemory) continue;
    Quantity left = allocatable[name];
    left.sub(amount);
    allocatable[name] = left.sign() < 0 ? Quantity::of(0, left.format()) : left;
  }
}

}  // namespace

PodTransforms PodTransforms::of(const std::function<bool(std::string_view)>& enabled) {
  return {enabled("ReplaceResourcesTransformer"), enabled("PriorityTransformer"),
          enabled("PreemptionPolicyTransformer")};
}

bool renameBatchResources(api::ResourceList& amounts) {
  return renameAll(amounts, kBatch);
}

bool renameDeviceResources(api::ResourceList& amounts) {
  return renameAll(amounts, kDevices);
}

void transformPod(api::Pod& pod, const PodTransforms& transforms) {
  forEachAmounts(pod, [](api::ResourceList& amounts) {
    if (amounts.empty()) return;
    renameBatchResources(amounts);
    renameDeviceResources(amounts);
  });
  renameAllocatedDevices(pod.metadata.annotations);
  if (transforms.replaceResources) replaceResources(pod);
  if (transforms.priority) pod.spec.priority = priorityWithDefault(pod);
  if (transforms.preemptionPolicy) pod.spec.preemptionPolicy = preemptionPolicyOf(pod);
  overrideSchedulerName(pod);
}

void transformNode(api::Node& node) {
  trimReserved(node);
  for (api::ResourceList* amounts : {&node.status.allocatable, &node.status.capacity}) {
    renameBatchResources(*amounts);
    renameDeviceResources(*amounts);
  }
}

}  // namespace koord::model
