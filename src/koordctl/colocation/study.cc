#include "koordctl/colocation/study.h"

#include <fmt/format.h>

#include <algorithm>

namespace koord::koordctl::colocation {

namespace {

double capacityCoreHours(const StudyOptions& options) {
  return options.parameters.nodes * options.parameters.cores * options.days * 24;
}

double perDay(const StudyOptions& options, double count) {
  return count / options.days;
}

constexpr Figure kFigures[] = {
    {"cpuMeanPercent", "CPU used, mean %",
     [](const StudyOptions&, const Outcome& o) { return 100 * o.cpuMean; }},
    {"cpuP99Percent", "CPU used, p99 %",
     [](const StudyOptions&, const Outcome& o) { return 100 * o.cpuP99; }},
    {"memoryMeanPercent", "memory used, mean %",
     [](const StudyOptions&, const Outcome& o) { return 100 * o.memoryMean; }},
    {"batchCoreHoursPerDay", "batch core hours a day",
     [](const StudyOptions& s, const Outcome& o) { return perDay(s, o.usefulCoreHours); }, 0},
    {"batchPercentOfCapacity", "batch work, % of all CPUs",
     [](const StudyOptions& s, const Outcome& o) {
       return 100 * o.usefulCoreHours / capacityCoreHours(s);
     }},
    {"evictionsPerDay", "jobs killed a day",
     [](const StudyOptions& s, const Outcome& o) { return perDay(s, o.evictions); }, 1},
    {"preemptionsPerDay", "jobs preempted a day",
     [](const StudyOptions& s, const Outcome& o) { return perDay(s, o.preemptions); }, 1},
    {"wastedPercent", "batch work wasted, %",
     [](const StudyOptions&, const Outcome& o) {
       const double all = o.usefulCoreHours + o.wastedCoreHours;
       return all > 0 ? 100 * o.wastedCoreHours / all : 0;
     },
     2},
    {"servicesWithoutNode", "service pods without node",
     [](const StudyOptions&, const Outcome& o) { return o.unplaced; }, 0},
    {"slowdownMean", "slowdown, mean",
     [](const StudyOptions&, const Outcome& o) { return o.slowdownMean; }, 2},
    {"slowdownP99", "slowdown, p99",
     [](const StudyOptions&, const Outcome& o) { return o.slowdownP99; }, 2},
    {"slowdownP999", "slowdown, p99.9",
     [](const StudyOptions&, const Outcome& o) { return o.slowdownP999; }, 1},
};

// The assumptions that matter most, each lower and higher than the default.
struct Variation {
  std::string_view parameter;
  double values[2];
};
constexpr Variation kVariations[] = {
    {"requestedShare", {0.7, 0.95}}, {"meanUse", {0.15, 0.4}},  {"dailySwing", {0.2, 0.8}},
    {"burstsPerDay", {0, 20}},       {"burstHeight", {1.5, 3}}, {"noise", {0, 0.4}},
    {"jobTail", {0.8, 2}},           {"jobMinutes", {5, 30}},   {"jobMemoryPerCore", {1, 5}},
    {"requestMs", {1, 20}},          {"wakeupSearch", {1, 16}}, {"preemptMs", {0.25, 4}},
    {"cacheShare", {0, 0.5}},        {"limitFactor", {1.5, 3}}, {"stepSeconds", {5, 60}},
};

Result<ArmResult> runArm(const StudyOptions& options, const Arm& arm, const std::string& prefix,
                         const std::function<void(const std::string&)>& progress) {
  ArmResult result{arm.name, {}};
  for (int n = 0; n < options.seeds; ++n) {
    const std::uint64_t seed = options.firstSeed + static_cast<std::uint64_t>(n);
    auto outcome =
        runWorld(generatedSite(options.parameters), options.parameters, arm, options.days, seed);
    if (!outcome) return fail(std::move(outcome.error()).within(arm.name));
    result.bySeed.push_back(*std::move(outcome));
    progress(fmt::format("{}{}, seed {}", prefix, arm.name, seed));
  }
  return result;
}

}  // namespace

std::span<const Figure> figures() {
  return kFigures;
}

std::vector<double> valuesOf(const StudyOptions& options, const ArmResult& arm,
                             const Figure& figure) {
  std::vector<double> values;
  for (const Outcome& outcome : arm.bySeed) values.push_back(figure.of(options, outcome));
  return values;
}

Result<StudyResult> runStudy(const StudyOptions& options,
                             const std::function<void(const std::string&)>& progress) {
  StudyResult study{options, {}, {}};
  std::vector<Arm> arms = comparedArms();
  if (options.ablation) std::ranges::move(ablationArms(), std::back_inserter(arms));
  for (const Arm& arm : arms) {
    auto result = runArm(options, arm, "", progress);
    if (!result) return fail(std::move(result.error()));
    study.arms.push_back(*std::move(result));
  }
  if (!options.sweep) return study;
  for (const Variation& variation : kVariations) {
    for (const double value : variation.values) {
      StudyOptions changed = options;
      const std::string assignment = fmt::format("{}={}", variation.parameter, value);
      if (auto set = setParameter(changed.parameters, assignment); !set)
        return fail(std::move(set.error()));
      SweepResult& row = study.sweep.emplace_back(SweepResult{variation.parameter, value, {}});
      for (const Arm& arm : comparedArms()) {
        auto result = runArm(changed, arm, assignment + ", ", progress);
        if (!result) return fail(std::move(result.error()));
        for (Outcome& outcome : result->bySeed) outcome.moments.clear();
        row.arms.push_back(*std::move(result));
      }
    }
  }
  return study;
}

}  // namespace koord::koordctl::colocation
