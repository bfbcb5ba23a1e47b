#include "koordctl/tune/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "koordctl/colocation/statistics.h"
#include "koordctl/tune/tunables.h"

namespace koord::koordctl {

namespace {

using colocation::Arm;

constexpr double kLeastGain = 0.3;  // percent of the CPUs, for a step: less is noise
constexpr std::uint64_t kNewSeeds = 1'000'003;
constexpr int kLeastSeeds = 5;  // of the final comparison
constexpr int kMostSteps = 20;  // in one direction

bool holds(const TuneLimits& limits, const Effects& base, const Effects& effects) {
  const double slowdown = meanOf(base, &Effect::slowdownP99);
  const double wasted = meanOf(base, &Effect::wastedPercent);
  return meanOf(effects, &Effect::slowdownP99) <= slowdown * (1 + limits.slowdownPercent / 100) &&
         meanOf(effects, &Effect::wastedPercent) <= std::max(wasted, limits.wastedPercent);
}

double gainOf(const Effects& base, const Effects& effects) {
  return meanOf(effects, &Effect::batchPercent) - meanOf(base, &Effect::batchPercent);
}

// True if the gain is more than chance: at least the smallest step, and the 95 % interval of the
// differences by seed is above 0.
bool isCertain(const Effects& base, const Effects& effects) {
  std::vector<double> before, after;
  for (const Effect& effect : base) before.push_back(effect.batchPercent);
  for (const Effect& effect : effects) after.push_back(effect.batchPercent);
  const auto gain = colocation::estimateOfDifference(after, before);
  return gain.mean >= kLeastGain && gain.mean > gain.halfWidth;
}

class Search {
 public:
  Search(const Arm& base, const TuneOptions& options, const RunArm& run,
         const std::function<void(const TuneStep&)>& progress)
      : base_(base), options_(options), run_(run), progress_(progress) {}

  Result<TuneResult> run() {
    auto effects = run_(base_, options_.firstSeed, options_.seeds);
    if (!effects) return fail(std::move(effects.error()));
    baseEffects_ = *std::move(effects);
    known_[changeText(base_, base_)] = baseEffects_;
    taken_ = {{base_, baseEffects_, "", true}};
    progress_(taken_.back());
    while (true) {
      auto moved = climbOnce();
      if (!moved) return fail(std::move(moved.error()));
      if (!*moved || exhausted()) break;
    }
    if (auto done = simplify(); !done) return fail(std::move(done.error()));
    return confirm();
  }

 private:
  bool exhausted() const { return steps_.size() >= static_cast<std::size_t>(options_.maxRuns); }

  // One pass over all directions. Returns true if a step was taken.
  Result<bool> climbOnce() {
    bool any = false;
    for (const Direction& direction : directions()) {
      for (const int sign : {1, -1}) {
        bool took = false;
        for (int n = 0; n < kMostSteps && !exhausted(); ++n) {
          auto stepped = tryStep(direction, sign);
          if (!stepped) return fail(std::move(stepped.error()));
          if (!*stepped) break;
          took = true;
        }
        any |= took;
        if (took) break;
      }
    }
    return any;
  }

  Result<bool> tryStep(const Direction& direction, int sign) {
    const auto next = moved(taken_.back().arm, direction, sign);
    if (!next) return false;
    return accept(*next, kLeastGain, exhausted());
  }

  // Takes the settings if batch work rises by `gain` against the last ones and the limits hold.
  // onlyKnown: runs nothing.
  Result<bool> accept(const Arm& next, double gain, bool onlyKnown) {
    const std::string change = changeText(base_, next);
    const auto known = known_.find(change);
    if (known == known_.end()) {
      if (onlyKnown) return false;
      auto effects = run_(next, options_.firstSeed, options_.seeds);
      if (!effects) return fail(std::move(effects.error()));
      TuneStep step{next, *std::move(effects), change, false};
      step.taken = gainOf(taken_.back().effects, step.effects) >= gain &&
                   holds(options_.limits, baseEffects_, step.effects);
      known_[change] = step.effects;
      progress_(step);
      if (step.taken) taken_.push_back(step);
      steps_.push_back(step);
      return step.taken;
    }
    const bool better = gainOf(taken_.back().effects, known->second) >= gain &&
                        holds(options_.limits, baseEffects_, known->second);
    if (better) taken_.push_back({next, known->second, change, true});
    return better;
  }

  // Returns tunables to their first value where that costs no work worth a step.
  Result<> simplify() {
    const double best = meanOf(taken_.back().effects, &Effect::batchPercent);
    for (const Tunable& tunable : tunables()) {
      Arm next = taken_.back().arm;
      const auto first = tunable.get(base_), now = tunable.get(next);
      if (!first || first == now) continue;
      tunable.set(next, *first);
      const double last = meanOf(taken_.back().effects, &Effect::batchPercent);
      auto done = accept(next, best - kLeastGain - last, false);
      if (!done) return fail(std::move(done.error()));
    }
    return {};
  }

  // On seeds that the search has not seen.
  Result<TuneResult> confirm() {
    TuneResult result{base_, base_, false, std::move(steps_), {}, {}};
    const std::uint64_t first = confirmingSeed(options_);
    const int seeds = confirmingSeeds(options_);
    auto before = run_(base_, first, seeds);
    if (!before) return fail(std::move(before.error()));
    result.baseEffects = result.proposalEffects = *before;
    for (; taken_.size() > 1; taken_.pop_back()) {
      const TuneStep& last = taken_.back();
      if (last.change.empty()) break;
      auto after = run_(last.arm, first, seeds);
      if (!after) return fail(std::move(after.error()));
      if (!isCertain(*before, *after) || !holds(options_.limits, *before, *after)) continue;
      result.proposal = last.arm;
      result.proposalEffects = *std::move(after);
      result.changed = true;
      break;
    }
    return result;
  }

  const Arm& base_;
  const TuneOptions& options_;
  const RunArm& run_;
  const std::function<void(const TuneStep&)>& progress_;
  Effects baseEffects_;
  std::map<std::string, Effects> known_;  // by change
  std::vector<TuneStep> taken_, steps_;
};

}  // namespace

std::uint64_t confirmingSeed(const TuneOptions& options) {
  return options.firstSeed + kNewSeeds;
}

int confirmingSeeds(const TuneOptions& options) {
  return std::max(options.seeds, kLeastSeeds);
}

double meanOf(const Effects& effects, double Effect::* figure) {
  double sum = 0;
  for (const Effect& effect : effects) sum += effect.*figure;
  return effects.empty() ? 0 : sum / static_cast<double>(effects.size());
}

std::string changeText(const Arm& from, const Arm& to) {
  std::string text;
  for (const Tunable& tunable : tunables()) {
    const auto before = tunable.get(from), after = tunable.get(to);
    if (before == after || !before || !after) continue;
    text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", tunable.name, *before, *after);
  }
  return text;
}

Result<TuneResult> tune(const Arm& base, const TuneOptions& options, const RunArm& run,
                        const std::function<void(const TuneStep& step)>& progress) {
  return Search(base, options, run, progress).run();
}

}  // namespace koord::koordctl
