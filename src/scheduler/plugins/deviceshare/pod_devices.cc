#include "scheduler/plugins/deviceshare/pod_devices.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "model/gpu_isolation.h"
#include "model/node_names.h"
#include "model/pod_requests.h"
#include "model/well_known.h"
#include "scheduler/plugins/deviceshare/devices/allocation.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kDeviceNames[] = {
    model::kNvidiaGpu, model::kAmdGpu,  model::kDcuGpu,    model::kGpu,
    model::kGpuShared, model::kGpuCore, model::kGpuMemory, model::kGpuMemoryRatio,
    model::kNpuCore,   model::kNpuCpu,  model::kNpuDvpp,   model::kRdma,
    model::kFpga};

// The other inputs of the plugin's answers.
const std::string_view kReadAnnotations[] = {kAnnotationDeviceHint, kAnnotationDeviceJoint,
                                             kAnnotationPartitionSpec,
                                             model::kAnnotationDeviceAllocated};

// {"extensions": {"DeviceShare": {}}} in a scheduling hint: the recorded allocation is requested
// again.
bool requestsRecorded(const api::StringMap& annotations) {
  for (const std::string_view key :
       {model::kAnnotationSchedulingHint, model::kAnnotationSchedulingHintDeprecated}) {
    const std::string* text = api::findIn(annotations, key);
    if (!text || text->empty()) continue;
    const auto hint = parseJson(*text);
    return hint && koord::at(*hint, "extensions", "DeviceShare") != nullptr;
  }
  return false;
}

}  // namespace

std::vector<ResourceId> deviceResources(ResourceNames& names) {
  std::vector<ResourceId> resources;
  for (const std::string_view name : kDeviceNames) resources.push_back(names.intern(name));
  std::ranges::sort(resources);
  return resources;
}

bool requestsAny(const PodInfo& pod, const std::vector<ResourceId>& resources) {
  return std::ranges::any_of(pod.request.scalars, [&](const auto& entry) {
    return entry.second != 0 && std::ranges::binary_search(resources, entry.first);
  });
}

PodDevicesReader::PodDevicesReader(Cluster& cluster, const GpuTemplates& templates,
                                   std::vector<std::string> templatedResources)
    : cluster_(cluster), templates_(templates), resources_(deviceResources(cluster.resources())) {
  for (const std::string& name : templatedResources)
    if (const auto resource = deviceResourceOf(name)) templated_.push_back(*resource);
}

void PodDevicesReader::sign(const PodInfo& pod, Signature& signature) const {
  if (!concerns(pod)) return signature.add(std::int64_t{0});
  signature.add(std::int64_t{1});
  for (const auto& [id, amount] : pod.request.scalars) {
    if (!std::ranges::binary_search(resources_, id)) continue;
    signature.add(std::int64_t{id});
    signature.add(amount);
  }
  const api::StringMap& annotations = pod.pod->metadata.annotations;
  for (const std::string_view key : kReadAnnotations) {
    const std::string* text = api::findIn(annotations, key);
    signature.add(text ? std::string_view(*text) : std::string_view());
  }
  signature.add(requestsRecorded(annotations) ? 1 : 0);
  signature.add(model::gpuIsolationProvider(pod.pod->metadata.labels));
}

const PodDevices& PodDevicesReader::of(const PodInfo& pod, bool hints) const {
  return of(pod, hints, {}, last_);
}

const PodDevices& PodDevicesReader::without(const std::vector<ResourceId>& resources,
                                            const PodInfo& pod, bool hints) const {
  return of(pod, hints, resources, lastWithout_);
}

const PodDevices& PodDevicesReader::of(const PodInfo& pod, bool hints,
                                       const std::vector<ResourceId>& without, Last& last) const {
  if (last.devices.pod != pod.pod || last.templates != templates_.version() ||
      last.without != without)
    last = {read(pod, hints, without), without, templates_.version()};
  return last.devices;
}

PodDevices PodDevicesReader::read(const PodInfo& pod, bool hints,
                                  const std::vector<ResourceId>& without) const {
  PodDevices devices;
  devices.pod = pod.pod;
  if (!concerns(pod)) return devices;
  const api::ObjectMeta& meta = pod.pod->metadata;
  api::ResourceList requests = model::podRequests(*pod.pod);
  for (const ResourceId resource : without) requests.erase(cluster_.resources().name(resource));
  auto demand = readDeviceDemand(requests, meta.annotations);
  if (!demand) {
    devices.error = demand.error().message;
    return devices;
  }
  devices.demand = *std::move(demand);
  if (!devices.wanted()) return devices;
  if (const std::string* text = api::findIn(meta.annotations, model::kAnnotationDeviceAllocated)) {
    auto given = parseAllocatedDevices(*text);
    if (!given) {
      devices.error = fmt::format("metadata.annotations[{}]: {}", model::kAnnotationDeviceAllocated,
                                  given.error().message);
      return devices;
    }
    if (hints && !isEmpty(*given) && requestsRecorded(meta.annotations))
      devices.designated = *std::move(given);
  }
  devices.isolationProvider = model::gpuIsolationProvider(meta.labels);
  const std::string* ignored = api::findIn(meta.labels, model::kLabelReservationIgnored);
  devices.ignoresReservations = ignored && *ignored == "true";
  const GpuRequirement& gpu = devices.demand.gpu;
  devices.byTemplate =
      devices.demand.wants(DeviceType::Gpu) && gpu.shared &&
      std::ranges::any_of(templated_, [&](DeviceResource each) { return gpu.each.has(each); });
  if (devices.byTemplate && !templates_.anyOf(gpu.each))
    devices.error = "no matched GPU shared resource template";
  devices.plain = isPlain(devices.demand) && !devices.byTemplate && !devices.designated;
  return devices;
}

}  // namespace koord::scheduler
