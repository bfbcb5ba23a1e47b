#include "koordlet/runtimehooks/hook_runner.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/log.h"
#include "koordlet/system/conversions.h"

namespace koord::koordlet {
namespace {

// Stands for the directory of a container without an id in the hooks' updates.
constexpr std::string_view kUnnamed = "container-to-be";
constexpr std::string_view kDockerAnnotation = "io.kubernetes.docker.type";

std::optional<std::int64_t> numberIn(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Takes values that the runtime can set when it creates the container; the reconciler sets all
// others.
void take(const CgroupUpdate& update, ContainerValues& values) {
  switch (update.file) {
    case CgroupFile::CpuShares:
      values.shares = numberIn(update.value);
      break;
    case CgroupFile::CpuCfsQuota:
      values.quota = numberIn(update.value);
      break;
    case CgroupFile::MemoryLimit:
      values.memory = numberIn(update.value);
      break;
    case CgroupFile::CpusetCpus:
      values.cpuset = update.value;
      break;
    default:
      break;
  }
}

}  // namespace

std::string cgroupDirOf(const std::string& cgroupParent) {
  constexpr std::string_view kSlice = ".slice";
  std::string_view path = cgroupParent;
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (!path.ends_with(kSlice) || path.find('/') != path.npos) return std::string(path);
  const std::string_view stem = path.substr(0, path.size() - kSlice.size());
  std::string dir;
  for (std::size_t end = stem.find('-');; end = stem.find('-', end + 1)) {
    dir = joinPath(dir, std::string(stem.substr(0, end)) + std::string(kSlice));
    if (end == stem.npos) return dir;
  }
}

HookRunner::HookRunner(Executor& executor, const Host& host, const States& states,
                       Reconciler& reconciler, ResourceExecutor& resources, Options options)
    : executor_(executor),
      host_(host),
      states_(states),
      reconciler_(reconciler),
      resources_(resources),
      options_(std::move(options)) {}

// The pod from the API if it is known already, because the runtime does not have its spec.
PodView HookRunner::viewOf(const HookedPod& pod) const {
  const PodView* const known = states_.podOf(pod.uid);
  api::Pod object = known ? *known->pod : api::Pod();
  object.metadata.name = pod.name;
  object.metadata.namespace_ = pod.namespace_;
  object.metadata.uid = pod.uid;
  for (const auto& [key, value] : pod.labels) object.metadata.labels.try_emplace(key, value);
  for (const auto& [key, value] : pod.annotations)
    object.metadata.annotations.try_emplace(key, value);
  object.status.phase = "Pending";
  PodView view;
  view.kubeQos = kubeQosOfPath(pod.cgroupParent);
  view.dir = cgroupDirOf(pod.cgroupParent);
  view.qos = model::rawQos(object);
  view.pod = std::make_shared<const api::Pod>(std::move(object));
  return view;
}

void HookRunner::addContainer(PodView& view, const HookedPod& pod,
                              const HookedContainer& container) const {
  const std::string type =
      pod.annotations.contains(std::string(kDockerAnnotation)) ? "docker" : options_.runtimeType;
  ContainerView added;
  added.name = container.name;
  added.id = container.id;
  added.dir = joinPath(view.dir, kUnnamed);
  if (!container.id.empty())
    if (const auto name = containerDirName(host_.driver, type + "://" + container.id))
      added.dir = joinPath(view.dir, *name);
  view.containers.push_back(std::move(added));
}

Result<> HookRunner::outcome(Result<> result, const PodView& view) const {
  if (result) return {};
  log::warn(
      "pod {}/{}: {}; {}", view.pod->metadata.namespace_, view.pod->metadata.name,
      result.error().message,
      options_.failOnError ? "the call of the runtime fails" : "the runtime continues without it");
  return options_.failOnError ? result : Result<>{};
}

Result<HookUpdates> HookRunner::atStage(std::string_view stage, const PodView& view,
                                        const std::function<Result<>(Hook&)>& act) {
  HookUpdates updates;
  for (const auto& [name, hook] : reconciler_.prepared()) {
    const SteadyTime start = executor_.steadyNow();
    hook->wanted(view, updates);
    auto acted = act(*hook);
    if (options_.observe)
      options_.observe(name, stage, acted.has_value(), executor_.steadyNow() - start);
    if (auto done = outcome(std::move(acted), view); !done) return fail(std::move(done.error()));
  }
  return updates;
}

Result<> HookRunner::runPod(const HookedPod& pod) {
  const PodView view = viewOf(pod);
  if (view.dir.empty()) return {};
  auto updates =
      atStage("PreRunPodSandbox", view, [&](Hook& hook) { return hook.podStarting(view); });
  if (!updates) return fail(std::move(updates.error()));
  // The reconciler writes other directories (of QoS classes, of other pods).
  std::vector<CgroupUpdate> own[1];
  std::ranges::copy_if(updates->pods, std::back_inserter(own[0]),
                       [&](const CgroupUpdate& update) { return update.dir == view.dir; });
  resources_.updateLeveled(own);
  return {};
}

void HookRunner::podRemoved(const HookedPod& pod) {
  const PodView view = viewOf(pod);
  for (const auto& [name, hook] : reconciler_.prepared()) {
    const SteadyTime start = executor_.steadyNow();
    hook->podRemoved(view);
    if (options_.observe)
      options_.observe(name, "PreRemoveRunPodSandbox", true, executor_.steadyNow() - start);
  }
}

ContainerValues HookRunner::valuesOf(const PodView& view, const HookUpdates& updates) {
  ContainerValues values;
  for (const auto& update : updates.containers)
    if (update.dir == view.containers.front().dir) take(update, values);
  return values;
}

Result<ContainerValues> HookRunner::createContainer(const HookedPod& pod,
                                                    const HookedContainer& container) {
  PodView view = viewOf(pod);
  addContainer(view, pod, container);
  ContainerStart start;
  auto updates = atStage("PreCreateContainer", view, [&](Hook& hook) {
    return hook.starting(view, view.containers.front(), start);
  });
  if (!updates) return fail(std::move(updates.error()));
  ContainerValues values = valuesOf(view, *updates);
  // Without a cgroup whose period they could read, the hooks set the quota for kCfsPeriodUs, but
  // the runtime creates the cgroup with the period of its request.
  if (values.quota) values.quota = quotaInPeriod(*values.quota, container.cfsPeriodUs);
  values.start = std::move(start);
  return values;
}

Result<ContainerValues> HookRunner::updateContainer(const HookedPod& pod,
                                                    const HookedContainer& container) {
  PodView view = viewOf(pod);
  addContainer(view, pod, container);
  auto updates = atStage("PreUpdateContainerResources", view, [](Hook&) { return Result<>(); });
  if (!updates) return fail(std::move(updates.error()));
  return valuesOf(view, *updates);
}

}  // namespace koord::koordlet
