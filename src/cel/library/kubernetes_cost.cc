// The functions fall into groups by what their cost depends on; kGroups names the group of each.

#include "cel/library/kubernetes_cost.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "cel/library/kubernetes_format.h"
#include "cel/library/kubernetes_quantity.h"
#include "cel/library/kubernetes_semver.h"
#include "cel/library/kubernetes_url.h"
#include "cel/syntax/ast.h"

namespace koord::cel {

namespace {

constexpr std::uint64_t kCheckCost = 350'000;  // two checks fit into the limit of an expression
constexpr std::uint64_t kMaxFormatPattern = 128, kMaxFormatName = 64;

enum class Group : std::uint8_t {
  None,
  Check,
  One,            // accessors
  Selector,       // parses a list of requirements
  Search,         // looks at each element of the receiver
  Traverse,       // the text, once
  TraverseTwice,  // and builds a result
  Join,
  Find,
  ContainsIp,
  ContainsCidr,
  Validate,
  Equality
};

using GroupTable = std::unordered_map<std::string_view, Group>;

GroupTable groupTable() {
  GroupTable groups = {{"check", Group::Check},
                       {"fieldSelector", Group::Selector},
                       {"labelSelector", Group::Selector},
                       {"replace", Group::TraverseTwice},
                       {"split", Group::TraverseTwice},
                       {"ip.isCanonical", Group::TraverseTwice},
                       {"join", Group::Join},
                       {"containsIP", Group::ContainsIp},
                       {"containsCIDR", Group::ContainsCidr},
                       {"validate", Group::Validate},
                       {op::kEquals, Group::Equality}};
  const auto add = [&](Group group, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) groups[name] = group;
  };
  add(Group::One, {"serviceAccount",
                   "path",
                   "group",
                   "resource",
                   "subresource",
                   "namespace",
                   "name",
                   "allowed",
                   "reason",
                   "error",
                   "errored",
                   "masked",
                   "prefixLength",
                   "family",
                   "isUnspecified",
                   "isLoopback",
                   "isLinkLocalMulticast",
                   "isLinkLocalUnicast",
                   "isGlobalUnicast",
                   "format.named",
                   "sign",
                   "asInteger",
                   "isInteger",
                   "asApproximateFloat",
                   "isGreaterThan",
                   "isLessThan",
                   "compareTo",
                   "add",
                   "sub",
                   "major",
                   "minor",
                   "patch",
                   "getScheme",
                   "getHostname",
                   "getHost",
                   "getPort",
                   "getEscapedPath",
                   "getQuery"});
  add(Group::Find, {"find", "findAll"});
  add(Group::Search, {"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"});
  add(Group::Traverse,
      {"url", "lowerAscii", "upperAscii", "substring", "trim", "jsonpatch.escapeKey", "cidr",
       "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver"});
  return groups;
}

Group groupOf(std::string_view function, std::string_view overload) {
  static const GroupTable kGroups = groupTable();
  if (overload == "cidr_ip") return Group::One;  // a field
  const auto found = kGroups.find(function);
  return found == kGroups.end() ? Group::None : found->second;
}

// A requirement has at least two characters, and takes a struct and a list.
CostEstimate selectorCost(const SizeEstimate& length) {
  const auto ofLength = [](std::uint64_t size) {
    const std::uint64_t requirements = scaleCost(size, 0.5);
    return addCost(scaleCost(requirements, static_cast<double>(kListCost + kStructCost)),
                   addCost(kListCost, scaleCost(size, kTraversalFactor)));
  };
  return {ofLength(length.min), ofLength(length.max)};
}

// All of a value: a tenth of each text, 1 for each other scalar.
std::uint64_t traversalOf(const Value& value) {
  switch (value.kind()) {
    case Kind::String:
    case Kind::Bytes:
      return static_cast<std::uint64_t>(static_cast<double>(value.text().size()) *
                                        kTraversalFactor);
    case Kind::List: {
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < value.listSize(); ++i) sum += traversalOf(value.listAt(i));
      return sum;
    }
    case Kind::Map: {
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < value.mapSize(); ++i) {
        const auto [key, member] = value.entryAt(i);
        sum += traversalOf(key) + traversalOf(member);
      }
      return sum;
    }
    default:
      return 1;
  }
}

std::uint64_t regexCost(std::uint64_t text, std::uint64_t pattern) {
  return multiplyCost(scaleCost(addCost(text, 1), kTraversalFactor),
                      scaleCost(pattern, kRegexFactor));
}

// The prefix of the range is compared, twice; a string is parsed first.
std::uint64_t containsCost(Arguments x, bool range) {
  const std::uint64_t size = sizeForCost(x[0]);
  std::uint64_t cost = scaleCost(2 * size, kTraversalFactor);
  if (range) cost += scaleCost(size, kTraversalFactor) + 1;
  if (x[1].is(Kind::String)) cost += scaleCost(sizeForCost(x[1]), kTraversalFactor);
  return cost;
}

std::optional<std::uint64_t> trackGroup(Group group, Arguments x, const Value& result) {
  const auto size = [&](std::size_t i) { return i < x.size() ? sizeForCost(x[i]) : 0; };
  switch (group) {
    case Group::Check:
      return kCheckCost;
    case Group::One:
      return 1;
    case Group::Selector:
      return selectorCost(SizeEstimate::fixed(size(1))).max;
    case Group::Search:
      return x.empty() ? 0 : traversalOf(x[0]);
    case Group::Traverse:
      return scaleCost(size(0), kTraversalFactor);
    case Group::TraverseTwice:
      return scaleCost(size(0), 2 * kTraversalFactor);
    case Group::Join:
      return scaleCost(sizeForCost(result), 2 * kTraversalFactor);
    case Group::Find:
      return regexCost(size(0), size(1));
    case Group::ContainsIp:
    case Group::ContainsCidr:
      return containsCost(x, group == Group::ContainsCidr);
    case Group::Validate:
      if (!x[0].is(Kind::Opaque) || !(x[0].asOpaque().type() == formatType())) return std::nullopt;
      return regexCost(size(1), patternSizeOf(x[0]));
    case Group::Equality:
      if (x[0].is(Kind::Opaque)) return 1;
      return std::nullopt;
    case Group::None:
      break;
  }
  return std::nullopt;
}

}  // namespace

CallTracker KubernetesCostModel::trackerOf(std::string_view function,
                                           std::string_view overload) const {
  const Group group = groupOf(function, overload);
  if (group == Group::None) return nullptr;
  return [group](Arguments x, const Value& result) { return trackGroup(group, x, result); };
}

SizeEstimate KubernetesCostModel::sizeOf(const CostNode& node) const {
  if (node.size) return *node.size;
  return estimateSize(node).value_or(SizeEstimate{});
}

std::optional<CostNode> KubernetesCostModel::elementOf(const CostNode& list) const {
  if (list.type.parameters().empty()) return std::nullopt;
  CostNode element;
  element.type = list.type.parameters()[0];
  if (!list.path.empty()) {
    element.path = list.path;
    element.path.emplace_back("@items");
  }
  return element;
}

std::optional<CallEstimate> KubernetesCostModel::estimateSearch(std::string_view function,
                                                                const CostNode* target) const {
  if (!target) return std::nullopt;
  const SizeEstimate size = sizeOf(*target);
  const auto element = elementOf(*target);
  // indexOf is a function of strings, too.
  if (!element && function != "includes")
    return CallEstimate{size.scaled(kTraversalFactor), std::nullopt};
  CostEstimate cost = fixedCost(1);
  if (element &&
      (element->type.kind() == TypeKind::String || element->type.kind() == TypeKind::Bytes))
    cost = cost + sizeOf(*element).scaled(kTraversalFactor);
  return CallEstimate{size.times(cost), std::nullopt};
}

CallEstimate KubernetesCostModel::estimateReplace(const CostNode& target,
                                                  std::span<const CostNode> arguments) const {
  const SizeEstimate size = sizeOf(target), from = sizeOf(arguments[0]), to = sizeOf(arguments[1]);
  const auto ceilDivide = [](std::uint64_t a, std::uint64_t b) {
    return scaleCost(a, 1.0 / static_cast<double>(b));
  };
  SizeEstimate count{0, 0}, kept{0, 0};
  // The longest result: the shortest parts become the longest ones; an empty part surrounds each
  // character.
  if (from.min == 0) {
    count.max = addCost(size.max, 1);
    kept.max = size.max;
  } else if (to.max <= from.min) {
    kept.max = size.max;
  } else {
    count.max = ceilDivide(size.max, from.min);
  }
  // The shortest result.
  if (from.max == 0) {
    count.min = addCost(size.min, 1);
    kept.min = size.min;
  } else if (from.max <= to.min) {
    kept.min = size.min;
  } else {
    count.min = ceilDivide(size.min, from.max);
  }
  return {size.scaled(2 * kTraversalFactor), count * to + kept};
}

CallEstimate KubernetesCostModel::estimateJoin(const CostNode& target,
                                               std::span<const CostNode> arguments) const {
  const SizeEstimate list = sizeOf(target);
  SizeEstimate size{0, 0};
  if (const auto element = elementOf(target)) size = list * sizeOf(*element);
  if (!arguments.empty()) {
    const SizeEstimate separators{list.min > 0 ? list.min - 1 : 0, list.max > 0 ? list.max - 1 : 0};
    size = size + sizeOf(arguments[0]) * separators;
  }
  return {size.scaled(kTraversalFactor), size};
}

std::optional<CallEstimate> KubernetesCostModel::estimateText(
    std::string_view function, const CostNode* target, std::span<const CostNode> arguments) const {
  if (function == "replace" && target && arguments.size() >= 2)
    return estimateReplace(*target, arguments);
  if (function == "split" && target) {
    const SizeEstimate size = sizeOf(*target);
    std::uint64_t most = size.max;
    if (arguments.size() > 1 && arguments[1].expr && arguments[1].expr->literal.is(Kind::Int))
      most = static_cast<std::uint64_t>(arguments[1].expr->literal.asInt());
    return CallEstimate{size.scaled(2 * kTraversalFactor), SizeEstimate{0, most}};
  }
  if (function == "lowerAscii" || function == "upperAscii" || function == "substring" ||
      function == "trim") {
    if (!target) return std::nullopt;
    return CallEstimate{sizeOf(*target).scaled(kTraversalFactor), sizeOf(*target)};
  }
  if (arguments.empty()) return std::nullopt;
  const SizeEstimate size = sizeOf(arguments[0]);
  if (function == "url" || function == "jsonpatch.escapeKey")
    return CallEstimate{size.scaled(kTraversalFactor), size};
  const double factor = function == "ip.isCanonical" ? 2 * kTraversalFactor : kTraversalFactor;
  return CallEstimate{size.scaled(factor), std::nullopt};
}

std::optional<CallEstimate> KubernetesCostModel::estimateNetwork(
    std::string_view function, std::string_view overload,
    std::span<const CostNode> arguments) const {
  if (arguments.empty()) return std::nullopt;
  const SizeEstimate bytes{4, 16};
  CostEstimate cost = (bytes + bytes).scaled(kTraversalFactor);
  if (function == "containsCIDR") cost = cost + bytes.scaled(kTraversalFactor) + fixedCost(1);
  if (overload == "cidr_contains_ip_string" || overload == "cidr_contains_cidr_string")
    cost = cost + sizeOf(arguments[0]).scaled(kTraversalFactor);
  return CallEstimate{cost, std::nullopt};
}

std::optional<CallEstimate> KubernetesCostModel::estimateEquality(
    std::span<const CostNode> arguments) const {
  if (arguments.size() != 2 || !(arguments[0].type == arguments[1].type)) return std::nullopt;
  const Type& type = arguments[0].type;
  if (type.kind() != TypeKind::Opaque || type.isOptional()) return std::nullopt;
  if (type == formatType())
    return CallEstimate{SizeEstimate{1, kMaxFormatName}.scaled(kTraversalFactor), std::nullopt};
  if (type == urlType()) {
    const SizeEstimate size = arguments[1].size.value_or(SizeEstimate::fixed(1));
    return CallEstimate{SizeEstimate{1, size.max}.scaled(kTraversalFactor), std::nullopt};
  }
  return CallEstimate{fixedCost(1), std::nullopt};
}

std::optional<CallEstimate> KubernetesCostModel::estimateCall(
    std::string_view function, std::string_view overload, const CostNode* target,
    std::span<const CostNode> arguments) const {
  switch (groupOf(function, overload)) {
    case Group::Check:
      return CallEstimate{fixedCost(kCheckCost), std::nullopt};
    case Group::One:
      return CallEstimate{fixedCost(1), std::nullopt};
    case Group::Selector:
      if (arguments.size() != 1) return std::nullopt;
      return CallEstimate{selectorCost(sizeOf(arguments[0])), std::nullopt};
    case Group::Search:
      return estimateSearch(function, target);
    case Group::Traverse:
    case Group::TraverseTwice:
      return estimateText(function, target, arguments);
    case Group::Join:
      if (!target) return std::nullopt;
      return estimateJoin(*target, arguments);
    case Group::Find: {
      if (!target || arguments.empty()) return std::nullopt;
      const SizeEstimate text = sizeOf(*target);
      const CostEstimate scan = (text + SizeEstimate::fixed(1)).scaled(kTraversalFactor);
      return CallEstimate{scan * sizeOf(arguments[0]).scaled(kRegexFactor),
                          SizeEstimate{0, text.max}};
    }
    case Group::ContainsIp:
    case Group::ContainsCidr:
      return estimateNetwork(function, overload, arguments);
    case Group::Validate: {
      if (arguments.empty()) return std::nullopt;
      const CostEstimate scan = sizeOf(arguments[0]).scaled(kTraversalFactor);
      const double factor = static_cast<double>(kMaxFormatPattern) * kRegexFactor;
      return CallEstimate{{scaleCost(scan.min, factor), scaleCost(scan.max, factor)}, std::nullopt};
    }
    case Group::Equality:
      return estimateEquality(arguments);
    case Group::None:
      break;
  }
  return std::nullopt;
}

const CostModel& kubernetesCosts() {
  static const KubernetesCostModel kModel;
  return kModel;
}

}  // namespace koord::cel
