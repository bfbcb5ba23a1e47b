#include "koordctl/colocation/node_agent.h"

#include <algorithm>
#include <cmath>

#include "koordctl/colocation/units.h"
#include "koordlet/qos/cpuevict/satisfaction.h"
#include "koordlet/qos/cpusuppress/budget.h"
#include "koordlet/qos/cpusuppress/cpuset_policy.h"
#include "koordlet/qos/cpusuppress/quota_policy.h"
#include "koordlet/qos/memoryevict/victims.h"
#include "koordlet/system/conversions.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::koordctl::colocation {

namespace {

using namespace std::chrono_literals;
using koordlet::EvictionTask;
using koordlet::kCfsPeriodUs;
using koordlet::cpuburst::QuotaStep;

// The defaults of koordlet's flags.
constexpr Duration kMemoryCoolDown = 4s, kCpuCoolDown = 20s;
constexpr double kPeriodsOfASecond = 10;
constexpr double kSeldom = 0.001;  // not worth a round: a chance of 1.5 % in a step of 15 s

std::size_t stepsOf(double seconds, const Parameters& parameters) {
  return static_cast<std::size_t>(std::max(1.0, std::ceil(seconds / parameters.stepSeconds)));
}

// Two threads a core, two NUMA nodes of a socket each.
std::vector<koordlet::CpuPlace> placesOf(int cpus) {
  std::vector<koordlet::CpuPlace> places;
  for (int cpu = 0; cpu < cpus; ++cpu) {
    const int node = cpu < cpus / 2 ? 0 : 1;
    places.push_back({.cpu = cpu, .core = cpu / 2, .l3 = node, .node = node, .socket = node});
  }
  return places;
}

}  // namespace

NodeAgent::NodeAgent(const Parameters& parameters, const NodeSettings& settings,
                     const NodeSize& size, Random random)
    : parameters_(parameters),
      settings_(settings),
      size_(size),
      random_(random),
      cpus_(placesOf(static_cast<int>(size.cores))),
      ceiling_{false, size.cores},
      usage_(stepsOf(static_cast<double>(settings.threshold.cpuEvictTimeWindowSeconds.value_or(1)),
                     parameters)),
      request_(usage_),
      limit_(usage_) {}

Ceiling NodeAgent::chosen(std::int64_t budgetMilli) {
  if (settings_.threshold.cpuSuppressPolicy == "cfsQuota") {
    const std::int64_t current =
        ceiling_.byQuota
            ? static_cast<std::int64_t>(ceiling_.cores * static_cast<double>(kCfsPeriodUs))
            : -1;
    const auto quota = koordlet::cpusuppress::chooseQuota(budgetMilli, current,
                                                          static_cast<std::int64_t>(size_.cores));
    if (!quota) return ceiling_;
    return {true, static_cast<double>(*quota) / static_cast<double>(kCfsPeriodUs)};
  }
  const int current = static_cast<int>(ceiling_.cores);
  const std::int64_t whole = std::max<std::int64_t>(budgetMilli + 999, 0) / 1000;
  const auto [it, added] = cpusets_.try_emplace({current, whole}, 0);
  if (added) {
    koordlet::cpusuppress::CpusetInput input{.cpus = cpus_, .budgetMilli = whole * 1000};
    for (int cpu = 0; cpu < current; ++cpu) input.current.add(cpu);
    it->second = koordlet::cpusuppress::chooseCpuset(input).size();
  }
  return {false, static_cast<double>(it->second)};
}

bool NodeAgent::suppress(const Machine& machine) {
  double shared = size_.cores;
  for (const RunningService& service : machine.services())
    if (service.exclusive) shared -= service.cores;
  shared = std::max(shared, 0.0);
  if (!settings_.suppress) {
    const bool changed = ceiling_.cores > shared;
    ceiling_.cores = std::min(ceiling_.cores, shared);
    return changed;
  }
  koordlet::cpusuppress::BudgetInput input;
  input.capacityMilli = milliOf(size_.cores);
  input.nodeCores = machine.cpuUsed();
  for (const RunningService& service : machine.services())
    input.pods.push_back({service.used, false});
  for (const RunningJob& job : machine.jobs()) input.pods.push_back({job.used, true});
  input.thresholdPercent = settings_.threshold.cpuSuppressThresholdPercent.value_or(0);
  input.minPercent = settings_.threshold.cpuSuppressMinPercent;
  Ceiling next = chosen(koordlet::cpusuppress::computeBudget(input).suppress);
  next.cores = std::min(next.cores, shared);
  if (next == ceiling_) return false;
  ceiling_ = next;
  return true;
}

void NodeAgent::prepare(RunningService& service) const {
  const auto milli = milliOf(service.limit);
  if (milli <= 0) return;
  service.baseQuota = service.quota = koordlet::milliCpuToQuota(milli);
  const std::int64_t burst = koordlet::cpuburst::burstUs(milli, settings_.burst);
  service.savedPeriods = std::min(parameters_.kernelBurst,
                                  static_cast<double>(burst) / static_cast<double>(service.quota));
}

bool NodeAgent::burst(Machine& machine) {
  if (!koordlet::cpuburst::quotaBurstEnabled(settings_.burst)) return false;
  std::vector<koordlet::cpuburst::PodLoad> loads;
  for (const RunningJob& job : machine.jobs()) loads.push_back({model::Qos::BE, 0, job.used});
  const auto state = koordlet::cpuburst::nodeStateOf(
      static_cast<std::size_t>(size_.cores), machine.cpuUsed(), loads,
      settings_.burst.sharePoolThresholdPercent.value_or(50));
  bool again = false;
  for (RunningService& service : machine.services()) {
    if (service.baseQuota <= 0) continue;
    if (service.throttling.share <= 0 && service.quota == service.baseQuota) continue;
    const auto quotaAfter = [&](double throttled) {
      const QuotaStep step = koordlet::cpuburst::onNode(
          koordlet::cpuburst::wantedStep(settings_.burst, true, throttled), state);
      return koordlet::cpuburst::nextQuota(step, service.quota, service.baseQuota, settings_.burst);
    };
    const double share = service.throttling.share;
    const double second = 1 - std::pow(1 - share, kPeriodsOfASecond);
    const std::int64_t next = quotaAfter(random_.chance(second) ? share : 0);
    again |= next != service.quota || (second > kSeldom && quotaAfter(share) != service.quota);
    service.quota = next;
  }
  return again;
}

std::optional<EvictionTask> NodeAgent::memoryTask(const Machine& machine) const {
  using namespace koordlet::memoryevict;
  const auto& threshold = settings_.threshold;
  if (!settings_.evictMemory || !checkUsedThresholds(threshold)) return std::nullopt;
  const Release release =
      releaseByUsed(threshold, bytesOf(machine.memoryUsed()), bytesOf(size_.memoryGib));
  if (release.bytes <= 0) return std::nullopt;
  std::vector<MemoryUser> users;
  for (const RunningJob& job : machine.jobs())
    users.push_back({job.pod, bytesOf(job.job.memoryUsedGib)});
  return EvictionTask{.feature = "BEMemoryEvict",
                      .candidates = bestEffortVictims(std::move(users)),
                      .toRelease = {{std::string(model::kMemory), release.bytes}}};
}

void NodeAgent::measureBatch(const Machine& machine) {
  double used = 0, requested = 0;
  for (const RunningJob& job : machine.jobs()) {
    used += job.used * 1000;
    requested += static_cast<double>(job.batchMilli);
  }
  usage_.add(used);
  request_.add(requested);
  limit_.add(ceiling_.cores * 1000);
}

std::optional<EvictionTask> NodeAgent::cpuTask(const Machine& machine) const {
  using namespace koordlet::cpuevict;
  if (!settings_.evictCpu || !checkThresholds(settings_.threshold)) return std::nullopt;
  const BestEffortUse average{usage_.mean(), request_.mean(), limit_.mean()};
  const BestEffortUse newest{usage_.newest(1).front(), request_.newest(1).front(),
                             limit_.newest(1).front()};
  const std::int64_t milli = toRelease(average, newest, settings_.threshold);
  if (milli <= 0) return std::nullopt;
  std::vector<CpuUser> users;
  for (const RunningJob& job : machine.jobs()) users.push_back({job.pod, job.batchMilli, job.used});
  return EvictionTask{.feature = "BECPUEvict",
                      .kind = koordlet::ReleaseKind::Requested,
                      .candidates = victims(std::move(users)),
                      .toRelease = {{std::string(model::kBatchCpu), milli}}};
}

std::vector<std::string> NodeAgent::evict(const Machine& machine, SteadyTime now) {
  measureBatch(machine);
  std::vector<std::string> killed;
  const auto run = [&](std::optional<SteadyTime>& attempt, Duration coolDown,
                       std::optional<EvictionTask> task) {
    if (!task || (attempt && now - *attempt < coolDown)) return;
    std::vector<EvictionTask> tasks{*std::move(task)};
    koordlet::ReleaseAccount account(tasks);
    for (const auto& candidate : tasks.front().candidates) {
      if (account.covers(tasks.front())) break;
      const std::string& name = candidate.pod->metadata.name;
      account.release(*candidate.pod);
      if (std::ranges::find(killed, name) != killed.end()) continue;
      killed.push_back(name);
      attempt = now;
    }
  };
  run(memoryAttempt_, kMemoryCoolDown, memoryTask(machine));
  run(cpuAttempt_, kCpuCoolDown, cpuTask(machine));
  return killed;
}

}  // namespace koord::koordctl::colocation
