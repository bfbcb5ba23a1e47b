#include "koordlet/qos/cpusuppress/cpu_suppress.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "base/log.h"
#include "koordlet/qos/cpusuppress/cpuset_policy.h"
#include "koordlet/qos/cpusuppress/quota_policy.h"
#include "koordlet/qos/cpusuppress/topology_annotations.h"
#include "koordlet/system/conversions.h"
#include "koordlet/system/small_file.h"
#include "model/resources.h"
#include "model/well_known.h"

// One round, every second. (1) Compute the budget (budget.h): what is left of the node's ceiling,
// from the newest sample of the node and of each pod. (2) The policy turns it into a set of CPUs
// (cpuset_policy.h) or a quota (quota_policy.h). (3) The resource executor writes the values that
// differ from the kernel's. (4) The other policy's setting is reverted, so that a change of policy,
// or switching the feature off, leaves nothing behind.
//
// It is a control loop without a model: the CPU for BE pods is recomputed from the current use of
// all others. Shrinking takes effect at once, because an LS pod must get its CPU back when it needs
// it. Growing goes in steps of a tenth of the node, so that a dip of one second in an LS pod's use
// does not let batch jobs take all of that CPU and lose it again.
//
// A cpuset is written on three levels, the besteffort cgroup, its pods and their containers. cgroup
// v1 refuses a child that has CPUs which its parent lacks, and a parent that drops CPUs which a
// child still has; ResourceExecutor::updateLeveled widens from the top and then narrows from the
// bottom. Directories are listed in the file system and not taken from the pod list, because
// sandboxes and terminating pods have processes, too.
//
// Kubelet's static CPU manager assigns CPUs to single pods, and resets the cpusets of all other
// containers every ten seconds. BE pods never get the CPUs that it assigned, suppressed or not.
// With this policy the QoS class and the pods get all CPUs that BE pods may ever have; only
// containers, which kubelet resets, get the chosen set. Their files are read again every second, so
// that a reset lasts at most a second.
//
// A missing input (no NodeSLO, no sample within two intervals, no pods) leaves everything as it is:
// without data no pod gets more CPUs. Cost: O(pods + CPUs) and some file reads per second. Rules:
// cpusuppress of upstream's koordlet.

namespace koord::koordlet {
namespace {

constexpr Duration kSettled = std::chrono::seconds(10);
constexpr std::string_view kQuotaPolicy = "cfsQuota";

double cores(std::int64_t milli) {
  return static_cast<double>(milli) / 1000;
}

// The hash of a pod's or container's directory. The hashes are added up, so the order of the list
// does not matter.
std::size_t hashOf(std::string_view pod, std::string_view container) {
  const std::hash<std::string_view> hash;
  return (hash(pod) * 31 ^ hash(container)) * 31;
}

}  // namespace

CpuSuppress::CpuSuppress(const Host& host, const Clock& clock, const States& states,
                         const MetricCache& cache, ResourceExecutor& executor, Metrics& metrics,
                         Duration collectInterval, bool managed)
    : host_(host),
      clock_(clock),
      states_(states),
      cache_(cache),
      executor_(executor),
      metrics_(metrics),
      collectInterval_(collectInterval),
      managed_(managed),
      reader_(host.layout),
      kubelet_(host.dirs) {}

void CpuSuppress::run() {
  ++status_.rounds;
  const EffectiveSlo* slo = states_.slo();
  if (!slo) {
    status_.enabled = false;
    status_.reason = "no NodeSLO for this node yet";
    return;
  }
  if (managed_) {
    recoverQuota();
    recoverCpuset();
    status_.enabled = false;
    status_.reason =
        "off: BE pods use the NUMA nodes that the scheduler chose (feature gate BECPUManager)";
    readBack();
    return;
  }
  status_.enabled = slo->beEnabled();
  status_.policy = slo->threshold.cpuSuppressPolicy.value_or("cpuset");
  status_.thresholdPercent = slo->threshold.cpuSuppressThresholdPercent.value_or(0);
  if (!status_.enabled) {
    recoverQuota();
    recoverCpuset();
    status_.budgetMilli = 0;
    status_.reason = "switched off by NodeSLO (resourceUsedThresholdWithBE.enable)";
    readBack();
    return;
  }
  auto budget = this->budget();
  if (!budget) {
    status_.reason = fmt::format("skipped: {}", budget.error().message);
    return;
  }
  status_.lsUsedMilli = budget->pods + budget->hostApplications;
  status_.systemUsedMilli = budget->system;
  status_.budgetMilli = budget->suppress;
  metrics_.beSuppressLsUsed(cores(status_.lsUsedMilli));
  describe(*budget);
  if (ceiling_ && ceiling_->milli < budget->suppress) {
    budget->suppress = status_.budgetMilli = ceiling_->milli;
    status_.reason +=
        fmt::format(", limited to {:.2f} because {}", cores(ceiling_->milli), ceiling_->why);
  }
  if (status_.policy == kQuotaPolicy) {
    adjustQuota(budget->suppress);
    recoverCpuset();
  } else {
    adjustCpuset(budget->suppress);
    recoverQuota();
  }
  readBack();
}

// Reuses the memory of the last reason.
void CpuSuppress::describe(const cpusuppress::Budget& budget) {
  status_.reason.clear();
  const auto to = std::back_inserter(status_.reason);
  fmt::format_to(to, "{}% of {:.2f} cores is {:.2f}; LS pods use {:.2f}, system {:.2f}: ",
                 status_.thresholdPercent, cores(status_.nodeMilli),
                 cores(status_.nodeMilli * status_.thresholdPercent / 100),
                 cores(status_.lsUsedMilli), cores(status_.systemUsedMilli));
  if (budget.suppress < 0) {
    fmt::format_to(to, "exceeded by {:.2f}, BE pods get the minimum", cores(-budget.suppress));
  } else {
    fmt::format_to(to, "BE pods may use {:.2f}", cores(budget.suppress));
  }
}

Result<cpusuppress::Budget> CpuSuppress::budget() {
  const auto& node = states_.node();
  if (!node) return fail(ErrorCode::NotFound, "the Node object is not known yet");
  if (states_.pods().empty()) return fail(ErrorCode::NotFound, "no pods yet");
  if (!host_.topology) return fail(ErrorCode::NotFound, "the CPUs of the node are not known");
  const WallTime now = clock_.wallNow();
  const auto last = [&](Metric metric, std::string_view subject) {
    return cache_.last(metric, subject, now - collectInterval_ * 2, now);
  };
  const auto nodeCores = last(Metric::NodeCpu, "");
  if (!nodeCores) return fail(ErrorCode::NotFound, "no recent sample of the node's CPU");

  const auto& threshold = states_.slo()->threshold;
  cpusuppress::BudgetInput& input = input_;
  input.pods.clear();
  input.hostApplications.clear();
  input.capacityMilli = model::amountOf(node->status.capacity, model::kCpu).milliValue();
  input.reservedMilli = cpusuppress::reservedMilli(*node);
  input.nodeCores = *nodeCores;
  input.thresholdPercent = status_.thresholdPercent;
  input.minPercent = threshold.cpuSuppressMinPercent;
  for (const auto& view : states_.pods())
    if (const auto used = last(Metric::PodCpu, view.uid()))
      input.pods.push_back({*used, cpusuppress::isBestEffort(view.qos, view.kubeQos)});
  if (input.pods.empty()) return fail(ErrorCode::NotFound, "no recent sample of any pod's CPU");
  for (const auto& application : states_.slo()->hostApplications)
    if (const auto used = last(Metric::HostAppCpu, application.name))
      input.hostApplications.push_back({*used, cpusuppress::isBestEffort(application)});
  status_.nodeMilli = input.capacityMilli;
  return cpusuppress::computeBudget(input);
}

Result<CpuSet> CpuSuppress::currentCpus() {
  const std::string& top = host_.besteffort();
  auto least = reader_.cpuset(top);
  if (!kubelet_.state().isStatic() || !least) return least;
  // Only containers have the chosen set. Containers with more CPUs were reset, or are sandboxes.
  for (const auto& pod : listDirs(host_.layout.dir(Subsystem::Cpuset, top)))
    for (const auto& name : listDirs(host_.layout.dir(Subsystem::Cpuset, joinPath(top, pod)))) {
      auto cpus = reader_.cpuset(joinPath(joinPath(top, pod), name));
      if (cpus && !cpus->empty() && cpus->size() < least->size()) least = std::move(cpus);
    }
  return least;
}

const std::vector<CpuPlace>& CpuSuppress::usableCpus() {
  usable_ = host_.topology->cpus;
  const auto allowed = reader_.cpuset(host_.kubepods());
  if (allowed && !allowed->empty())
    std::erase_if(usable_, [&](const CpuPlace& place) { return !allowed->contains(place.cpu); });
  return usable_;
}

CpuSet CpuSuppress::excluded() {
  if (const auto read = kubelet_.refresh(); !read)
    log::v(4, "the last known state of kubelet's CPU manager stays in use: {}",
           read.error().message);
  const CpuTopology* topology = host_.topology ? &*host_.topology : nullptr;
  const CpuSet owned = cpusuppress::ownedByKubelet(kubelet_.state(), states_.pods());
  if (!states_.node()) return owned;
  return owned.unionWith(cpusuppress::excludedCpus(states_.node()->metadata.annotations, topology));
}

void CpuSuppress::policyChanged() {
  const EffectiveSlo* slo = states_.slo();
  if (!slo) return;
  const bool byQuota =
      slo->beEnabled() && slo->threshold.cpuSuppressPolicy.value_or("") == kQuotaPolicy;
  if (!byQuota) recoverQuota();
}

void CpuSuppress::adjustCpuset(std::int64_t budgetMilli) {
  const CpuSet forbidden = excluded();  // also learns kubelet's policy
  const auto current = currentCpus();
  if (!current) {
    log::v(4, "BE pods not suppressed: {}", current.error().message);
    return;
  }
  cpusuppress::CpusetInput& input = choosing_;
  input.cpus = usableCpus();
  input.pods = pinned();
  input.excluded = forbidden;
  input.current = *current;
  input.budgetMilli = std::max<std::int64_t>(budgetMilli + 999, 0) / 1000 * 1000;  // whole CPUs
  if (input != chosenFor_) {
    chosen_ = cpusuppress::chooseCpuset(input);
    // Too few CPUs to choose from: BE pods get all of them. Unchanged, they would keep CPUs that
    // other pods own.
    if (chosen_.empty())
      chosen_ = cpusuppress::unsuppressedCpuset(input.cpus, input.pods, input.excluded);
    chosenFor_ = input;
  }
  const CpuSet& chosen = chosen_;
  if (chosen.empty()) {
    status_.reason += "; no CPUs available, unchanged";
    return;
  }
  status_.reason.append(", on CPUs ").append(chosen.toString());
  const CpuSet above = kubelet_.state().isStatic()
                           ? cpusuppress::unsuppressedCpuset(input.cpus, input.pods, input.excluded)
                           : chosen;
  writeCpuset(chosen, above, "AdjustBEByNodeCPUUsage");
  metrics_.beSuppress("cpuset", chosen.size());
}

void CpuSuppress::adjustQuota(std::int64_t budgetMilli) {
  const auto current = reader_.cfsQuotaUs(host_.besteffort());
  if (!current) {
    log::v(4, "BE pods not suppressed: {}", current.error().message);
    return;
  }
  quotaRecovered_ = false;
  const std::int64_t capacityCores =
      model::amountOf(states_.node()->status.capacity, model::kCpu).value();
  const auto quota = cpusuppress::chooseQuota(budgetMilli, *current, capacityCores);
  if (!quota) return;
  const auto outcome = executor_.update({CgroupFile::CpuCfsQuota, host_.besteffort(),
                                         std::to_string(*quota), "AdjustBEByNodeCPUUsage"},
                                        ResourceExecutor::Caching::ForceWrite);
  if (!outcome) {
    log::warn("quota of BE pods not set: {}", outcome.error().message);
    return;
  }
  metrics_.beSuppress(std::string(kQuotaPolicy),
                      static_cast<double>(*quota) / static_cast<double>(kCfsPeriodUs));
}

void CpuSuppress::recoverCpuset() {
  if (!host_.topology) return;
  const CpuSet all = cpusuppress::unsuppressedCpuset(usableCpus(), pinned(), excluded());
  if (!all.empty()) writeCpuset(all, all, "suppressBECPU");
}

void CpuSuppress::recoverQuota() {
  if (quotaRecovered_) return;
  const auto outcome =
      executor_.update({CgroupFile::CpuCfsQuota, host_.besteffort(), "-1", "suppressBECPU"},
                       ResourceExecutor::Caching::ForceWrite);
  quotaRecovered_ =
      outcome && (*outcome == UpdateOutcome::Written || *outcome == UpdateOutcome::Unchanged);
}

// By directory, not by pod: no pod list has sandboxes and terminating pods.
template <class OnPod, class OnContainer>
void CpuSuppress::forEachDirectory(OnPod onPod, OnContainer onContainer) {
  host_.layout.dir(Subsystem::Cpuset, host_.besteffort(), path_);
  const std::size_t stem = path_.size();
  names_.clear();
  forEachDir(path_, [&](std::string_view pod) { names_.append(pod).append(1, '/'); });
  for (std::string_view rest = names_; !rest.empty();) {
    const auto pod = rest.substr(0, rest.find('/'));
    rest.remove_prefix(pod.size() + 1);
    onPod(pod);
    path_.resize(stem);
    path_ += pod;
    forEachDir(path_, [&](std::string_view name) { onContainer(pod, name); });
  }
}

std::size_t CpuSuppress::directories() {
  std::size_t sum = 0;
  forEachDirectory([&](std::string_view pod) { sum += hashOf(pod, {}); },
                   [&](std::string_view pod, std::string_view name) { sum += hashOf(pod, name); });
  return sum;
}

const std::vector<cpusuppress::PinnedPod>& CpuSuppress::pinned() {
  if (pinnedFor_ != states_.versions().pods) {
    pinnedFor_ = states_.versions().pods;
    pinned_ = cpusuppress::pinnedPods(states_.pods());
    placed_.clear();
    for (const auto& pod : states_.pods())
      if (managed_ && cpusuppress::placedByScheduler(*pod.pod)) placed_.insert(pod.dir);
  }
  return pinned_;
}

void CpuSuppress::writeCpuset(const CpuSet& cpus, const CpuSet& above, std::string_view reason) {
  // Saves the executor a look-up for each of these files: a thousand a second on a full node.
  Settled now{cpus, above, 0, executor_.forgotten(), clock_.steadyNow()};
  if (!kubelet_.state().isStatic() && settled_ && settled_->cpus == cpus &&
      settled_->above == above && settled_->forgotten == now.forgotten &&
      now.at - settled_->at < kSettled && settled_->directories == directories())
    return;
  const std::string value = cpus.toString();
  const std::string upper = above.toString();
  const std::string& top = host_.besteffort();
  for (auto& level : levels_) level.clear();
  levels_[0].push_back({CgroupFile::CpusetCpus, top, upper, reason});
  forEachDirectory(
      [&](std::string_view pod) {
        now.directories += hashOf(pod, {});
        dir_.assign(top).append(1, '/').append(pod);
        levels_[1].push_back({CgroupFile::CpusetCpus, dir_, upper, reason});
      },
      [&](std::string_view pod, std::string_view name) {
        now.directories += hashOf(pod, name);
        dir_.assign(top).append(1, '/').append(pod);
        if (placed_.contains(dir_)) return;
        dir_.append(1, '/').append(name);
        levels_[2].push_back({CgroupFile::CpusetCpus, dir_, value, reason});
      });
  const std::span<const CgroupUpdate> levels[] = {levels_[0], levels_[1], levels_[2]};
  const auto result = executor_.updateLeveled(levels, kubelet_.state().isStatic()
                                                          ? ResourceExecutor::Caching::ForceWrite
                                                          : ResourceExecutor::Caching::Yes);
  settled_.reset();
  if (result.failed == 0 && result.written == 0) settled_ = now;
}

void CpuSuppress::readBack() {
  if (const auto cpus = currentCpus()) status_.beCpuset = cpus->toString();
  if (const auto quota = reader_.cfsQuotaUs(host_.besteffort())) status_.beQuotaUs = *quota;
}

}  // namespace koord::koordlet
