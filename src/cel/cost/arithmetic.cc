#include <algorithm>
#include <cmath>

#include "cel/cost.h"

namespace koord::cel {

namespace {
constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
}

std::uint64_t addCost(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kMost : sum;
}

std::uint64_t multiplyCost(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMost : product;
}

std::uint64_t scaleCost(std::uint64_t a, double factor) {
  const double scaled = std::ceil(static_cast<double>(a) * factor);
  return scaled >= 18446744073709551616.0 ? kMost : static_cast<std::uint64_t>(scaled);
}

CostEstimate operator+(const CostEstimate& a, const CostEstimate& b) {
  return {addCost(a.min, b.min), addCost(a.max, b.max)};
}
CostEstimate operator*(const CostEstimate& a, const CostEstimate& b) {
  return {multiplyCost(a.min, b.min), multiplyCost(a.max, b.max)};
}
CostEstimate fixedCost(std::uint64_t cost) {
  return {cost, cost};
}

SizeEstimate SizeEstimate::operator+(const SizeEstimate& other) const {
  return {addCost(min, other.min), addCost(max, other.max)};
}
SizeEstimate SizeEstimate::operator*(const SizeEstimate& other) const {
  return {multiplyCost(min, other.min), multiplyCost(max, other.max)};
}
SizeEstimate SizeEstimate::unionWith(const SizeEstimate& other) const {
  return {std::min(min, other.min), std::max(max, other.max)};
}
CostEstimate SizeEstimate::scaled(double factor) const {
  return {scaleCost(min, factor), scaleCost(max, factor)};
}
CostEstimate SizeEstimate::times(const CostEstimate& cost) const {
  return {multiplyCost(min, cost.min), multiplyCost(max, cost.max)};
}

std::optional<SizeEstimate> CostModel::estimateSize(const CostNode&) const {
  return std::nullopt;
}
std::optional<CallEstimate> CostModel::estimateCall(std::string_view, std::string_view,
                                                    const CostNode*,
                                                    std::span<const CostNode>) const {
  return std::nullopt;
}
CallTracker CostModel::trackerOf(std::string_view, std::string_view) const {
  return nullptr;
}

}  // namespace koord::cel
