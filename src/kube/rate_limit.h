#pragma once

// The client-side request limit of client-go: `qps` requests per second on average, `burst` at
// once.

#include <algorithm>

#include "base/executor.h"

namespace koord::kube {

class RateLimit {
 public:
  // No limit when qps is not above 0; a burst below 1 means 1.
  RateLimit(double qps, int burst) : qps_(qps), burst_(std::max(1, burst)), tokens_(burst_) {}

  // Reserves the next token and returns how long to wait for it.
  Duration reserve(SteadyTime now) {
    if (!(qps_ > 0)) return Duration::zero();
    if (filled_ != SteadyTime{}) {
      const std::chrono::duration<double> passed = now - filled_;
      tokens_ = std::min<double>(burst_, tokens_ + passed.count() * qps_);
    }
    filled_ = now;
    tokens_ -= 1;
    if (tokens_ >= 0) return Duration::zero();
    return std::chrono::ceil<Duration>(std::chrono::duration<double>(-tokens_ / qps_));
  }

 private:
  double qps_;
  int burst_;
  double tokens_;  // below zero: tokens reserved for the future
  SteadyTime filled_;
};

}  // namespace koord::kube
