#pragma once

// RunModel: how long the pods of one workload run, learned from runs that have ended and from runs
// that go on.
//
// It is the Kaplan-Meier estimate of the survival function, for runs of which a window of time is
// known. At each age at which a run ended, it counts the runs that were seen at that age, the runs
// at risk. One of r + 1 is assumed to end then: the run in question is one more. So n complete runs
// divide the axis into n + 1 intervals of equal probability, which is where the next run of the
// same distribution falls, whatever that distribution is. Runs that go on count as long as they are
// at risk: otherwise only short runs would be known when the first of many parallel runs have
// ended. A run that began before the window is at risk from the age that it had when the window
// began; the shorter ones that began with it ended unseen.
//
// Between two ages the end is uniform on a logarithmic scale. Below the first and above the last
// age the tail is exponential on that scale; its width is that of the known half of the
// distribution, or how far the run in question already lies beyond it.
//
// Building: O(n log n) for n runs. Drawing: O(ended runs), at most RunHistory::kRuns.
//
// Source: Kaplan and Meier, Nonparametric estimation from incomplete observations (1958); with late
// entries: Klein and Moeschberger, Survival Analysis, section 4.6.

#include <cstddef>
#include <span>
#include <vector>

#include "base/random.h"

namespace koord::scheduler::forecast {

// One run; ages in seconds.
struct ObservedRun {
  double from = 0;  // the age at which it came into the window
  double to = 0;    // the age at which it ended, or its age now
  bool ended = false;
};

class RunModel {
 public:
  // Fewer ended runs say too little.
  static constexpr std::size_t kFewest = 3;

  RunModel() = default;
  // Ages below one second count as one second; runs that were never at risk are ignored.
  explicit RunModel(std::span<const ObservedRun> runs);

  bool isKnown() const { return ended_.size() >= kFewest; }
  std::size_t runs() const { return ended_.size(); }
  // Of the runs that ended, seconds. 0 if there are none.
  double shortest() const;
  double median() const;
  double longest() const;

  // The age at which a run ends that has run for `elapsed` seconds: the quantile u of [0, 1) of the
  // distribution on that condition. Never less than elapsed. Only if isKnown().
  double endAt(double elapsed, double u) const;

  // One of the distributions that the runs allow: at each age at which one of r runs ended, the
  // probability to end is not 1 / (r + 1) but a draw of Beta(1, r), which has that mean. This is
  // the Bayesian bootstrap (Rubin, 1981). Runs that are drawn from one variant are too long or too
  // short together, as they are if the known runs were not typical.
  RunModel variant(Random& random) const;

 private:
  struct Step {
    double age = 0;
    double atRisk = 1;    // runs that reached this age
    double survives = 1;  // the probability that a run which reaches this age goes on
  };
  std::vector<Step> steps_;    // by age
  std::vector<double> ended_;  // sorted
  double below_ = 0;           // widths of the tails, of logarithms
  double above_ = 0;
};

}  // namespace koord::scheduler::forecast
