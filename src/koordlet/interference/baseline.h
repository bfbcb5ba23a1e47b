#pragma once

// What is normal for one figure of one application: its mean and deviation, in which old values fade.

#include <cstdint>
#include <optional>

namespace koord::koordlet {

class Baseline {
 public:
  // Values are taken until there are enough to say what is normal, and after that only those that
  // are, so that a noisy neighbour who stays does not become normal.
  void learn(double value);
  // Whether there are enough values to judge by.
  bool ready() const { return count_ >= kEnough; }
  double mean() const { return mean_; }
  double deviation() const;
  // How many deviations above the mean; nullopt while not ready.
  std::optional<double> score(double value) const;

  static constexpr std::int64_t kEnough = 30;

 private:
  static constexpr double kFading = 1.0 / 240;  // a value of four hours ago counts a third

  std::int64_t count_ = 0;
  double mean_ = 0;
  double variance_ = 0;
};

}  // namespace koord::koordlet
