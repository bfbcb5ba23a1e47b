#include "koordlet/qos/cpuburst/cpu_burst.h"

#include <algorithm>

#include "base/log.h"
#include "koordlet/system/conversions.h"
#include "model/pod_requests.h"
#include "model/resources.h"
#include "model/well_known.h"

// The kernel requires that the quota of a pod is at least that of each of its containers. So a
// container's quota grows after its pod's and shrinks before it. The pod's quota changes by the
// same amount as the container's; a pod without a quota keeps none.
//
// Anolis kernels accept a burst above the quota. Mainline kernels refuse that, and refuse a quota
// below the burst. After the first refusal each container's burst is capped at its smallest quota.
//
// Cost: three small reads per container and second, and no memory allocations.

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using cpuburst::NodeState;
using cpuburst::QuotaStep;

constexpr Duration kNodeWindow = 10s;

const char* textOf(NodeState state) {
  switch (state) {
    case NodeState::Idle:
      return "idle";
    case NodeState::Cooling:
      return "cooling";
    case NodeState::Overload:
      return "overload";
    case NodeState::Unknown:
      break;
  }
  return "unknown";
}

std::int64_t limitMilliOf(const PodView& pod, const ContainerView& container) {
  const auto* spec = containerOf(*pod.pod, container.name);
  return spec ? model::amountOf(spec->resources.limits, model::kCpu).milliValue() : 0;
}

bool bursts(const PodView& pod) {
  return pod.active() && pod.qos != model::Qos::LSE && pod.qos != model::Qos::LSR &&
         pod.qos != model::Qos::BE;
}

}  // namespace

CpuBurst::CpuBurst(const Host& host, const Clock& clock, const States& states,
                   const MetricCache& cache, ResourceExecutor& executor, Random random,
                   Duration interval, Duration collectInterval)
    : host_(host),
      clock_(clock),
      states_(states),
      cache_(cache),
      executor_(executor),
      random_(random),
      interval_(interval),
      collectInterval_(collectInterval),
      reader_(host.layout) {}

std::optional<double> CpuBurst::last(Metric metric, std::string_view subject) const {
  const WallTime now = clock_.wallNow();
  return cache_.last(metric, subject, now - collectInterval_ * 2, now);
}

CpuBurst::Planned CpuBurst::planFor(const PodView& pod, const EffectiveSlo& slo) const {
  Planned planned{&pod, cpuburst::strategyFor(*pod.pod, slo.cpuBurst), {}};
  const CpuRatio* ratio = ratio_ && isNormalized(pod) ? ratio_ : nullptr;
  for (const auto& container : pod.containers) {
    if (container.dir.empty()) continue;
    const std::int64_t limit = limitMilliOf(pod, container);
    const std::int64_t nominal = std::max<std::int64_t>(milliCpuToQuota(limit), 0);
    planned.containers.push_back({&container, limit, ratio ? ratio->quota(nominal) : nominal,
                                  cpuburst::burstUs(limit, planned.strategy), nominal});
  }
  return planned;
}

void CpuBurst::plan(const EffectiveSlo& slo) {
  const double ratio = ratio_ ? ratio_->value() : 1;
  if (plannedFor_ == states_.versions() && plannedRatio_ == ratio) return;
  plannedFor_ = states_.versions();
  plannedRatio_ = ratio;
  plans_.clear();
  loads_.clear();
  for (const auto& pod : states_.pods()) {
    loads_.push_back({pod.qos,
                      model::amountOf(model::podRequests(*pod.pod), model::kCpu).milliValue(),
                      std::nullopt});
    if (bursts(pod)) plans_.push_back(planFor(pod, slo));
  }
}

NodeState CpuBurst::nodeState(std::int64_t thresholdPercent) {
  if (!host_.topology) return NodeState::Unknown;
  const WallTime now = clock_.wallNow();
  const WallTime from = now - std::min(interval_ * 5, kNodeWindow);
  for (std::size_t i = 0; i < loads_.size(); ++i)
    loads_[i].cores = cache_.average(Metric::PodCpu, states_.pods()[i].uid(), from, now);
  return cpuburst::nodeStateOf(host_.topology->count(),
                               cache_.average(Metric::NodeCpu, "", from, now), loads_,
                               thresholdPercent);
}

void CpuBurst::run() {
  const EffectiveSlo* slo = states_.slo();
  if (!slo) return;
  plan(*slo);
  node_ = nodeState(slo->cpuBurst.sharePoolThresholdPercent.value_or(50));
  status_ = {textOf(node_), 0};
  for (auto& planned : plans_) {
    applyBurst(planned);
    applyQuota(planned);
  }
  const SteadyTime now = clock_.steadyNow();
  if (normalized_.size() > 100 + 10 * plans_.size()) normalized_.clear();
  std::erase_if(limiters_, [&](const auto& entry) { return entry.second.expired(now); });
  if (now - closed_ < 1min) return;
  closed_ = now;
  reader_.closeUnused();
}

void CpuBurst::publish(Metrics& metrics) const {
  metrics.resetScaledQuotas();
  if (plannedFor_ != states_.versions()) return;  // the pods changed since the last round
  for (const auto& planned : plans_) {
    const auto& metadata = planned.pod->pod->metadata;
    for (const auto& container : planned.containers) {
      const Metrics::Subject subject{metadata.uid, metadata.name, metadata.namespace_,
                                     containerIdOf(*planned.pod, *container.view),
                                     container.view->name};
      const std::int64_t saved =
          burstWithinQuota_ ? std::min(container.burst, container.base) : container.burst;
      if (container.saves) metrics.scaledBurst(subject, static_cast<double>(saved));
      if (container.lifted > 0) metrics.scaledQuota(subject, static_cast<double>(container.lifted));
    }
  }
}

bool CpuBurst::writeBurst(const std::string& dir, std::int64_t us, std::int64_t base) {
  const auto write = [&](std::int64_t value) {
    return executor_.update({CgroupFile::CpuCfsBurst, dir, std::to_string(value), "CPUBurst"});
  };
  const auto taken = [](const Result<UpdateOutcome>& outcome) {
    return outcome && (*outcome == UpdateOutcome::Written || *outcome == UpdateOutcome::Unchanged);
  };
  if (!burstWithinQuota_) {
    const auto written = write(us);
    if (written || us <= base) return taken(written);
    log::info("this kernel limits bursts to the quota: {}", written.error().message);
    burstWithinQuota_ = true;
  }
  const auto written = write(std::min(us, base));
  if (!written) log::v(4, "burst of {} not set: {}", dir, written.error().message);
  return taken(written);
}

void CpuBurst::applyBurst(Planned& planned) {
  std::int64_t sum = 0, bases = 0;
  for (auto& container : planned.containers) {
    if (container.view->init) continue;
    container.saves = writeBurst(container.view->dir, container.burst, container.base);
    sum += container.burst;
    bases += container.base;
  }
  writeBurst(planned.pod->dir, sum, bases);
}

bool CpuBurst::allowed(const ContainerView& container, std::int64_t limitMilli,
                       const api::CPUBurstStrategy& strategy) {
  const std::int64_t period = strategy.cfsQuotaBurstPeriodSeconds.value_or(-1);
  const std::int64_t percent = strategy.cfsQuotaBurstPercent.value_or(0);
  if (period < 0) return true;
  if (percent < 100) return false;
  const SteadyTime now = clock_.steadyNow();
  const std::int64_t capacity = cpuburst::Limiter::capacityOf(period, percent);
  auto found = limiters_.find(container.id);
  if (found == limiters_.end() || found->second.capacity() != capacity) {
    // Not full, so that repeated restarts of koordlet do not grant new burst each time.
    const auto tokens =
        static_cast<std::int64_t>(random_.unit() / 2 * static_cast<double>(capacity));
    found =
        limiters_.insert_or_assign(container.id, cpuburst::Limiter(period, percent, tokens, now))
            .first;
  }
  const auto cores = last(Metric::ContainerCpu, container.id);
  const double ratio = cores ? *cores * 1000 / static_cast<double>(limitMilli) : 1;
  return found->second.allow(static_cast<std::int64_t>(ratio * 100), now);
}

QuotaStep CpuBurst::desiredStep(const ContainerView& container, std::int64_t limitMilli,
                                const api::CPUBurstStrategy& strategy) {
  const bool may =
      cpuburst::quotaBurstEnabled(strategy) && allowed(container, limitMilli, strategy);
  return cpuburst::wantedStep(strategy, may, last(Metric::ContainerThrottled, container.id));
}

void CpuBurst::applyQuota(Planned& planned) {
  for (auto& planning : planned.containers) {
    const ContainerView& container = *planning.view;
    planning.lifted = 0;
    if (!container.running || planning.limitMilli <= 0) continue;
    const auto current = reader_.cfsQuotaUs(container.dir);
    const auto period = reader_.cfsPeriodUs(container.dir);
    // No quota: kubelet or the user decided that the container needs none.
    if (!current || *current <= 0 || !period || *period <= 0) continue;
    const std::int64_t base = quotaInPeriod(planning.base, *period);
    const QuotaStep step =
        cpuburst::onNode(desiredStep(container, planning.limitMilli, planned.strategy), node_);
    const std::int64_t nominal = quotaInPeriod(planning.nominal, *period);
    // The runtime creates a container with the nominal quota. Our quota can equal it only where it
    // is the maximum that burst allows; there a container is taken as new at most once.
    const bool atNominal = base < nominal && *current == nominal &&
                           (normalized_.insert(container.id).second ||
                            nominal != cpuburst::maxQuota(base, planned.strategy));
    const std::int64_t from = atNominal ? base : *current;
    const std::int64_t next = cpuburst::nextQuota(step, from, base, planned.strategy);
    const bool moved = next != *current && stepQuota(*planned.pod, container, *current, next);
    const std::int64_t quota = moved ? next : *current;
    if (next > base) ++status_.lifted;
    if (quota > base) planning.lifted = quota;
  }
}

bool CpuBurst::stepQuota(const PodView& pod, const ContainerView& container, std::int64_t current,
                         std::int64_t next) {
  const auto podQuota = reader_.cfsQuotaUs(pod.dir);
  const auto write = [&](const std::string& dir, std::int64_t quota) {
    const auto written =
        executor_.update({CgroupFile::CpuCfsQuota, dir, std::to_string(quota), "CFSQuotaBurst"},
                         ResourceExecutor::Caching::No);
    if (!written) log::v(4, "quota of {} not set: {}", dir, written.error().message);
    return written && *written != UpdateOutcome::InConflict;
  };
  const bool podToo = podQuota && *podQuota > 0;
  const std::int64_t podNext = podToo ? *podQuota + next - current : -1;
  if (next > current) return (!podToo || write(pod.dir, podNext)) && write(container.dir, next);
  if (!write(container.dir, next)) return false;
  if (podToo) write(pod.dir, podNext);
  return true;
}

}  // namespace koord::koordlet
