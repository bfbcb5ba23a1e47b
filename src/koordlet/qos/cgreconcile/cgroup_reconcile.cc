#include "koordlet/qos/cgreconcile/cgroup_reconcile.h"

#include <fmt/core.h>

#include <algorithm>

#include "model/resources.h"
#include "model/well_known.h"

// The values of containers and pods follow from their requests. The directory of a QoS class has
// the sums of its pods; that of Guaranteed pods, the parent of the other two, has the sum of all. A
// cgroup is never protected more than its parent, so all values go through the leveled update,
// which keeps a parent's protection at least as large as its children's.
//
// The protection of all classes together is capped at the node's allocatable memory. If more were
// protected, reclaim could free nothing and the OOM killer would run. (Upstream does not cap it.)
//
// Cost: a dozen values per pod and container, of which the executor writes the differing ones; a
// file that the kernel lacks costs a look-up. Rules: cgreconcile of upstream's koordlet.

namespace koord::koordlet {
namespace {

std::size_t indexOf(KubeQos qos) {
  return static_cast<std::size_t>(qos);
}

void addValues(const std::string& dir, const memoryqos::Values& values,
               std::vector<CgroupUpdate>& updates) {
  const auto add = [&](CgroupFile file, const std::optional<std::int64_t>& value) {
    if (value) updates.push_back({file, dir, std::to_string(*value), "cgroup reconcile"});
  };
  add(CgroupFile::MemoryMin, values.min);
  add(CgroupFile::MemoryLow, values.low);
  add(CgroupFile::MemoryHigh, values.high);
  add(CgroupFile::MemoryWmarkRatio, values.wmarkRatio);
  add(CgroupFile::MemoryWmarkScaleFactor, values.wmarkScaleFactor);
  add(CgroupFile::MemoryWmarkMinAdj, values.wmarkMinAdj);
  add(CgroupFile::MemoryPriority, values.priority);
  add(CgroupFile::MemoryUsePriorityOom, values.usePriorityOom);
  add(CgroupFile::MemoryOomGroup, values.oomGroup);
  add(CgroupFile::PagecacheLimitSize, values.pageCacheSize);
  add(CgroupFile::PagecacheLimitSync, values.pageCacheSync);
  add(CgroupFile::PagecacheLimitEnable, values.pageCacheEnable);
}

void addTo(std::optional<std::int64_t>& sum, const std::optional<std::int64_t>& value) {
  if (!value) return;
  std::int64_t result = 0;
  if (__builtin_add_overflow(sum.value_or(0), *value, &result)) result = INT64_MAX;
  sum = result;
}

}  // namespace

CgroupReconcile::CgroupReconcile(const Host& host, const States& states, ResourceExecutor& executor)
    : host_(host), states_(states), executor_(executor) {}

void CgroupReconcile::addPod(const PodView& pod, Pass& pass) const {
  const auto config = memoryqos::configOf(pod, states_.slo()->qos);
  if (!config) return;
  auto values = memoryqos::podValues(*config, memoryqos::demandOfPod(pod));
  Sum& sum = pass.sums[indexOf(pod.kubeQos)];
  addTo(sum.min, values.min);
  addTo(sum.low, values.low);
  addValues(pod.dir, values, pass.levels[1]);
  for (const auto& container : pod.containers) {
    const auto* spec = container.init ? nullptr : containerOf(*pod.pod, container.name);
    if (!spec || container.dir.empty()) continue;
    addValues(container.dir,
              memoryqos::containerValues(*config, memoryqos::demandOfContainer(pod, *spec),
                                         pass.allocatable),
              pass.levels[2]);
  }
}

void CgroupReconcile::addDirectories(Pass& pass) const {
  Sum all;
  for (const Sum& sum : pass.sums) {
    addTo(all.min, sum.min);
    addTo(all.low, sum.low);
  }
  pass.sums[indexOf(KubeQos::Guaranteed)] = all;
  for (const KubeQos qos : kKubeQosClasses) {
    const auto* config = memoryqos::configOf(qos, states_.slo()->qos);
    memoryqos::Values values = config ? memoryqos::directoryValues(*config) : memoryqos::Values{};
    // Without pods nothing is protected.
    const auto cut = [&](std::optional<std::int64_t> value) {
      if (!value && !config) return value;
      return std::optional(std::min(value.value_or(0), pass.allocatable));
    };
    values.min = cut(pass.sums[indexOf(qos)].min);
    values.low = cut(pass.sums[indexOf(qos)].low);
    addValues(qosDir(host_.driver, qos), values, pass.levels[0]);
  }
}

void CgroupReconcile::run() {
  if (!states_.slo() || !states_.node() || !states_.podsSynced()) {
    reason_ = "waiting for the NodeSLO, the Node object and the pods";
    return;
  }
  Pass pass;
  pass.allocatable = model::amountOf(states_.node()->status.allocatable, model::kMemory).value();
  if (pass.allocatable <= 0) {
    reason_ = "skipped: the Node object has no allocatable memory";
    return;
  }
  for (const auto& pod : states_.pods())
    if (pod.active()) addPod(pod, pass);
  addDirectories(pass);
  protected_ = pass.sums[indexOf(KubeQos::Guaranteed)].min.value_or(0);
  const auto result = executor_.updateLeveled(pass.levels);
  reason_ = fmt::format(
      "{} MiB of requests protected{}", protected_ >> 20,
      protected_ > pass.allocatable
          ? fmt::format(", limited to the {} MiB that the node has", pass.allocatable >> 20)
          : "");
  if (result.failed > 0) reason_ += fmt::format("; {} values refused", result.failed);
}

json::value CgroupReconcile::view() const {
  return json::object{{"reason", reason_}, {"protectedBytes", protected_}};
}

}  // namespace koord::koordlet
