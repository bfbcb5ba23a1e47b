#include "koordctl/colocation/machine_model.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "koordctl/colocation/distributions.h"

namespace koord::koordctl::colocation {

namespace {

constexpr double kPeriodMs = 100;
constexpr double kFullLoad = 0.995;  // the longest queue: that of this load
constexpr double kNegligible = 1e-9;

}  // namespace

double erlangC(int servers, double load) {
  if (load <= 0) return 0;
  if (load >= servers) return 1;
  double blocking = 1;  // Erlang's B, by its recursion over the servers
  for (int n = 1; n <= servers; ++n) blocking = load * blocking / (n + load * blocking);
  const double busy = load / servers;
  return blocking / (1 - busy * (1 - blocking));
}

double inflationOf(const Parameters& parameters, double cpus, double batch) {
  return 1 + parameters.cacheShare * std::clamp(batch / cpus, 0.0, 1.0);
}

Delays delaysOf(const Parameters& parameters, const Contention& now) {
  Delays delays;
  delays.inflation = inflationOf(parameters, now.cpus, now.batch);
  const double load = std::min(now.services, now.cpus * kFullLoad);
  // Below a quarter of 32 CPUs the probability is under 1e-9.
  if (load > now.cpus / 4 || now.cpus < 32)
    delays.queueProbability = erlangC(static_cast<int>(now.cpus), load);
  delays.queueMs = parameters.requestMs * delays.inflation / (now.cpus - load);
  if (now.batch <= kNegligible) return delays;
  double busy = now.batch, part = 1;
  if (now.byQuota) {
    busy = std::clamp(now.threads, now.batch, std::max(now.cpus - load, now.batch));
    part = now.batch / busy;
  }
  const double utilisation = std::min(1.0, (load + busy) / now.cpus);
  delays.batchProbability =
      part * std::pow(utilisation, parameters.wakeupSearch) * busy / (load + busy);
  delays.batchMs = now.equalWeight ? parameters.sliceMs : parameters.preemptMs;
  return delays;
}

Throttling throttlingOf(const Parameters& parameters, double demand, double quota,
                        double savedPeriods) {
  if (quota <= 0 || demand <= 0) return {};
  const double variance =
      2 * demand * parameters.requestMs / kPeriodMs / (1 + std::max(savedPeriods, 0.0));
  const double distance = (quota - demand) / std::sqrt(variance);
  if (distance > 6) return {};
  Throttling throttling;
  throttling.share = 0.5 * std::erfc(distance / std::numbers::sqrt2);
  throttling.waitMs = kPeriodMs / 2 * std::max(1.0, demand / quota);
  // Beyond the quota the queue grows until clients give up: as long as the demand is constant.
  if (demand > quota) throttling.waitMs += (demand / quota - 1) * parameters.stepSeconds * 1000 / 2;
  return throttling;
}

double sampleSlowdown(const Parameters& parameters, const Delays& delays,
                      const Throttling& throttling, Random& random) {
  double wait = 0;
  if (random.chance(delays.queueProbability)) wait += exponential(random, delays.queueMs);
  if (random.chance(delays.batchProbability)) wait += exponential(random, delays.batchMs);
  if (throttling.share > 0 && random.chance(throttling.share))
    wait += exponential(random, throttling.waitMs);
  return delays.inflation + wait / parameters.requestMs;
}

}  // namespace koord::koordctl::colocation
