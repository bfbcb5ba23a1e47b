#include "cel/cost/standard.h"

#include <algorithm>
#include <unordered_map>

#include "cel/cost.h"
#include "cel/utf8_text.h"

namespace koord::cel {

namespace {

enum Rule : int {
  kAlwaysOne,
  kTraverseFirst,  // startsWith, conversions between strings and bytes
  kSecondSize,     // x in list
  kShorter,        // comparisons of strings
  kBoth,           // concatenation
  kMatches,
  kContains
};

}  // namespace

int standardCostRule(std::string_view overload) {
  static const std::unordered_map<std::string_view, int> kRules = {
      {"starts_with_string", kTraverseFirst},
      {"ends_with_string", kTraverseFirst},
      {"string_to_bytes", kTraverseFirst},
      {"bytes_to_string", kTraverseFirst},
      {"strings_quote", kTraverseFirst},
      {"string_format", kTraverseFirst},
      {"in_list", kSecondSize},
      {"less_string", kShorter},
      {"greater_string", kShorter},
      {"less_equals_string", kShorter},
      {"greater_equals_string", kShorter},
      {"less_bytes", kShorter},
      {"greater_bytes", kShorter},
      {"less_equals_bytes", kShorter},
      {"greater_equals_bytes", kShorter},
      {"add_string", kBoth},
      {"add_bytes", kBoth},
      {"matches_string", kMatches},
      {"contains_string", kContains}};
  const auto found = kRules.find(overload);
  return found == kRules.end() ? kAlwaysOne : found->second;
}

std::uint64_t standardCallCost(int rule, std::span<const Value> arguments) {
  const auto size = [&](std::size_t index) { return sizeForCost(arguments[index]); };
  switch (rule) {
    case kTraverseFirst:
      return scaleCost(size(0), kTraversalFactor);
    case kSecondSize:
      return size(1);
    case kShorter:
      return scaleCost(std::min(size(0), size(1)), kTraversalFactor);
    case kBoth:
      return scaleCost(addCost(size(0), size(1)), kTraversalFactor);
    case kMatches:
      return multiplyCost(scaleCost(addCost(size(0), 1), kTraversalFactor),
                          scaleCost(size(1), kRegexFactor));
    case kContains:
      return multiplyCost(scaleCost(size(0), kTraversalFactor),
                          scaleCost(size(1), kTraversalFactor));
    default:
      return 1;
  }
}

std::uint64_t sizeForCost(const Value& value) {
  switch (value.kind()) {
    case Kind::String:
      return countCodePoints(value.text());
    case Kind::Bytes:
      return value.text().size();
    case Kind::List:
      return value.listSize();
    case Kind::Map:
      return value.mapSize();
    case Kind::Opaque:
      return value.asOpaque().costSize();
    case Kind::Optional:
      return value.optionalValue() ? sizeForCost(*value.optionalValue()) : 1;
    default:
      return 1;
  }
}

}  // namespace koord::cel
