#include "koordctl/colocation/outcome.h"

#include <utility>

namespace koord::koordctl::colocation {

namespace {

constexpr double kMoments = 288;  // in a run

double coreHoursDone(const RunningJob& job) {
  return (job.job.coreSeconds - job.left) / 3600;
}

}  // namespace

Recorder::Recorder(double cores, std::size_t nodes, double seconds)
    : cores_(cores),
      meanCores_(cores / static_cast<double>(nodes)),
      period_(seconds / kMoments),
      nextMoment_(period_) {}

void Recorder::jobFinished(const RunningJob& job) {
  ++outcome_.finished;
  jobStillRuns(job);
}

void Recorder::jobKilled(const RunningJob& job) {
  ++outcome_.evictions;
  outcome_.wastedCoreHours += coreHoursDone(job);
}

void Recorder::jobPreempted(const RunningJob& job) {
  ++outcome_.preemptions;
  outcome_.wastedCoreHours += coreHoursDone(job);
}

void Recorder::jobStillRuns(const RunningJob& job) {
  outcome_.usefulCoreHours += coreHoursDone(job);
}

void Recorder::stepEnded(const Machine& machine) {
  const NodeSize& size = machine.size();
  const double used = machine.node().cpu.newest(1).front() / size.cores;
  const double weight = size.cores / meanCores_;
  utilisation_.add(used, weight);
  momentCpu_.add(used, weight);
  momentServices_.add(machine.servicesUsed() / size.cores, weight);
  memory_.add(machine.memoryUsed() / size.memoryGib);
}

void Recorder::takeMoment(double now, double offered) {
  outcome_.moments.push_back({now, momentCpu_.value(), momentServices_.value(), offered / cores_,
                              slowdowns_.percentile(0.99)});
  allSlowdowns_.add(slowdowns_);
  slowdowns_ = WeightedHistogram();
  momentCpu_ = momentServices_ = Mean();
  nextMoment_ += period_;
}

Outcome Recorder::finish() {
  allSlowdowns_.add(slowdowns_);
  outcome_.cpuMean = utilisation_.mean();
  outcome_.cpuP99 = utilisation_.percentile(0.99);
  outcome_.memoryMean = memory_.value();
  outcome_.slowdownMean = allSlowdowns_.mean();
  outcome_.slowdownP99 = allSlowdowns_.percentile(0.99);
  outcome_.slowdownP999 = allSlowdowns_.percentile(0.999);
  return std::move(outcome_);
}

}  // namespace koord::koordctl::colocation
