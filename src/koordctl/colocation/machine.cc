#include "koordctl/colocation/machine.h"

#include <algorithm>
#include <cmath>

#include "koordlet/system/conversions.h"
#include "model/pod_requests.h"
#include "model/well_known.h"

namespace koord::koordctl::colocation {

namespace {

constexpr double kWindowSeconds = 300;  // metricAggregateDurationSeconds

}  // namespace

void Window::add(double value) {
  if (values_.size() < size_) {
    values_.push_back(value);
    sum_ += value;
    return;
  }
  sum_ += value - values_[head_];
  values_[head_] = value;
  head_ = (head_ + 1) % size_;
}

std::vector<double> Window::newest(std::size_t count) const {
  std::vector<double> result;
  const std::size_t all = values_.size();
  for (std::size_t n = all - std::min(count, all); n < all; ++n)
    result.push_back(values_[(head_ + n) % all]);
  return result;
}

Machine::Machine(const Parameters& parameters, NodeSize size, bool equalWeight)
    : parameters_(parameters),
      size_(std::move(size)),
      equalWeight_(equalWeight),
      windowSteps_(
          static_cast<std::size_t>(std::max(1.0, kWindowSeconds / parameters.stepSeconds))),
      node_(windowSteps_) {}

void Machine::addJob(std::shared_ptr<const api::Pod> pod, const Job& job) {
  const std::int64_t milli = model::runningRequest(pod->spec, model::kBatchCpu).value();
  jobs_.push_back({std::move(pod), job, job.coreSeconds, milli, 0, Measured(windowSteps_)});
}

RunningJob Machine::takeJob(const std::string& pod) {
  const auto it =
      std::ranges::find_if(jobs_, [&](const auto& job) { return job.pod->metadata.name == pod; });
  RunningJob taken = std::move(*it);
  jobs_.erase(it);
  return taken;
}

void Machine::load(const Load& load) {
  for (RunningService& service : services_) {
    service.demand = load.demand(service.index);
    service.memory = load.memory(service.index);
    service.counts = load.counts(service.index);
  }
}

void Machine::settle(const Ceiling& ceiling) {
  const double inflation = inflationOf(parameters_, size_.cores, batchCores_);
  double wanted = 0;
  for (RunningService& service : services_) {
    const double quota =
        static_cast<double>(service.quota) / static_cast<double>(koordlet::kCfsPeriodUs);
    const double demand = service.demand * inflation;
    service.throttling = throttlingOf(parameters_, demand, quota, service.savedPeriods);
    service.used = quota > 0 ? std::min(demand, quota) : demand;
    wanted += service.used;
  }
  const double free = size_.cores - size_.systemCores;
  const double share = wanted > free ? free / wanted : 1;
  for (RunningService& service : services_) service.used *= share;
  serviceCores_ = wanted * share;
  batchWanted_ = 0;
  for (const RunningJob& job : jobs_) batchWanted_ += job.job.cores * parameters_.jobCpuUse;
  batchCores_ = std::max(0.0, std::min({batchWanted_, ceiling.cores, free - serviceCores_}));
  const double given = batchWanted_ > 0 ? batchCores_ / batchWanted_ : 0;
  for (RunningJob& job : jobs_) job.used = job.job.cores * parameters_.jobCpuUse * given;
  delays_ = delaysOf(parameters_, {.cpus = size_.cores,
                                   .services = wanted + size_.systemCores,
                                   .batch = batchCores_,
                                   .threads = batchWanted_,
                                   .byQuota = ceiling.byQuota,
                                   .equalWeight = equalWeight_});
}

void Machine::run(double seconds, WeightedHistogram& slowdowns, Random& random) {
  for (RunningService& service : services_) {
    service.measured.coreSeconds += service.used * seconds;
    if (!service.counts) continue;
    slowdowns.add(sampleSlowdown(parameters_, delays_, service.throttling, random),
                  service.demand * seconds);
  }
  for (RunningJob& job : jobs_) {
    const double done = std::min(job.left, job.used * seconds);
    job.left -= done;
    job.measured.coreSeconds += done;
  }
}

std::vector<RunningJob> Machine::endStep(double seconds) {
  double all = size_.systemCores * seconds;
  const auto sample = [&](Measured& measured, double memory) {
    all += measured.coreSeconds;
    measured.cpu.add(measured.coreSeconds / seconds);
    measured.memory.add(memory);
    measured.coreSeconds = 0;
  };
  for (RunningService& service : services_) sample(service.measured, service.memory);
  for (RunningJob& job : jobs_) sample(job.measured, job.job.memoryUsedGib);
  node_.cpu.add(all / seconds);
  node_.memory.add(memoryUsed());
  const auto finished = std::stable_partition(jobs_.begin(), jobs_.end(),
                                              [](const auto& job) { return job.left > 0; });
  std::vector<RunningJob> done(std::make_move_iterator(finished),
                               std::make_move_iterator(jobs_.end()));
  jobs_.erase(finished, jobs_.end());
  return done;
}

double Machine::memoryUsed() const {
  double sum = size_.systemMemoryGib;
  for (const RunningService& service : services_) sum += service.memory;
  for (const RunningJob& job : jobs_) sum += job.job.memoryUsedGib;
  return sum;
}

}  // namespace koord::koordctl::colocation
