#include "koordctl/colocation/workload.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "koordctl/colocation/distributions.h"

namespace koord::koordctl::colocation {

namespace {

constexpr double kDay = 86400;
constexpr double kPeakHour = 14, kPeakSpread = 2;
constexpr double kPodCores[] = {4, 8, 8, 16};

// 1 in the busiest hour, -1 twelve hours later.
double dailyWave(double seconds, double peakHour) {
  return std::cos(2 * std::numbers::pi * (seconds / 3600 - peakHour) / 24);
}

bool isWeekend(double seconds) {
  return static_cast<std::int64_t>(seconds / kDay) % 7 >= 5;
}

}  // namespace

Workload::Workload(const Parameters& parameters, Random random)
    : parameters_(parameters), random_(random) {
  addServices();
  noise_.resize(pods_.size());
  for (double& value : noise_) value = normal(random_);
  demand_.resize(pods_.size());
  memory_.resize(pods_.size());
  moveTo(0);
}

void Workload::addServices() {
  const double wanted = parameters_.nodes * parameters_.cores * parameters_.requestedShare;
  const auto replicas = static_cast<std::size_t>(parameters_.replicas);
  double requested = 0;
  while (requested < wanted) {
    Service service;
    service.mean = std::min(parameters_.meanUse * lognormal(normal(random_), parameters_.useSpread),
                            parameters_.peakUse / (1 + parameters_.dailySwing));
    service.peakHour = kPeakHour + kPeakSpread * normal(random_);
    const double cores =
        std::min(kPodCores[random_.below(std::size(kPodCores))], parameters_.cores / 4);
    services_.push_back(service);
    for (std::size_t n = 0; n < replicas && requested + cores <= wanted; ++n) {
      pods_.push_back({.service = services_.size() - 1,
                       .cores = cores,
                       .memoryGib = cores * parameters_.serviceMemoryPerCore,
                       .limit = cores * parameters_.limitFactor});
      requested += cores;
    }
    if (requested + cores > wanted) break;
  }
}

void Workload::moveService(Service& service, double seconds, double step) {
  if (seconds >= service.burstEnds) {
    service.burstFactor = 1;
    if (random_.chance(std::min(1.0, parameters_.burstsPerDay * step / kDay))) {
      service.burstFactor = 1 + exponential(random_, parameters_.burstHeight - 1);
      service.burstEnds = seconds + exponential(random_, parameters_.burstMinutes * 60);
    }
  }
  service.factor = service.mean *
                   (1 + parameters_.dailySwing * dailyWave(seconds, service.peakHour)) *
                   (isWeekend(seconds) ? 1 - parameters_.weekendDip : 1) * service.burstFactor;
}

void Workload::moveTo(double seconds) {
  const double step = seconds - now_;
  now_ = seconds;
  for (Service& service : services_) moveService(service, seconds, step);
  const double kept = std::exp(-step / (parameters_.noiseMinutes * 60));
  const double added = std::sqrt(1 - kept * kept);
  for (std::size_t n = 0; n < pods_.size(); ++n) {
    const Service& service = services_[pods_[n].service];
    if (step > 0) noise_[n] = kept * noise_[n] + added * normal(random_);
    demand_[n] = pods_[n].cores * std::min(service.factor * lognormal(noise_[n], parameters_.noise),
                                           parameters_.shedAt);
    memory_[n] = pods_[n].memoryGib * parameters_.serviceMemoryUse *
                 (1 + parameters_.memorySwing * dailyWave(seconds, service.peakHour));
  }
}

}  // namespace koord::koordctl::colocation
