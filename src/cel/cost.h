#pragma once

// What expressions cost.
//
// Costs bound the time of an evaluation independently of the machine: a read of a variable or a
// field costs 1, a comparison of strings a tenth of their length, and so on. Two figures exist for
// an expression: what an evaluation did cost, counted while it runs, and an estimate before any
// run, from the sizes that the inputs may have. Kubernetes limits both, so the numbers are those of
// cel-go: its interpreter/runtimecost.go and checker/cost.go.
//
// A CostModel adds what cel-go does not know: the sizes of a host's inputs and the costs of its
// functions. An overload may have costs of its own (library.h), which come first; then the model is
// asked; then the standard costs apply.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/cel.h"

namespace koord::cel {

struct Expr;

// All sums and products stop at the largest value.
std::uint64_t addCost(std::uint64_t a, std::uint64_t b);
std::uint64_t multiplyCost(std::uint64_t a, std::uint64_t b);
// a * factor, rounded up.
std::uint64_t scaleCost(std::uint64_t a, double factor);

CostEstimate operator+(const CostEstimate& a, const CostEstimate& b);
CostEstimate operator*(const CostEstimate& a, const CostEstimate& b);
CostEstimate fixedCost(std::uint64_t cost);

// The range of the size of a string (code points), bytes, list or map.
struct SizeEstimate {
  std::uint64_t min = 0;
  std::uint64_t max = std::numeric_limits<std::uint64_t>::max();

  static SizeEstimate fixed(std::uint64_t size) { return {size, size}; }
  SizeEstimate operator+(const SizeEstimate& other) const;
  SizeEstimate operator*(const SizeEstimate& other) const;
  SizeEstimate unionWith(const SizeEstimate& other) const;
  CostEstimate scaled(double factor) const;
  CostEstimate times(const CostEstimate& cost) const;
  bool operator==(const SizeEstimate&) const = default;
};

inline constexpr double kTraversalFactor = 0.1;  // of a string, by code point
inline constexpr double kRegexFactor = 0.25;     // of a pattern, by code point
inline constexpr std::uint64_t kSelectCost = 1;
inline constexpr std::uint64_t kListCost = 10;
inline constexpr std::uint64_t kMapCost = 30;
inline constexpr std::uint64_t kStructCost = 40;

// The size that costs depend on: of text in code points, of lists and maps in elements; 1 for
// everything else.
std::uint64_t sizeForCost(const Value& value);

// A part of an expression, as a cost model sees it.
struct CostNode {
  // How the value is reached from a variable: "self", "spec", "@items". Empty if it is computed.
  std::vector<std::string> path;
  Type type;
  const Expr* expr = nullptr;
  std::optional<SizeEstimate> size;  // if the expression tells
};

struct CallEstimate {
  CostEstimate cost;                 // without that of the arguments
  std::optional<SizeEstimate> size;  // of the result
};

// The cost of a call during evaluation; nullopt: the standard cost. The receiver is the first
// argument.
using CallTracker = std::function<std::optional<std::uint64_t>(std::span<const Value> arguments,
                                                               const Value& result)>;

class CostModel {
 public:
  virtual ~CostModel() = default;
  virtual std::optional<SizeEstimate> estimateSize(const CostNode& node) const;
  // `target` is nullptr if the call has no receiver.
  virtual std::optional<CallEstimate> estimateCall(std::string_view function,
                                                   std::string_view overload,
                                                   const CostNode* target,
                                                   std::span<const CostNode> arguments) const;
  // Called once a call, when it is compiled. `overload` is empty if it is chosen during evaluation.
  // An empty function if the model does not know the call.
  virtual CallTracker trackerOf(std::string_view function, std::string_view overload) const;
  // False: has(a.b) costs as much as a.
  virtual bool presenceTestHasCost() const { return true; }
  // True: constants of lists, maps and conversions cost nothing, as with OptOptimize of cel-go,
  // which Kubernetes sets.
  virtual bool foldsConstants() const { return false; }
};

}  // namespace koord::cel
