#include "manager/webhook/pod_validation.h"

#include <fmt/format.h>

#include <vector>

#include "model/node_names.h"
#include "model/pod_requests.h"
#include "model/priority.h"
#include "model/qos.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::manager {

namespace {

using model::PriorityClass;
using model::Qos;

std::string immutable(std::string_view field, std::string_view value) {
  return fmt::format("{}: Invalid value: \"{}\": field is immutable", field, value);
}

std::string textAtLabel(const api::Pod& pod, std::string_view key) {
  const auto* text = api::findIn(pod.metadata.labels, key);
  return text ? *text : "";
}

void checkImmutable(const api::Pod& pod, const api::Pod& old, const PodValidationOptions& options,
                    std::vector<std::string>& problems) {
  if (model::rawQos(pod) != model::rawQos(old))
    problems.push_back(
        immutable(fmt::format("labels.{}", model::kLabelQos), model::textOf(model::rawQos(pod))));
  if (model::rawPriorityClass(pod) != model::rawPriorityClass(old))
    problems.push_back(immutable("spec.priority", model::textOf(model::rawPriorityClass(pod))));
  const std::string now = textAtLabel(pod, model::kLabelSubPriority);
  if (!options.skipPriority && now != textAtLabel(old, model::kLabelSubPriority))
    problems.push_back(immutable(fmt::format("labels.{}", model::kLabelSubPriority), now));
}

bool allowed(Qos qos, PriorityClass priorityClass) {
  if (qos == Qos::BE)
    return priorityClass != PriorityClass::None && priorityClass != PriorityClass::Prod;
  return qos != Qos::LSR || priorityClass == PriorityClass::Prod;
}

std::optional<std::string> joined(const std::vector<std::string>& problems) {
  if (problems.empty()) return std::nullopt;
  if (problems.size() == 1) return problems.front();
  return fmt::format("[{}]", fmt::join(problems, ", "));
}

// Checks a container's GPU requests.
void checkGpus(const api::ResourceList& requests, std::vector<std::string>& problems) {
  constexpr std::string_view kField = "pod.spec.containers[*].resources.requests";
  const auto forbidden = [&](std::string_view why) {
    problems.push_back(fmt::format("{}: Forbidden: {}", kField, why));
  };
  const auto invalid = [&](const Quantity& amount, std::string_view why) {
    problems.push_back(
        fmt::format("{}: Invalid value: \"{}\": {}", kField, amount.toString(), why));
  };
  const bool whole = model::has(requests, model::kGpu);
  const bool shared = model::has(requests, model::kGpuShared);
  if (whole && shared) return forbidden("Forbidden declare GPU and GPU share at same time");
  if (whole) {
    const Quantity gpu = model::amountOf(requests, model::kGpu);
    if (gpu.isZero()) invalid(gpu, "the requested GPU must be greater than zero");
    if (gpu.value() > 100 && gpu.value() % 100 != 0)
      invalid(gpu, "the requested GPU must be percentage of 100");
  }
  if (!shared) return;
  const Quantity count = model::amountOf(requests, model::kGpuShared);
  if (count.isZero()) invalid(count, "the requested GPU must be greater than zero");
  if (!model::amountOf(requests, model::kNpuCore).isZero()) return;
  const Quantity memory = model::amountOf(requests, model::kGpuMemory);
  const Quantity ratio = model::amountOf(requests, model::kGpuMemoryRatio);
  const Quantity core = model::amountOf(requests, model::kGpuCore);
  if (memory.isZero() && ratio.isZero()) forbidden("GPU memory and GPU memory ratio all is zero");
  if (!memory.isZero() && !ratio.isZero())
    forbidden("declare GPU memory and GPU memory ratio at same time");
  if (count.isZero()) return;
  if (core.value() % count.value() != 0)
    invalid(core, "the requested gpuCore must multiple of shared");
  if (ratio.value() % count.value() != 0)
    invalid(ratio, "the requested gpuMemoryRatio must multiple of shared");
}

}  // namespace

std::optional<std::string> checkReservedAnnotation(const api::Pod& pod) {
  if (!pod.metadata.annotations.contains(model::kAnnotationReservePod)) return std::nullopt;
  return fmt::format("annotations.{}: Forbidden: cannot set in annotations",
                     model::kAnnotationReservePod);
}

std::optional<std::string> checkQosAndPriority(const api::Pod& pod, const api::Pod* old,
                                               const PodValidationOptions& options) {
  std::vector<std::string> problems;
  if (old) checkImmutable(pod, *old, options, problems);

  const Qos qos = model::rawQos(pod);
  const PriorityClass priorityClass = model::rawPriorityClass(pod);
  const api::ResourceList requests = model::podRequests(pod);
  const bool requestsBatch = !model::amountOf(requests, model::kBatchCpu).isZero() ||
                             !model::amountOf(requests, model::kBatchMemory).isZero();
  if (requestsBatch && qos != Qos::BE)
    problems.push_back(
        fmt::format("labels.{}: Required value: must specify koordinator QoS BE with koordinator "
                    "colocation resources",
                    model::kLabelQos));
  if (!allowed(qos, priorityClass))
    problems.push_back(
        fmt::format("Pod: Forbidden: {}={} and priorityClass={} cannot be used in combination",
                    model::kLabelQos, model::textOf(qos), model::textOf(priorityClass)));
  if (qos == Qos::LSR || qos == Qos::LSE) {
    constexpr std::string_view kField = "pod.spec.containers[*].resources.requests";
    const Quantity cpu = model::amountOf(requests, model::kCpu);
    if (cpu.isZero()) {
      problems.push_back(
          fmt::format("{}: Required value: LSR Pod must declare the requested CPUs", kField));
    } else if (cpu.milliValue() % 1000 != 0) {
      problems.push_back(
          fmt::format("{}: Invalid value: \"{}\": the requested CPUs of LSR Pod must be integer",
                      kField, cpu.toString()));
    }
  }
  return joined(problems);
}

std::optional<std::string> checkDeviceResources(const api::Pod& pod) {
  std::vector<std::string> problems;
  for (const auto& container : pod.spec.containers)
    checkGpus(container.resources.requests, problems);
  return joined(problems);
}

}  // namespace koord::manager
