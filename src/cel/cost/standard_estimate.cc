#include "cel/cost/standard_estimate.h"

#include <algorithm>
#include <array>

namespace koord::cel {

namespace {

SizeEstimate sizeOrAny(const CostNode& node) {
  return node.size.value_or(SizeEstimate{});
}

bool isAnyOf(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

constexpr std::array<std::string_view, 10> kShorterOf = {
    "less_string", "greater_string", "less_equals_string", "greater_equals_string",
    "less_bytes",  "greater_bytes",  "less_equals_bytes",  "greater_equals_bytes",
    "equals",      "not_equals"};

CallEstimate shorterOf(const CostNode& left, const CostNode& right) {
  const std::uint64_t most = std::min(sizeOrAny(left).max, sizeOrAny(right).max);
  const SizeEstimate size{most > 0 ? std::uint64_t{1} : 0, most};
  return {size.scaled(kTraversalFactor), std::nullopt};
}

CallEstimate conversion(std::string_view overload, const CostNode& argument) {
  const SizeEstimate size = sizeOrAny(argument);
  const CostEstimate cost = size.scaled(kTraversalFactor);
  // A code point has one to four bytes; quoting escapes each code point at most, and adds two
  // quotes.
  if (overload == "string_to_bytes") return {cost, SizeEstimate{size.min, size.max * 4}};
  if (overload == "bytes_to_string") return {cost, SizeEstimate{size.min / 4, size.max}};
  return {cost, SizeEstimate{size.min + 2, size.max * 2 + 2}};
}

CostEstimate product(const CostEstimate& a, const CostEstimate& b) {
  return a * b;
}

CallEstimate search(std::string_view overload, const CostNode& target, const CostNode& argument) {
  if (overload == "matches_string") {
    const SizeEstimate text = sizeOrAny(target) + SizeEstimate::fixed(1);
    return {product(text.scaled(kTraversalFactor), sizeOrAny(argument).scaled(kRegexFactor)),
            std::nullopt};
  }
  return {product(sizeOrAny(target).scaled(kTraversalFactor),
                  sizeOrAny(argument).scaled(kTraversalFactor)),
          std::nullopt};
}

}  // namespace

CallEstimate standardEstimate(std::string_view overload, const CostNode* target,
                              std::span<const CostNode> arguments) {
  const std::size_t count = arguments.size();
  if (overload == "string_format" && target)
    return {sizeOrAny(*target).scaled(kTraversalFactor), std::nullopt};
  if (count == 1 && (overload == "string_to_bytes" || overload == "bytes_to_string" ||
                     overload == "strings_quote"))
    return conversion(overload, arguments[0]);
  if (count == 1 && (overload == "starts_with_string" || overload == "ends_with_string"))
    return {sizeOrAny(arguments[0]).scaled(kTraversalFactor), std::nullopt};
  if (count == 2 && overload == "in_list") return {sizeOrAny(arguments[1]).scaled(1), std::nullopt};
  if (target && count == 1 && (overload == "matches_string" || overload == "contains_string"))
    return search(overload, *target, arguments[0]);
  if (count == 2 &&
      (overload == "add_string" || overload == "add_bytes" || overload == "add_list")) {
    const SizeEstimate size = sizeOrAny(arguments[0]) + sizeOrAny(arguments[1]);
    return {overload == "add_list" ? fixedCost(1) : size.scaled(kTraversalFactor), size};
  }
  if (count == 2 && isAnyOf(overload, kShorterOf)) return shorterOf(arguments[0], arguments[1]);
  return {fixedCost(1), std::nullopt};
}

}  // namespace koord::cel
