#include "koordctl/colocation/distributions.h"

#include <cmath>
#include <numbers>

namespace koord::koordctl::colocation {

double normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
  return radius * std::cos(2 * std::numbers::pi * random.unit());
}

double exponential(Random& random, double mean) {
  return -mean * std::log(1 - random.unit());
}

double lognormal(double normalValue, double sigma) {
  return std::exp(sigma * normalValue - sigma * sigma / 2);
}

double boundedPareto(Random& random, double low, double high, double exponent) {
  if (high <= low) return low;
  const double rest = 1 - std::pow(low / high, exponent);
  return low * std::pow(1 - random.unit() * rest, -1 / exponent);
}

}  // namespace koord::koordctl::colocation
