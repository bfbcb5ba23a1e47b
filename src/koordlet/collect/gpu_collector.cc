#include "koordlet/collect/gpu_collector.h"

#include <fmt/format.h>

#include <map>

#include "base/log.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet {
namespace {

struct GpuUse {
  double core = 0;
  double memory = 0;
};

std::string_view lastComponent(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // the whole path if it has no slash
}

}  // namespace

GpuCollector::GpuCollector(const HostDirs& dirs, const Clock& clock, States& states,
                           MetricCache& cache, GpuSource& source)
    : dirs_(dirs), clock_(clock), states_(states), cache_(cache), source_(source) {}

void GpuCollector::collect() {
  source_.read([this](Result<GpuReading> reading) { take(std::move(reading)); });
}

// A process may be in a cgroup below its container's, so every part of its path is looked up.
const GpuCollector::Owner* GpuCollector::ownerOf(int pid, const Owners& owners) {
  if (!readSmallFile(fmt::format("{}{}/cgroup", dirs_.procRoot, pid), buffer_)) return nullptr;
  const Owner* found = nullptr;
  forEachLine(buffer_, [&](std::string_view line) {
    while (!found && !line.empty()) {
      const auto slash = line.find('/');
      if (const auto owner = owners.find(line.substr(0, slash)); owner != owners.end())
        found = &owner->second;
      if (slash == std::string_view::npos) break;
      line.remove_prefix(slash + 1);
    }
  });
  return found;
}

void GpuCollector::sample(const Gpu& gpu, const Owners& owners, WallTime now) {
  const std::string& uuid = gpu.identity.uuid;
  cache_.append(Metric::NodeGpuCore, uuid, now, gpu.core);
  cache_.append(Metric::NodeGpuMemory, uuid, now, static_cast<double>(gpu.memoryUsed));
  std::map<std::string_view, GpuUse> pods, containers;
  for (const auto& process : gpu.processes) {
    if (process.memory == nvml::kNotAvailable) continue;
    const Owner* owner = ownerOf(process.pid, owners);
    if (!owner) continue;
    for (auto* use : {&pods[owner->pod], &containers[owner->container]}) {
      use->core += process.core;
      use->memory += static_cast<double>(process.memory);
    }
  }
  const auto append = [&](const auto& users, Metric core, Metric memory) {
    for (const auto& [user, use] : users) {
      const std::string subject = fmt::format("{}/{}", user, uuid);
      cache_.append(core, subject, now, use.core);
      cache_.append(memory, subject, now, use.memory);
    }
  };
  append(pods, Metric::PodGpuCore, Metric::PodGpuMemory);
  append(containers, Metric::ContainerGpuCore, Metric::ContainerGpuMemory);
}

void GpuCollector::take(Result<GpuReading> reading) {
  const std::string before = states_.gpus().problem;
  states_.setGpus(std::move(reading), clock_.steadyNow());
  const GpuState& gpus = states_.gpus();
  if (!gpus.problem.empty()) {
    if (gpus.problem != before) log::warn("{}", gpus.problem);
    return;
  }
  Owners owners;
  for (const auto& pod : states_.pods())
    for (const auto& container : pod.containers)
      if (container.running && !container.dir.empty())
        owners[lastComponent(container.dir)] = {pod.uid(), container.id};
  const WallTime now = clock_.wallNow();
  for (const auto& gpu : gpus.reading->gpus) sample(gpu, owners, now);
}

}  // namespace koord::koordlet
