#pragma once

// The search of `koordctl tune`: which settings let batch pods do the most work, while services
// pay little.
//
// A hill climb in steps of the tunables, from the settings in force. A direction moves one tunable,
// or those that limit each other, by a step up or down (tunables.h). A step is taken if batch work
// rises and the limits hold. A direction goes on as long as its steps are taken; the search ends
// when no direction has a step, or after `maxRuns` settings. At the end each tunable that brings
// nothing returns to where it was, so that the proposal is small; that takes a few settings more.
//
// All settings are compared on the same loads and the same jobs (equal seeds): differences between
// settings are then much smaller than those between seeds. But the search picks the best of many,
// and so what was lucky on these seeds. So the proposal is compared with the settings in force
// again, on seeds that the search has not seen; those figures are reported. If a limit does not
// hold there, or the gain may be chance (its 95 % confidence interval reaches 0), the step before
// is tried.
//
// Cost: one run of each seed for each of some 20 to 40 settings. A climb finds a local optimum; the
// work done rises and the slowdown rises with each threshold, so there are few others.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "koordctl/colocation/arm.h"
#include "koordctl/colocation/outcome.h"

namespace koord::koordctl {

// Of one run.
struct Effect {
  double batchPercent = 0;   // of the CPUs, of useful batch work
  double cpuPercent = 0;     // of the CPUs, used
  double slowdownP99 = 0;    // of services
  double wastedPercent = 0;  // of the batch work
  double killedPerDay = 0;   // jobs
};
// By seed, in order.
using Effects = std::vector<Effect>;
double meanOf(const Effects& effects, double Effect::* figure);

struct TuneLimits {
  double slowdownPercent = 5;  // how much the p99 slowdown may rise
  double wastedPercent = 1;    // of batch work that is lost; more only if it is now
};

struct TuneOptions {
  TuneLimits limits;
  int seeds = 3;
  std::uint64_t firstSeed = 1;
  int maxRuns = 60;  // settings that the search tries
};

// Runs the arm with the seeds first, first + 1, ...
using RunArm =
    std::function<Result<Effects>(const colocation::Arm& arm, std::uint64_t first, int seeds)>;

struct TuneStep {
  colocation::Arm arm;
  Effects effects;
  std::string change;  // against the settings in force
  bool taken = false;
};

struct TuneResult {
  colocation::Arm base, proposal;  // the same if nothing is proposed
  bool changed = false;
  std::vector<TuneStep> steps;           // all that were tried, in order
  Effects baseEffects, proposalEffects;  // on new seeds
};

// progress is called after each setting; first for those in force, without a change.
Result<TuneResult> tune(const colocation::Arm& base, const TuneOptions& options, const RunArm& run,
                        const std::function<void(const TuneStep& step)>& progress);

// The seeds of the final comparison: the first, and how many.
std::uint64_t confirmingSeed(const TuneOptions& options);
int confirmingSeeds(const TuneOptions& options);

// "cpuReclaimThresholdPercent 60 -> 70, ..."; "" if nothing differs.
std::string changeText(const colocation::Arm& from, const colocation::Arm& to);

}  // namespace koord::koordctl
