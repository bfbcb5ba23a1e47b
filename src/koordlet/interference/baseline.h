#pragma once

// The normal range of one metric of one application: mean and deviation with exponential decay.

#include <cstdint>
#include <optional>

namespace koord::koordlet {

class Baseline {
 public:
  // Adds a value. After ready(), the caller adds normal values only, so that a permanent noisy
  // neighbour does not become normal.
  void learn(double value);
  // Returns true if there are enough values (kEnough) to judge by.
  bool ready() const { return count_ >= kEnough; }
  double mean() const { return mean_; }
  double deviation() const;
  // How many deviations `value` is above the mean; nullopt while not ready.
  std::optional<double> score(double value) const;

  static constexpr std::int64_t kEnough = 30;

 private:
  static constexpr double kFading = 1.0 / 240;  // after four hours a value counts about a third

  std::int64_t count_ = 0;
  double mean_ = 0;
  double variance_ = 0;
};

}  // namespace koord::koordlet
