#include "scheduler/plugins/elasticquota/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace koord::scheduler {

using quota::Cell;
using quota::Column;
using quota::Columns;
using quota::QuotaId;
using quota::QuotaTree;
using quota::Sum;

namespace {

// In order. Lists of thousands of resources are cut off.
std::string joined(std::vector<std::string> parts, std::string_view between) {
  constexpr std::size_t kShown = 64;
  std::ranges::sort(parts);
  if (parts.size() <= kShown) return fmt::format("{}", fmt::join(parts, between));
  const std::size_t more = parts.size() - kShown;
  parts.resize(kShown);
  return fmt::format("{}{}and {} more", fmt::join(parts, between), between, more);
}

}  // namespace

std::int64_t limitOf(const Cell& cell, const QuotaRules& rules) {
  return rules.runtime ? cell.limit : cell.max;
}

QuotaRequest askOf(const Quotas& quotas, const Place& place, const PodInfo& pod,
                   const Resources* within) {
  QuotaRequest ask;
  const QuotaTree& tree = place.quotas();
  const Columns& counted = tree.maxColumns(place.quota);
  quotas.forEachAmount(pod, within, [&](ResourceId resource, std::int64_t amount) {
    const auto column = tree.columnOf(resource);
    if (column && counted.contains(*column)) ask.emplace_back(*column, amount);
  });
  std::ranges::sort(ask);
  return ask;
}

Shortage shortageOf(const Place& place, const QuotaRequest& ask, bool fixed,
                    const QuotaRules& rules) {
  const QuotaTree& tree = place.quotas();
  // Columns are asked for in ascending order.
  const auto walk = [&ask] {
    return [next = ask.begin(), end = ask.end()](Column column) mutable {
      while (next != end && next->first < column) ++next;
      return next != end && next->first == column ? next->second : 0;
    };
  };
  Shortage shortage;
  auto asked = walk();
  quota::forEachColumn(tree.maxColumns(place.quota), [&](Column column) {
    const Cell& cell = tree.cell(place.quota, column);
    const std::int64_t limit = limitOf(cell, rules);
    if (limit != kNoLimit && cell.used + asked(column) > limit) shortage.exceeded.insert(column);
  });
  shortage.quota = place.quota;
  if (!shortage.exceeded.empty()) {
    shortage.kind = Shortage::Kind::Limit;
    return shortage;
  }
  if (fixed) {
    auto again = walk();
    quota::forEachColumn(tree.minColumns(place.quota), [&](Column column) {
      const Cell& cell = tree.cell(place.quota, column);
      if (cell.fixedUsed + again(column) > cell.min) shortage.exceeded.insert(column);
    });
    if (!shortage.exceeded.empty()) {
      shortage.kind = Shortage::Kind::Fixed;
      return shortage;
    }
  }
  if (!rules.ancestors) return shortage;
  for (QuotaId above = tree.parent(place.quota);
       above != QuotaTree::kRoot && above != quota::kNoQuota; above = tree.parent(above)) {
    for (const auto& [column, amount] : ask) {
      const Cell& cell = tree.cell(above, column);
      if (tree.maxColumns(above).contains(column) && cell.used + amount > limitOf(cell, rules))
        shortage.exceeded.insert(column);
    }
    if (shortage.exceeded.empty()) continue;
    shortage.kind = Shortage::Kind::Ancestor;
    shortage.quota = above;
    return shortage;
  }
  return shortage;
}

std::string listText(const Quotas& quotas, const QuotaTree& tree, const Columns& columns,
                     const std::function<std::int64_t(Column)>& amount, bool zeros) {
  std::vector<std::string> parts;
  quota::forEachColumn(columns, [&](Column column) {
    const std::int64_t value = amount(column);
    if (value == 0 && !zeros) return;
    const std::string& name = quotas.resources().name(tree.resource(column));
    parts.push_back(fmt::format("{}:{}", name, quantityOf(name, value).toString()));
  });
  if (parts.empty()) return "<empty>";
  return joined(std::move(parts), ",");
}

std::string textOf(const Quotas& quotas, const Place& place, const QuotaRequest& ask,
                   const Shortage& shortage, const QuotaRules& rules) {
  const QuotaTree& tree = place.quotas();
  const QuotaId full = shortage.quota;
  std::vector<std::string> exceeded;
  quota::forEachColumn(shortage.exceeded, [&](Column column) {
    exceeded.push_back(quotas.resources().name(tree.resource(column)));
  });
  const std::string tooMuch = joined(std::move(exceeded), " ");
  Columns asked;
  for (const auto& [column, amount] : ask) asked.insert(column);
  const std::string request = listText(
      quotas, tree, asked,
      [&](Column column) {
        return std::ranges::lower_bound(ask, column, {},
                                        [](const auto& part) { return part.first; })
            ->second;
      },
      true);
  const auto used = [&](Sum Cell::* field) {
    return listText(
        quotas, tree, tree.cellColumns(full),
        [&](Column column) { return quota::clamped(tree.cell(full, column).*field); }, false);
  };
  if (shortage.kind == Shortage::Kind::Fixed) {
    const std::string min = listText(
        quotas, tree, tree.minColumns(full),
        [&](Column column) { return tree.cell(full, column).min; }, true);
    return fmt::format(
        "Insufficient non-preemptible quotas, quotaName: {}, min: {}, nonPreemptibleUsed: {}, "
        "pod's "
        "request: {}, exceedDimensions: [{}]",
        tree.name(full), min, used(&Cell::fixedUsed), request, tooMuch);
  }
  const std::string limit = listText(
      quotas, tree, tree.maxColumns(full),
      [&](Column column) { return limitOf(tree.cell(full, column), rules); }, true);
  if (shortage.kind == Shortage::Kind::Limit) {
    return fmt::format(
        "Insufficient quotas, quotaName: {}, runtime: {}, used: {}, pod's request: {}, "
        "exceedDimensions: [{}]",
        tree.name(full), limit, used(&Cell::used), request, tooMuch);
  }
  // As upstream: from the full quota on; quotas above it that were not checked are left out.
  std::vector<std::string> path;
  for (QuotaId next = place.quota; next != full; next = tree.parent(next))
    path.push_back(tree.name(next));
  path.push_back(tree.name(full));
  std::ranges::reverse(path);
  return fmt::format(
      "Insufficient quotas, quotaNameTopo: [{}], runtime: {}, used: {}, pod's request: {}, "
      "exceedDimensions: [{}]",
      fmt::join(path, " "), limit, used(&Cell::used), request, tooMuch);
}

std::string headroomText(const Place& place, bool fixed, const QuotaRules& rules) {
  const QuotaTree& tree = place.quotas();
  std::string bytes;
  const auto add = [&](std::int64_t number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  add(static_cast<std::int64_t>(tree.serial(place.quota)));
  add(std::int64_t{fixed});
  for (QuotaId next = place.quota; next != QuotaTree::kRoot && next != quota::kNoQuota;
       next = tree.parent(next)) {
    quota::forEachColumn(tree.maxColumns(next), [&](Column column) {
      const Cell& cell = tree.cell(next, column);
      add(quota::clamped(limitOf(cell, rules) - cell.used));
    });
    if (!rules.ancestors) break;
  }
  if (fixed) {
    quota::forEachColumn(tree.minColumns(place.quota), [&](Column column) {
      const Cell& cell = tree.cell(place.quota, column);
      add(quota::clamped(cell.min - cell.fixedUsed));
    });
  }
  return bytes;
}

}  // namespace koord::scheduler
