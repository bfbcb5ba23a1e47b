#include "cluster/simnode/simulated_container.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/time.h"
#include "cluster/simnode/kwok.h"
#include "koordlet/hooks/batchresource/batch_resource.h"
#include "koordlet/hooks/cpuset/cpuset_allocator.h"
#include "koordlet/hooks/gpu/device_inject.h"
#include "koordlet/hooks/groupidentity/group_identity.h"
#include "model/priority.h"
#include "model/qos.h"

namespace koord::cluster {

namespace {

std::string line(std::string_view what, std::string_view text) {
  return fmt::format("{:<12}{}\n", what, text);
}

std::string amountsOf(const Usage& usage) {
  return fmt::format("cpu {}m, memory {}Mi", usage.cpuMilli, usage.memoryBytes >> 20);
}

const api::ContainerStatus* containerStatusIn(const api::Pod& pod, const std::string& container) {
  for (const auto* list : {&pod.status.containerStatuses, &pod.status.initContainerStatuses})
    for (const auto& status : *list)
      if (status.name == container) return &status;
  return nullptr;
}

std::string stateOf(const api::Pod& pod, const std::string& container) {
  const auto* status = containerStatusIn(pod, container);
  if (!status) return fmt::format("pod {}", std::string(pod.status.phase));
  const auto& state = status->state;
  if (state.running && state.running->startedAt)
    return "running since " + formatTime(*state.running->startedAt);
  if (state.running) return "running";
  if (state.terminated)
    return fmt::format("ended with exit code {} ({})", state.terminated->exitCode,
                       state.terminated->reason);
  return state.waiting ? "waiting: " + state.waiting->reason : "waiting";
}

std::string usageText(const api::Pod& pod) {
  const auto& annotations = pod.metadata.annotations;
  const bool own =
      api::findIn(annotations, kKwokUsageCpu) || api::findIn(annotations, kKwokUsageMemory);
  return fmt::format("{} of the pod, {} {} and {}", amountsOf(usageOf(pod)),
                     own ? "by its annotations" : "half of its requests; to change it, annotate",
                     kKwokUsageCpu, kKwokUsageMemory);
}

std::string limitsText(const koordlet::BatchLimits& limits) {
  std::string text = fmt::format("cpu.shares {}, cpu.cfs_quota_us {}, memory.limit_in_bytes {}",
                                 limits.shares, limits.quota, limits.memory);
  return text + " (BatchResource)";
}

// The values of each hook that acts on this container.
std::vector<std::string> koordletValues(const koordlet::PodView& view, const std::string& container,
                                        const api::NodeSLO* slo) {
  std::vector<std::string> values;
  if (const auto batch = koordlet::batchResourcesOf(view)) {
    for (const auto* list : {&batch->containers, &batch->initContainers})
      if (const auto found = list->find(container); found != list->end())
        values.push_back(limitsText(koordlet::containerLimits(found->second)));
  }
  if (const auto pinned = koordlet::cpusetOf(view, {}, {}); !pinned.cpus.empty())
    values.push_back(fmt::format("cpuset.cpus {} (CPUSetAllocator)", pinned.cpus.toString()));
  if (slo)
    if (const auto qos = api::decode<api::ResourceQOSStrategy>(slo->spec.resourceQOSStrategy))
      if (const auto bvt = koordlet::bvtOf(koordlet::groupIdentityRule(*qos), view); bvt != 0)
        values.push_back(fmt::format("cpu.bvt_warp_ns {} (GroupIdentity)", bvt));
  koordlet::ContainerStart start;
  koordlet::GpuEnvHook gpus({});
  if (gpus.starting(view, {.name = container, .id = "", .dir = ""}, start))
    for (const auto& [name, value] : start.env)
      values.push_back(fmt::format("{}={} (GPUEnvInject)", name, value));
  return values;
}

}  // namespace

std::string describeSimulatedContainer(const std::shared_ptr<const api::Pod>& pod,
                                       const std::string& container, const api::NodeSLO* slo) {
  std::string text = fmt::format(
      "Container {} of pod {} is simulated: node {} runs no processes. It has no output and no "
      "files, and commands do not run in it.\n",
      container, std::string(pod->metadata.name), std::string(pod->spec.nodeName));
  text += line("state", stateOf(*pod, container));
  text += line("requests", amountsOf(requestOf(*pod)) + " of the pod");
  if (pod->status.phase == "Running") text += line("usage", usageText(*pod));
  const auto view = koordlet::viewOf(pod, koordlet::CgroupDriver::Cgroupfs);
  text +=
      line("class", fmt::format("QoS class {}, priority class {}, cgroup {}",
                                model::textOf(model::qosWithDefault(*pod)),
                                model::textOf(model::priorityClassWithDefault(*pod)), view.dir));
  const auto values = koordletValues(view, container, slo);
  if (values.empty()) return text + line("koordlet", "would set no values for it on a real node");
  for (std::size_t i = 0; i < values.size(); ++i)
    text += line(i == 0 ? "koordlet" : "", "would set " + values[i]);
  return text;
}

}  // namespace koord::cluster
