#include "koordctl/colocation/outcome.h"

#include <utility>

namespace koord::koordctl::colocation {

namespace {

constexpr double kMoments = 288;  // in a run

double coreHoursDone(const RunningJob& job) {
  return (job.job.coreSeconds - job.left) / 3600;
}

}  // namespace

Recorder::Recorder(const Parameters& parameters, double seconds)
    : parameters_(parameters), period_(seconds / kMoments), nextMoment_(period_) {}

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
  const double used = machine.node().cpu.newest(1).front() / parameters_.cores;
  utilisation_.add(used, 1);
  momentCpu_.add(used);
  momentServices_.add(machine.servicesUsed() / parameters_.cores);
  memory_.add(machine.memoryUsed() / parameters_.memoryGib);
}

void Recorder::takeMoment(double now, double offered) {
  outcome_.moments.push_back({now, momentCpu_.value(), momentServices_.value(),
                              offered / (parameters_.cores * parameters_.nodes),
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
