#include "koordlet/hooks/groupidentity/group_identity.h"

#include <unordered_set>

#include "base/json.h"
#include "base/log.h"
#include "koordlet/system/small_file.h"
#include "model/well_known.h"

namespace koord::koordlet {
namespace {

std::string sysctl(const Host& host, std::string_view name) {
  return host.dirs.procRoot + "sys/kernel/" + std::string(name);
}

std::int64_t valueOf(const std::optional<api::ResourceQOS>& qos, bool& enabled) {
  if (!qos || !qos->cpuQOS || !qos->cpuQOS->enable.value_or(false)) return 0;
  enabled = true;
  return qos->cpuQOS->groupIdentity.value_or(0);
}

// A pod's own {"enable": bool, "groupIdentity": n}; nullopt if absent or invalid.
std::optional<std::int64_t> annotated(const PodView& pod) {
  if (pod.qos != model::Qos::LS) return std::nullopt;
  const auto* text = api::findIn(pod.pod->metadata.annotations, model::kAnnotationCpuQos);
  if (!text) return std::nullopt;
  const auto document = parseJson(*text);
  if (!document || !document->is_object()) return std::nullopt;
  const auto* enable = find(*document, "enable");
  if (!enable || !enable->is_bool() || !enable->get_bool()) return 0;
  const auto* identity = find(*document, "groupIdentity");
  if (!identity || !identity->is_int64()) return std::nullopt;
  const std::int64_t value = identity->get_int64();
  return value >= -1 && value <= 2 ? std::optional(value) : std::nullopt;
}

}  // namespace

GroupIdentityRule groupIdentityRule(const api::ResourceQOSStrategy& strategy) {
  GroupIdentityRule rule;
  const std::string policy =
      strategy.policies ? strategy.policies->cpuPolicy.value_or("") : std::string();
  if (!policy.empty() && policy != "groupIdentity") return rule;
  rule.active = true;
  bool beEnabled = false;
  rule.lsr = valueOf(strategy.lsrClass, rule.lsrEnabled);
  rule.ls = valueOf(strategy.lsClass, rule.lsEnabled);
  rule.be = valueOf(strategy.beClass, beEnabled);
  return rule;
}

std::int64_t bvtOf(const GroupIdentityRule& rule, const PodView& pod) {
  if (!rule.active) return 0;
  if (const auto own = annotated(pod)) return *own;
  switch (pod.qos) {
    case model::Qos::LSE:
    case model::Qos::LSR:
      return rule.lsr;
    case model::Qos::LS:
      return rule.ls;
    case model::Qos::BE:
      return rule.be;
    default:
      break;
  }
  return bvtOfUnknownPod(rule, pod.kubeQos);
}

std::int64_t bvtOfUnknownPod(const GroupIdentityRule& rule, KubeQos qos) {
  if (qos != KubeQos::Guaranteed) return bvtOf(rule, qos);
  return rule.lsrEnabled ? rule.lsr : rule.lsEnabled ? rule.ls : 0;
}

std::int64_t bvtOf(const GroupIdentityRule& rule, const api::HostApplicationSpec& application) {
  switch (model::parseQos(application.qos)) {
    case model::Qos::LSE:
    case model::Qos::LSR:
      return rule.lsr;
    case model::Qos::LS:
      return rule.ls;
    case model::Qos::BE:
      return rule.be;
    default:
      return 0;
  }
}

std::int64_t bvtOf(const GroupIdentityRule& rule, KubeQos qosDirectory) {
  switch (qosDirectory) {
    case KubeQos::Guaranteed:
      return 0;  // the parent of the other QoS directories
    case KubeQos::Burstable:
      return rule.ls;
    case KubeQos::BestEffort:
      break;
  }
  return rule.be;
}

GroupIdentityHook::GroupIdentityHook(const Host& host, std::string applications)
    : host_(host), applications_(std::move(applications)) {}

bool GroupIdentityHook::supported() const {
  const auto file = cgroupFilePath(host_.layout, CgroupFile::CpuBvtWarpNs, host_.kubepods());
  return (file && pathExists(*file)) || pathExists(sysctl(host_, "sched_group_identity_enabled"));
}

bool GroupIdentityHook::switchOn() const {
  const std::string group = sysctl(host_, "sched_group_identity_enabled");
  const std::string core = sysctl(host_, "sched_core");
  if (!pathExists(group)) return true;  // always on in kernels without the sysctl
  for (const auto& [path, value] : {std::pair(core, "0"), std::pair(group, "1")}) {
    const auto current = readSmallFile(path);
    if (!current || *current == value) continue;
    if (auto written = writeSmallFile(path, value); !written) {
      log::warn("group identity not switched on: {}", written.error().message);
      return false;
    }
  }
  return true;
}

void GroupIdentityHook::prepare(const States& states, HookUpdates& updates) {
  active_ = false;
  if (!states.slo() || !supported()) return;
  rule_ = groupIdentityRule(states.slo()->qos);
  if (rule_.enabled()) {
    active_ = switchOn();
  } else {
    const auto current = readSmallFile(sysctl(host_, "sched_group_identity_enabled"));
    active_ = !current || *current != "0";
  }
  if (!active_) return;
  addDirectories(states, updates);
}

// Adds the directories other than those of listed pods: QoS classes, host applications, and pods
// that are not listed but whose processes may still run.
void GroupIdentityHook::addDirectories(const States& states, HookUpdates& updates) {
  const auto set = [](UpdateList& to, std::string dir, std::int64_t value) {
    to.push_back(
        {CgroupFile::CpuBvtWarpNs, std::move(dir), std::to_string(value), "GroupIdentity"});
  };
  std::unordered_set<std::string_view> known;
  for (const auto& pod : states.pods())
    if (pod.active()) known.insert(pod.dir);
  for (const KubeQos qos : kKubeQosClasses) {
    const std::string top = qosDir(host_.driver, qos);
    set(updates.qos, top, bvtOf(rule_, qos));
    for (const auto& name : listDirs(host_.layout.dir(Subsystem::Cpu, top)))
      if (std::string dir = joinPath(top, name);
          isPodDirName(host_.driver, name) && !known.contains(dir))
        set(updates.pods, std::move(dir), bvtOfUnknownPod(rule_, qos));
  }
  std::set<std::string> named;
  for (const auto& application : states.slo()->hostApplications)
    if (std::string dir = hostApplicationDir(application, host_.driver); !dir.empty()) {
      set(updates.qos, dir, bvtOf(rule_, application));
      named.insert(std::move(dir));
    }
  for (auto& dir : applications_.dropped(named)) set(updates.qos, std::move(dir), 0);
}

void GroupIdentityHook::wanted(const PodView& pod, HookUpdates& updates) {
  if (!active_) return;
  const std::string value = std::to_string(bvtOf(rule_, pod));
  updates.pods.push_back({CgroupFile::CpuBvtWarpNs, pod.dir, value, "GroupIdentity"});
  for (const auto& container : pod.containers)
    if (!container.dir.empty())
      updates.containers.push_back(
          {CgroupFile::CpuBvtWarpNs, container.dir, value, "GroupIdentity"});
}

}  // namespace koord::koordlet
