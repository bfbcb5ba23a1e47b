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

std::int64_t limitOf(const Cell& cell, const QuotaRules& rules) {
  return rules.runtime ? cell.limit : cell.max;
}

QuotaAsk askOf(const Quotas& quotas, const Place& place, const PodInfo& pod,
               const Resources* within) {
  QuotaAsk ask;
  const QuotaTree& tree = place.quotas();
  const Columns counted = tree.maxColumns(place.quota);
  quotas.forEachAmount(pod, within, [&](ResourceId resource, std::int64_t amount) {
    const auto column = tree.columnOf(resource);
    if (column && (counted & quota::columnSet(*column)) != 0) ask.emplace_back(*column, amount);
  });
  return ask;
}

Shortage shortageOf(const Place& place, const QuotaAsk& ask, bool fixed, const QuotaRules& rules) {
  const QuotaTree& tree = place.quotas();
  const auto asked = [&](Column column) {
    for (const auto& [own, amount] : ask)
      if (own == column) return amount;
    return std::int64_t{0};
  };
  Shortage shortage;
  quota::forEachColumn(tree.maxColumns(place.quota), [&](Column column) {
    const Cell& cell = tree.cell(place.quota, column);
    const std::int64_t limit = limitOf(cell, rules);
    if (limit != kNoLimit && cell.used + asked(column) > limit)
      shortage.exceeded |= quota::columnSet(column);
  });
  shortage.quota = place.quota;
  if (shortage.exceeded != 0) {
    shortage.kind = Shortage::Kind::Limit;
    return shortage;
  }
  if (fixed) {
    quota::forEachColumn(tree.minColumns(place.quota), [&](Column column) {
      const Cell& cell = tree.cell(place.quota, column);
      if (cell.fixedUsed + asked(column) > cell.min) shortage.exceeded |= quota::columnSet(column);
    });
    if (shortage.exceeded != 0) {
      shortage.kind = Shortage::Kind::Fixed;
      return shortage;
    }
  }
  if (!rules.ancestors) return shortage;
  for (QuotaId above = tree.parent(place.quota);
       above != QuotaTree::kRoot && above != quota::kNoQuota; above = tree.parent(above)) {
    for (const auto& [column, amount] : ask) {
      const Cell& cell = tree.cell(above, column);
      if ((tree.maxColumns(above) & quota::columnSet(column)) != 0 &&
          cell.used + amount > limitOf(cell, rules))
        shortage.exceeded |= quota::columnSet(column);
    }
    if (shortage.exceeded == 0) continue;
    shortage.kind = Shortage::Kind::Ancestor;
    shortage.quota = above;
    return shortage;
  }
  return shortage;
}

std::string listText(const Quotas& quotas, const QuotaTree& tree, Columns columns,
                     const std::function<std::int64_t(Column)>& amount, bool zeros) {
  std::vector<std::string> parts;
  quota::forEachColumn(columns, [&](Column column) {
    const std::int64_t value = amount(column);
    if (value == 0 && !zeros) return;
    const std::string& name = quotas.resources().name(tree.resource(column));
    parts.push_back(fmt::format("{}:{}", name, quantityOf(name, value).toString()));
  });
  if (parts.empty()) return "<empty>";
  std::ranges::sort(parts);
  return fmt::format("{}", fmt::join(parts, ","));
}

std::string textOf(const Quotas& quotas, const Place& place, const QuotaAsk& ask,
                   const Shortage& shortage, const QuotaRules& rules) {
  const QuotaTree& tree = place.quotas();
  const QuotaId full = shortage.quota;
  std::vector<std::string> exceeded;
  quota::forEachColumn(shortage.exceeded, [&](Column column) {
    exceeded.push_back(quotas.resources().name(tree.resource(column)));
  });
  std::ranges::sort(exceeded);
  Columns asked = 0;
  for (const auto& [column, amount] : ask) asked |= quota::columnSet(column);
  const std::string request = listText(
      quotas, tree, asked,
      [&](Column column) {
        return std::ranges::find(ask, column, [](const auto& part) { return part.first; })->second;
      },
      true);
  const auto used = [&](Sum Cell::* field) {
    return listText(
        quotas, tree, tree.columns(),
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
        tree.name(full), min, used(&Cell::fixedUsed), request, fmt::join(exceeded, " "));
  }
  const std::string limit = listText(
      quotas, tree, tree.maxColumns(full),
      [&](Column column) { return limitOf(tree.cell(full, column), rules); }, true);
  if (shortage.kind == Shortage::Kind::Limit) {
    return fmt::format(
        "Insufficient quotas, quotaName: {}, runtime: {}, used: {}, pod's request: {}, "
        "exceedDimensions: [{}]",
        tree.name(full), limit, used(&Cell::used), request, fmt::join(exceeded, " "));
  }
  // As upstream: from the one that is full, and those above it that were not looked at are left out.
  std::vector<std::string> path;
  for (QuotaId next = place.quota; next != full; next = tree.parent(next))
    path.push_back(tree.name(next));
  path.push_back(tree.name(full));
  std::ranges::reverse(path);
  return fmt::format(
      "Insufficient quotas, quotaNameTopo: [{}], runtime: {}, used: {}, pod's request: {}, "
      "exceedDimensions: [{}]",
      fmt::join(path, " "), limit, used(&Cell::used), request, fmt::join(exceeded, " "));
}

std::string roomOf(const Place& place, bool fixed, const QuotaRules& rules) {
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
