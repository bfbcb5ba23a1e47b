#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "console/rows/rows.h"
#include "model/pod_requests.h"
#include "model/priority.h"
#include "model/qos.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::console {

namespace {

// The last transition to True, absent if the condition is not True.
api::Time trueSince(const api::Pod& pod, std::string_view type) {
  for (const auto& condition : pod.status.conditions)
    if (condition.type == type && condition.status == "True") return condition.lastTransitionTime;
  return std::nullopt;
}

// Why it has no node or does not run.
std::string reasonOf(const api::Pod& pod) {
  for (const auto& condition : pod.status.conditions)
    if (condition.type == "PodScheduled" && condition.status == "False")
      return condition.message.empty() ? condition.reason : condition.message;
  if (!pod.status.message.empty()) return pod.status.message.str();
  if (!pod.status.reason.empty()) return pod.status.reason.str();
  for (const auto& container : pod.status.containerStatuses)
    if (container.state.waiting && !container.state.waiting->reason.empty())
      return container.state.waiting->reason + (container.state.waiting->message.empty()
                                                    ? ""
                                                    : ": " + container.state.waiting->message);
  return {};
}

std::string phaseOf(const api::Pod& pod) {
  if (pod.metadata.deletionTimestamp && !api::isTerminal(pod)) return "Terminating";
  return pod.status.phase.empty() ? "Pending" : pod.status.phase.str();
}

// "namespace/name" of the group whose members are placed together; "" if there is none.
std::string gangKey(const api::Pod& pod) {
  const auto& meta = pod.metadata;
  const std::string* name = nullptr;
  for (const auto key : {model::kLabelPodGroup, model::kLabelPodGroupName})
    if (!name) name = api::findIn(meta.labels, key);
  if (!name) name = api::findIn(meta.annotations, model::kAnnotationGangName);
  return name && !name->empty() ? meta.namespace_ + "/" + *name : std::string();
}

// How many members a gang without a PodGroup requires; 0 if the pod does not say.
std::int64_t requiredMembers(const api::ObjectMeta& meta) {
  const auto* text = api::findIn(meta.labels, model::kLabelPodGroupMinAvailable);
  if (!text) text = api::findIn(meta.annotations, model::kAnnotationGangMinAvailable);
  std::int64_t number = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

std::string ownerOf(const api::Pod& pod) {
  for (const auto& owner : pod.metadata.ownerReferences)
    if (owner.controller) return fmt::format("{}/{}", owner.kind, owner.name);
  return {};
}

std::string cpusOf(const api::Pod& pod) {
  const auto* text = api::findIn(pod.metadata.annotations, model::kAnnotationResourceStatus);
  if (!text) return {};
  const auto document = parseJson(*text);
  return document ? std::string(textAt(*document, "cpuset")) : std::string();
}

// The share of a device in percent: of its cores, else of its memory, else all of it.
std::int64_t shareOf(const json::value& device) {
  const json::value& resources = memberOf(device, "resources");
  for (const auto name : {model::kGpuCore, model::kGpuMemoryRatio}) {
    const auto amount = Quantity::parse(textAt(resources, name));
    if (amount && amount->value() > 0) return std::min<std::int64_t>(amount->value(), 100);
  }
  return 100;
}

// "gpu:0:100,gpu:1:50".
std::string devicesOf(const api::Pod& pod) {
  const auto* text = api::findIn(pod.metadata.annotations, model::kAnnotationDeviceAllocated);
  if (!text) return {};
  const auto document = parseJson(*text);
  if (!document) return {};
  std::string out;
  for (const auto& [type, devices] : membersOf(*document)) {
    const auto* list = devices.if_array();
    if (!list) continue;
    for (const auto& device : *list)
      out += fmt::format("{}{}:{}:{}", out.empty() ? "" : ",", std::string_view(type),
                         wholeNumber(memberOf(device, "minor")).value_or(0), shareOf(device));
  }
  return out;
}

// Whole GPUs count 100; shares by their cores or memory.
std::int64_t gpusOf(const api::ResourceList& requests) {
  Quantity whole;
  for (const auto& [name, amount] : requests)
    if (std::string_view(name).ends_with(".com/gpu")) whole.add(amount);
  if (whole.sign() > 0) return whole.scaledValue(-2);
  return std::max({model::amountOf(requests, model::kGpu).value(),
                   model::amountOf(requests, model::kGpuCore).value(),
                   model::amountOf(requests, model::kGpuMemoryRatio).value()});
}

Figures figuresOf(const api::Pod& pod, model::PriorityClass priorityClass) {
  const api::ResourceList requests = model::podRequests(pod);
  Figures figures;
  figures.devices = gpusOf(requests);
  figures.waits = pod.spec.nodeName.empty() && !api::isTerminal(pod);
  using enum model::PriorityClass;
  if (priorityClass == Mid) {
    figures.midCpu = model::amountOf(requests, model::kMidCpu).value();
    figures.midMemory = mebibytes(model::amountOf(requests, model::kMidMemory));
  } else if (priorityClass == Batch || priorityClass == Free) {
    figures.batchCpu = model::amountOf(requests, model::kBatchCpu).value();
    figures.batchMemory = mebibytes(model::amountOf(requests, model::kBatchMemory));
  }
  // Pods of a class without its own resources, or that the webhook has not translated.
  if (figures.midCpu == 0 && figures.batchCpu == 0)
    figures.cpu = model::amountOf(requests, model::kCpu).milliValue();
  if (figures.midMemory == 0 && figures.batchMemory == 0)
    figures.memory = mebibytes(model::amountOf(requests, model::kMemory));
  return figures;
}

std::string_view withoutPrefix(std::string_view name) {
  return name.starts_with("koord-") ? name.substr(6) : name;
}

}  // namespace

// namespace, name, node, phase, QoS class, priority class, cpu, memory, GPUs, created, bound,
// started, ready, quota, gang, owner, reason, CPUs, devices, priority, required members
Row rowOf(const api::Pod& pod) {
  const auto& meta = pod.metadata;
  const auto priorityClass = model::priorityClassWithDefault(pod);
  Row row{meta.namespace_ + "/" + meta.name, {}, figuresOf(pod, priorityClass), {}};
  const Figures& figures = row.figures;
  const std::string* quota = api::findIn(meta.labels, model::kLabelQuotaName);
  // A pod that counts with native resources is shown as prod, no matter its class.
  const bool native =
      figures.batchCpu + figures.batchMemory + figures.midCpu + figures.midMemory == 0;
  const auto shown =
      native && figures.cpu + figures.memory > 0 ? model::PriorityClass::Prod : priorityClass;
  RowWriter out;
  out.text(meta.namespace_);
  out.text(meta.name);
  out.text(pod.spec.nodeName);
  out.text(phaseOf(pod));
  out.text(model::textOf(model::qosWithDefault(pod)));
  out.text(withoutPrefix(model::textOf(shown)));
  out.number(figures.cpu + figures.batchCpu + figures.midCpu);
  out.number(figures.memory + figures.batchMemory + figures.midMemory);
  out.number(figures.devices);
  out.time(meta.creationTimestamp);
  out.time(trueSince(pod, "PodScheduled"));
  out.time(pod.status.startTime);
  out.time(trueSince(pod, "Ready"));
  out.text(quota ? *quota : std::string());
  out.text(gangKey(pod));
  out.text(ownerOf(pod));
  out.text(pod.status.phase == "Running" ? std::string() : reasonOf(pod));
  out.text(cpusOf(pod));
  out.text(devicesOf(pod));
  out.number(pod.spec.priority.value_or(0));
  out.number(requiredMembers(meta));
  row.columns = std::move(out).finish();
  if (api::isTerminal(pod)) row.figures = {};
  return row;
}

}  // namespace koord::console
