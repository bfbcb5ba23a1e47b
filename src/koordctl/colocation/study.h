#pragma once

// The study: all arms over several seeds, and how the result depends on each assumption.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "koordctl/colocation/world.h"

namespace koord::koordctl::colocation {

struct StudyOptions {
  Parameters parameters;
  double days = 1;
  int seeds = 5;
  std::uint64_t firstSeed = 1;
  bool ablation = true;  // also "recommended" with each mechanism off
  bool sweep = false;    // also the sensitivity table
};

struct ArmResult {
  std::string name;
  std::vector<Outcome> bySeed;  // in the order of the seeds
};

// The compared arms with one parameter changed.
struct SweepResult {
  std::string_view parameter;
  double value = 0;
  std::vector<ArmResult> arms;
};

struct StudyResult {
  StudyOptions options;
  std::vector<ArmResult> arms;
  std::vector<SweepResult> sweep;
};

// progress is called after each run, with its name. Errors: those of runWorld.
Result<StudyResult> runStudy(const StudyOptions& options,
                             const std::function<void(const std::string&)>& progress);

// What is reported of an arm.
struct Figure {
  std::string_view name;   // in JSON
  std::string_view title;  // in tables
  double (*of)(const StudyOptions& options, const Outcome& outcome);
  int digits = 1;
};
std::span<const Figure> figures();
std::vector<double> valuesOf(const StudyOptions& options, const ArmResult& arm,
                             const Figure& figure);

}  // namespace koord::koordctl::colocation
