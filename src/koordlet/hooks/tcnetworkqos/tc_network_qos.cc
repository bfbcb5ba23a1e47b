#include "koordlet/hooks/tcnetworkqos/tc_network_qos.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/log.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet {

// cgroup version 2 does not have this controller.
bool TcNetworkQosHook::hasNetCls() const {
  return host_.layout.has(Subsystem::NetCls) &&
         host_.layout.version(Subsystem::NetCls) == CgroupVersion::V1;
}

Result<> TcNetworkQosHook::apply() {
  if (!control_) {
    auto opened = TrafficControl::open();
    if (!opened) return fail(std::move(opened.error()));
    control_.emplace(*std::move(opened));
  }
  return control_->apply(plan_, hasNetCls());
}

void TcNetworkQosHook::addCgroups(const States& states) {
  if (host_.layout.version(Subsystem::Cpu) != CgroupVersion::V2) return;
  for (const auto& pod : states.pods()) {
    const auto found = plan_.pods.find(pod.uid());
    if (!pod.pod->spec.hostNetwork || found == plan_.pods.end() || found->second == kSystemTraffic)
      continue;
    // A cgroup's id is the number of its directory.
    struct stat info{};
    if (::stat(host_.layout.dir(Subsystem::Cpu, pod.dir).c_str(), &info) != 0) continue;
    const auto level = 1 + static_cast<int>(std::ranges::count(pod.dir, '/'));
    plan_.cgroups[info.st_ino] = {level, found->second};
  }
}

void TcNetworkQosHook::prepare(const States& states, HookUpdates&) {
  if (!states.slo()) return;
  wasEnabled_ = !plan_.classes.empty();
  plan_ = usesNetPolicy(*states.slo(), "tc")
              ? planTraffic(nodeBandwidth(*states.slo()), states.pods(), numbers_)
              : TrafficPlan{};
  addCgroups(states);
  const auto done = apply();
  const std::string problem = done ? "" : done.error().message;
  if (!problem.empty() && problem != problem_)
    log::warn("network QoS is not in force: {}", problem);
  problem_ = problem;
}

bool TcNetworkQosHook::hasId(const PodView& pod) const {
  const auto path = cgroupFilePath(host_.layout, CgroupFile::NetClsClassId, pod.dir);
  const auto text = path ? readSmallFile(*path) : fail(path.error());
  const auto id = text ? parseInt(*text) : fail(text.error());
  if (!id || *id < trafficId(kAllTraffic) || *id > trafficId(kLastPodTraffic)) return false;
  const auto minor = static_cast<std::uint32_t>(*id - trafficId(0));
  return minor <= kBeTraffic || minor >= kFirstPodTraffic;
}

void TcNetworkQosHook::wanted(const PodView& pod, HookUpdates& updates) {
  if (!hasNetCls()) return;
  std::string id = "0";
  if (const auto it = plan_.pods.find(pod.uid()); it != plan_.pods.end()) {
    id = std::to_string(trafficId(it->second));
  } else if (!wasEnabled_ && !hasId(pod)) {
    return;  // other programs may use other ids
  }
  updates.pods.push_back({CgroupFile::NetClsClassId, pod.dir, id, "netqos reconcile"});
  for (const auto& container : pod.containers)
    if (!container.dir.empty())
      updates.containers.push_back(
          {CgroupFile::NetClsClassId, container.dir, id, "netqos reconcile"});
}

}  // namespace koord::koordlet
