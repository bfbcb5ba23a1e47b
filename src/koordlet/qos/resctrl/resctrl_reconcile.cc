#include "koordlet/qos/resctrl/resctrl_reconcile.h"

#include <fmt/core.h>

#include "base/log.h"
#include "base/split.h"
#include "koordlet/system/small_file.h"
#include "model/qos.h"
#include "model/well_known.h"

// Each round: (1) the file system is mounted and the three groups exist; (2) each group's schemata
// say what NodeSLO wants of its class, a mask of cache ways and a share of memory bandwidth for
// every cache; (3) threads of pods that are not in their class's group yet are moved there. A class
// that is switched off has all ways and all bandwidth, so its threads may stay where they are.
//
// If no class was ever switched on, the host is left as it is: the hardware has about a dozen
// groups, and other software may need them. Threads are found by cgroup directory, sandboxes
// included. A new thread starts in the group of its parent, so after the first round only new
// containers are left. hooks/resctrl handles pods with a resctrl annotation.
//
// Cost if a class is switched on: per round one read of three task lists, and one of each
// container's threads. Rules: resctrl of upstream's koordlet. Different from upstream: caches are
// named by their ids, which may have gaps, and values are rounded to what the hardware accepts
// (info/L3/min_cbm_bits, info/MB/bandwidth_gran).

namespace koord::koordlet {
namespace {

constexpr std::string_view kUpdateReason = "UpdateResctrl";

std::string_view groupOf(const api::Pod& pod) {
  switch (model::qosWithDefault(pod)) {
    case model::Qos::LSE:
    case model::Qos::LSR:
      return "LSR";
    case model::Qos::LS:
      return "LS";
    case model::Qos::BE:
      return "BE";
    default:
      return {};
  }
}

// The group of the pod's QoS label or, without one, of its Kubernetes QoS class.
template <class Groups>
auto* groupOfPod(const Groups& groups, const api::Pod& pod) {
  const std::string_view name = groupOf(pod);
  for (const auto& group : groups)
    if (group.name == name) return &group;
  return static_cast<decltype(&groups[0])>(nullptr);
}

}  // namespace

Result<ResctrlWanted> resctrlWanted(const resctrl::Machine& machine, const api::ResctrlQOS& qos) {
  ResctrlWanted wanted;
  if (qos.catRangeStartPercent && qos.catRangeEndPercent) {
    const auto mask =
        resctrl::l3Mask(machine.allWays, *qos.catRangeStartPercent, *qos.catRangeEndPercent);
    if (!mask) return fail(mask.error());
    resctrl::Domains masks;
    for (const auto& [id, value] : machine.rootL3)
      masks[id] = resctrl::withLeastWays(*mask, machine.allWays, machine.leastWays);
    wanted.l3 = resctrl::l3Line(masks);
  }
  if (qos.mbaPercent) {
    const auto value = resctrl::bandwidthOf(machine.bandwidth, *qos.mbaPercent);
    resctrl::Domains values;
    if (value)
      for (const auto& [id, old] : machine.rootMb) values[id] = *value;
    wanted.mb = resctrl::mbLine(values);
  }
  return wanted;
}

ResctrlReconcile::ResctrlReconcile(const Host& host, const States& states,
                                   ResourceExecutor& executor)
    : host_(host),
      states_(states),
      executor_(executor),
      supported_(resctrl::cpuSupport(host.dirs)),
      amd_(resctrl::isAmd(host.dirs)) {}

ResctrlReconcile::Groups ResctrlReconcile::groupsOf(const api::ResourceQOSStrategy& strategy) {
  const auto of = [](std::string name, const std::optional<api::ResourceQOS>& qos) {
    return Group{std::move(name), qos ? qos->resctrlQOS : std::nullopt};
  };
  return {of("LSR", strategy.lsrClass), of("LS", strategy.lsClass), of("BE", strategy.beClass)};
}

Result<> ResctrlReconcile::prepare(const Groups& groups) {
  bool wanted = used_;
  for (const auto& group : groups)
    wanted = wanted || group.enabled() || pathExists(resctrl::rootDir(host_.dirs) + group.name);
  if (!wanted) return fail(ErrorCode::NotFound, "switched off for every class");
  if (auto mounted = resctrl::mount(host_.dirs); !mounted) return mounted;
  for (const auto& group : groups) {
    const auto made = resctrl::makeGroup(host_.dirs, group.name);
    if (!made) return fail(made.error());
    if (!*made) continue;
    executor_.forgetFile(resctrl::rootDir(host_.dirs) + group.name + "/schemata");
    log::info("created the resctrl group {}", group.name);
  }
  used_ = true;
  return {};
}

void ResctrlReconcile::applySchemata(const resctrl::Machine& machine, const Group& group) {
  std::string& applied = applied_[group.name];
  if (!group.qos) return;
  const auto wanted = resctrlWanted(machine, *group.qos);
  if (!wanted) {
    applied = wanted.error().message + ": unchanged";
    return;
  }
  applied.clear();
  const std::string path = resctrl::rootDir(host_.dirs) + group.name + "/schemata";
  for (const auto& line : {wanted->l3, wanted->mb}) {
    if (line.empty()) continue;
    const auto outcome =
        executor_.updateFile({path, line, std::string(kUpdateReason), "resctrl-schema",
                              resctrl::hasLine, line.substr(0, 2)});
    if (!applied.empty()) applied += ", ";
    applied += outcome ? std::string(trim(line)) : outcome.error().message;
  }
}

void ResctrlReconcile::addNewTasks(const PodView& pod, const std::set<int>& known,
                                   std::vector<int>& ids) const {
  for (const auto& name : listDirs(host_.layout.dir(Subsystem::Cpu, pod.dir))) {
    const auto path = cgroupFilePath(host_.layout, CgroupFile::Tasks, joinPath(pod.dir, name));
    const auto tasks = path ? resctrl::readTasks(*path) : fail(path.error());
    if (!tasks) {
      log::v(5, "threads of {} not moved: {}", pod.dir, tasks.error().message);
      continue;
    }
    for (const int id : *tasks)
      if (!known.contains(id)) ids.push_back(id);
  }
}

void ResctrlReconcile::applyTasks(const Groups& groups) {
  for (const auto& group : groups) {
    if (!group.enabled()) continue;
    const std::string path = resctrl::rootDir(host_.dirs) + group.name + "/tasks";
    const auto known = resctrl::readTasks(path);
    if (!known) {
      log::v(4, "no threads moved to resctrl group {}: {}", group.name, known.error().message);
      continue;
    }
    std::vector<int> ids;
    for (const auto& pod : states_.pods())
      if (pod.active() && !pod.pod->metadata.annotations.contains(model::kAnnotationResctrl) &&
          groupOfPod(groups, *pod.pod) == &group)
        addNewTasks(pod, *known, ids);
    if (!ids.empty()) (void)executor_.moveTasks(path, ids, "ApplyCatL3GroupTasks");
  }
}

void ResctrlReconcile::run() {
  if (!states_.slo()) {
    reason_ = "no NodeSLO for this node yet";
    return;
  }
  if (!supported_) {
    reason_.assign("off: ").append(supported_.error().message);
    return;
  }
  const Groups groups = groupsOf(states_.slo()->qos);
  if (auto prepared = prepare(groups); !prepared) {
    reason_ = "off: " + prepared.error().message;
    return;
  }
  const auto machine = resctrl::readMachine(host_.dirs, amd_);
  if (!machine) {
    reason_ = "skipped: " + machine.error().message;
    return;
  }
  reason_ = fmt::format("{} caches of {} ways", machine->rootL3.size(),
                        std::popcount(static_cast<std::uint64_t>(machine->allWays)));
  for (const auto& group : groups) applySchemata(*machine, group);
  applyTasks(groups);
}

json::value ResctrlReconcile::view() const {
  json::object groups;
  for (const auto& [name, values] : applied_) groups.emplace(name, values);
  return json::object{{"reason", reason_}, {"groups", std::move(groups)}};
}

}  // namespace koord::koordlet
