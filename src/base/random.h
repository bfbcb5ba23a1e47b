#pragma once

// Seeded random numbers, passed to components, so that a run can be repeated. xoshiro256++
// (Blackman and Vigna, 2019), seeded by splitmix64: the same sequence on every host and compiler.

#include <array>
#include <cstdint>

namespace koord {

class Random {
 public:
  explicit Random(std::uint64_t seed);

  std::uint64_t next();
  // Uniform in [0, bound); bound must not be 0.
  std::uint64_t below(std::uint64_t bound);
  // Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  bool chance(double probability) { return unit() < probability; }
  // A stream that is independent of this one, for one component.
  Random fork() { return Random(next()); }

  static std::uint64_t entropy();  // a seed from the operating system

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace koord
