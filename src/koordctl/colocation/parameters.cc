#include "koordctl/colocation/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace koord::koordctl::colocation {

namespace {

using P = Parameters;

constexpr std::string_view kAssumed = "assumed";
constexpr std::string_view kAlibabaServers =
    "Alibaba 2018: all servers of the trace have 96 cores (Guo et al., IWQoS 2019)";
constexpr std::string_view kLowUse =
    "with requestedShare a node's mean usage of 21 %; studies report 10 to 50 % for most data "
    "centres (Lo et al., Heracles, ISCA 2015)";
constexpr std::string_view kDaily =
    "Alibaba 2018: CPU usage of containers follows the day (Jiang et al., IEEE TCC 2022); the "
    "height is assumed";
constexpr std::string_view kGaussian =
    "Google 2011: the sum over ten tasks and more is nearly Gaussian (Janus and Rzadca, SoCC "
    "2017); the size is assumed";
constexpr std::string_view kFlatMemory =
    "Alibaba 2018: memory usage of containers is nearly constant (Jiang et al., IEEE TCC 2022); "
    "the figure is assumed";
constexpr std::string_view kHeavyTail =
    "heavier in reality: Google 2019, the top 1 % of jobs use over 99 % (Tirmazi et al., EuroSys "
    "2020), which a run of a week cannot sample; the exponent is assumed";
constexpr std::string_view kKoordlet = "koordlet's interval";

constexpr Parameter kTable[] = {
    {"nodes", &P::nodes, 1, 5000, "number of nodes", "of the experiment", true},
    {"cores", &P::cores, 4, 512, "CPUs of a node", kAlibabaServers, true},
    {"memoryGib", &P::memoryGib, 4, 8192, "memory of a node, GiB", kAssumed},
    {"systemCores", &P::systemCores, 0, 64, "CPU usage outside of pods, cores", kAssumed},
    {"systemMemoryGib", &P::systemMemoryGib, 0, 512, "memory usage outside of pods, GiB", kAssumed},
    {"requestedShare", &P::requestedShare, 0, 1, "CPU requests of services, share of the cluster",
     kAssumed},
    {"meanUse", &P::meanUse, 0.01, 1, "mean CPU usage of a service, share of its request", kLowUse},
    {"useSpread", &P::useSpread, 0, 1.5, "spread of meanUse over services, sigma of a lognormal",
     kAssumed},
    {"dailySwing", &P::dailySwing, 0, 0.95, "daily swing of the load, share of its mean", kDaily},
    {"peakUse", &P::peakUse, 0.05, 1,
     "daily peak of the busiest services, share of their request: they are sized for it", kAssumed},
    {"weekendDip", &P::weekendDip, 0, 0.95, "how much less load Saturday and Sunday have",
     kAssumed},
    {"burstsPerDay", &P::burstsPerDay, 0, 1000,
     "bursts of a service that begin in a day without bursts, at random", kAssumed},
    {"burstMinutes", &P::burstMinutes, 0.1, 600, "mean length of a burst, minutes", kAssumed},
    {"burstHeight", &P::burstHeight, 1, 10, "mean height of a burst, times the load", kAssumed},
    {"shedAt", &P::shedAt, 0.1, 10, "usage at which a service sheds load, share of its request",
     kAssumed},
    {"noise", &P::noise, 0, 1, "noise of a replica's load, sigma of a lognormal", kGaussian},
    {"noiseMinutes", &P::noiseMinutes, 0.1, 60, "correlation time of the noise, minutes", kAssumed},
    {"replicas", &P::replicas, 1, 1000, "pods of a service", kAssumed, true},
    {"limitFactor", &P::limitFactor, 1, 10, "CPU limit of a service pod, times its request",
     kAssumed},
    {"serviceMemoryPerCore", &P::serviceMemoryPerCore, 0.1, 64,
     "memory request of services, GiB a core", kAssumed},
    {"serviceMemoryUse", &P::serviceMemoryUse, 0.01, 1, "memory usage of services, share of it",
     kFlatMemory},
    {"memorySwing", &P::memorySwing, 0, 0.9, "daily swing of that usage", kFlatMemory},
    {"jobMinutes", &P::jobMinutes, 0.5, 600, "shortest job, minutes", kAssumed},
    {"jobLongestHours", &P::jobLongestHours, 0.1, 240, "longest job, hours", kAssumed},
    {"jobTail", &P::jobTail, 0.1, 5, "exponent of the bounded Pareto distribution of lengths",
     kHeavyTail},
    {"jobCpuUse", &P::jobCpuUse, 0.05, 1, "CPU usage of a job, share of its request", kAssumed},
    {"jobMemoryPerCore", &P::jobMemoryPerCore, 0.1, 64, "memory request of jobs, GiB a core",
     kAssumed},
    {"jobMemoryUse", &P::jobMemoryUse, 0.01, 1, "memory usage of jobs, share of it", kAssumed},
    {"backlog", &P::backlog, 0, 10000, "jobs of each class that wait at any time",
     "of the experiment", true},
    {"longJobMinutes", &P::longJobMinutes, 1, 10000,
     "jobs from this length run on mid resources, where the arm has them", kAssumed},
    {"requestMs", &P::requestMs, 0.05, 1000, "mean CPU time of a request, ms", kAssumed},
    {"wakeupSearch", &P::wakeupSearch, 1, 64, "CPUs that a waking thread searches for an idle one",
     kAssumed},
    {"preemptMs", &P::preemptMs, 0, 100, "mean wait behind a thread of a BE pod, ms", kAssumed},
    {"sliceMs", &P::sliceMs, 0, 100, "mean wait behind a thread of an equal pod, ms", kAssumed},
    {"cacheShare", &P::cacheShare, 0, 2,
     "extra CPU time of a request if batch jobs use all CPUs (shared cache, bandwidth, cores)",
     kAssumed},
    {"kernelBurst", &P::kernelBurst, 0, 20, "largest burst that the kernel accepts, in quotas",
     "mainline Linux refuses a burst above the quota"},
    {"stepSeconds", &P::stepSeconds, 1, 60, "for how long the load is constant, s", kAssumed},
    {"controlSeconds", &P::controlSeconds, 1, 60, "interval of CPU suppress and CPU burst, s",
     kKoordlet},
};

}  // namespace

std::span<const Parameter> parameterTable() {
  return kTable;
}

Result<> setParameter(Parameters& parameters, std::string_view assignment) {
  const auto equals = assignment.find('=');
  const std::string_view name = assignment.substr(0, equals);
  const auto* found = std::ranges::find(kTable, name, &Parameter::name);
  if (equals == assignment.npos || found == std::end(kTable))
    return fail(ErrorCode::BadRequest,
                fmt::format("\"{}\" must be NAME=VALUE with the name of a parameter", assignment));
  const std::string_view text = assignment.substr(equals + 1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(value >= found->low && value <= found->high) ||
      (found->whole && value != std::floor(value)))
    return fail(ErrorCode::BadRequest,
                fmt::format("{}: \"{}\" must be a {}number from {} to {}", name, text,
                            found->whole ? "whole " : "", found->low, found->high));
  parameters.*found->value = value;
  return {};
}

}  // namespace koord::koordctl::colocation
