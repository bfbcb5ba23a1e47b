#include "koordlet/hooks/cpuset/cpuset_allocator.h"

#include <algorithm>

#include "base/log.h"
#include "model/resources.h"
#include "model/well_known.h"

// The first rule that applies:
//   1. pinned by the scheduler (resource-status has a cpuset): those CPUs;
//   2. placed on NUMA nodes by the scheduler: the shared pools of these nodes;
//   3. SYSTEM pods: the CPUs that the node names for them;
//   4. LS: all shared pools;
//   5. Kubernetes' QoS class BestEffort: nothing, CPU suppress sets their CPUs;
//   6. kubelet's static policy is on: nothing, kubelet sets the CPUs;
//   7. all others: all shared pools.
// The pools are computed here in every pass, from the same parts as those in the
// NodeResourceTopology (topology/), so that the CPUs of a new LSE pod leave the sets of all other
// pods at once and not only after the object has been written.
//
// Rules: cpuset hook of upstream's koordlet.

namespace koord::koordlet {
namespace {

struct ResourceStatus {
  CpuSet cpus;
  std::vector<int> numaNodes;  // the NUMA nodes from which the pod has CPU
};

std::optional<std::string_view> annotationText(const PodView& pod) {
  const auto* text = api::findIn(pod.pod->metadata.annotations, model::kAnnotationResourceStatus);
  return text ? std::optional<std::string_view>(*text) : std::nullopt;
}

bool hasCpu(const json::value& resources) {
  for (const auto name : {model::kCpu, model::kBatchCpu}) {
    const auto* amount = find(resources, name);
    if (!amount) continue;
    const auto quantity =
        Quantity::parse(amount->is_string() ? std::string(amount->get_string()) : toJson(*amount));
    if (quantity && quantity->milliValue() > 0) return true;
  }
  return false;
}

Result<ResourceStatus> statusOf(const PodView& pod) {
  ResourceStatus status;
  const auto text = annotationText(pod);
  if (!text) return status;
  const auto document = parseJson(*text);
  if (!document) return fail(document.error());
  auto cpus = CpuSet::parse(textAt(*document, "cpuset"));
  if (!cpus) return fail(std::move(cpus.error()));
  status.cpus = *std::move(cpus);
  const auto* nodes = find(*document, "numaNodeResources");
  if (!nodes || !nodes->is_array()) return status;
  for (const auto& item : nodes->get_array()) {
    const auto* node = find(item, "node");
    const auto* resources = find(item, "resources");
    if (node && node->is_int64() && resources && hasCpu(*resources))
      status.numaNodes.push_back(static_cast<int>(node->get_int64()));
  }
  return status;
}

}  // namespace

CpusetDecision cpusetOf(const PodView& pod, const CpuPools& pools, const CpuTopology& cpus,
                        bool beManaged) {
  const auto status = statusOf(pod);
  if (!status) {
    log::v(4, "annotation {} of pod {} is ignored: {}", model::kAnnotationResourceStatus,
           pod.pod->metadata.name, status.error().message);
  } else if (!status->cpus.empty()) {
    return {status->cpus, !pod.bestEffort()};
  } else if (!status->numaNodes.empty() && (beManaged || !pod.bestEffort())) {
    const CpuSet& pool = pod.bestEffort() ? pools.bestEffort : pools.shared;
    return {CpuPools::onNodes(cpus, pool, status->numaNodes)};
  }
  if (pod.qos == model::Qos::System && !pools.systemQos.empty()) return {pools.systemQos};
  if (pod.qos == model::Qos::LS) return {pools.shared};
  if (pod.kubeQos == KubeQos::BestEffort || pod.bestEffort() || pools.kubeletIsStatic) return {};
  return {pools.shared};
}

CpusetHook::CpusetHook(const Host& host, bool unsetQuota, PoolsFn onPools, bool beManaged,
                       std::string applications)
    : host_(host),
      unsetQuota_(unsetQuota),
      onPools_(std::move(onPools)),
      beManaged_(beManaged),
      reader_(host.layout),
      applications_(std::move(applications)) {}

void CpusetHook::prepare(const States& states, HookUpdates& updates) {
  pools_.reset();
  if (!states.node() || !host_.topology) return;
  if (auto state = readCpuManagerState(host_.dirs)) {
    kubelet_ = *std::move(state);
  } else {
    log::v(4, "the last known state of kubelet's CPU manager stays in use: {}",
           state.error().message);
  }
  pools_ = cpuPools(*states.node(), *host_.topology, kubelet_, states.pods());
  // Cgroups below kubepods cannot have CPUs that kubepods does not have.
  if (const auto allowed = reader_.cpuset(host_.kubepods()); allowed && !allowed->empty())
    for (auto* pool : {&pools_->shared, &pools_->bestEffort}) *pool = pool->intersect(*allowed);
  if (onPools_) onPools_(*pools_);
  if (states.slo() && !pools_->shared.empty()) addApplications(states, updates);
}

// An application that was removed from the NodeSLO gets all CPUs of its parent cgroup.
void CpusetHook::addApplications(const States& states, HookUpdates& updates) {
  const auto set = [&](const std::string& dir, const CpuSet& cpus) {
    updates.qos.push_back({CgroupFile::CpusetCpus, dir, cpus.toString(), "CPUSetAllocator"});
  };
  std::set<std::string> named;
  for (const auto& application : states.slo()->hostApplications)
    if (std::string dir = hostApplicationDir(application, host_.driver);
        application.qos == "LS" && !dir.empty()) {
      set(dir, pools_->shared);
      named.insert(std::move(dir));
    }
  for (const auto& dir : applications_.dropped(named)) {
    const auto slash = dir.rfind('/');
    const auto above = reader_.cpuset(slash == dir.npos ? "" : dir.substr(0, slash));
    if (above && !above->empty()) set(dir, *above);
  }
}

void CpusetHook::wanted(const PodView& pod, HookUpdates& updates) {
  if (!pools_) return;
  const CpusetDecision decision = cpusetOf(pod, *pools_, *host_.topology, beManaged_);
  if (decision.cpus.empty()) return;
  const bool unlimited = decision.unlimited && unsetQuota_;
  const auto unlimit = [&](const std::string& dir, UpdateList& to) {
    if (unlimited) to.push_back({CgroupFile::CpuCfsQuota, dir, "-1", "CPUSetAllocator"});
  };
  unlimit(pod.dir, updates.pods);
  if (pod.pod->spec.runtimeClassName == "kata") return;
  const std::string cpus = decision.cpus.toString();
  for (const auto& container : pod.containers) {
    if (container.dir.empty()) continue;
    updates.containers.push_back({CgroupFile::CpusetCpus, container.dir, cpus, "CPUSetAllocator"});
    unlimit(container.dir, updates.containers);
  }
}

}  // namespace koord::koordlet
