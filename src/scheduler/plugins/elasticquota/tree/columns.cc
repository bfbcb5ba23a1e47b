// The columns of a QuotaTree: one for each resource that a quota names, released when no quota
// names it. Their number is not limited: a limit would let the quota that reaches it remove other
// quotas' limits.

#include <algorithm>
#include <utility>

#include "scheduler/plugins/elasticquota/tree/quota_tree.h"

namespace koord::scheduler::quota {

std::optional<Column> QuotaTree::columnOf(ResourceKey resource) const {
  if (resource >= columnOf_.size() || columnOf_[resource] == kNoColumn) return std::nullopt;
  return columnOf_[resource];
}

Column QuotaTree::hold(ResourceKey resource, Columns& fresh) {
  if (const auto known = columnOf(resource)) return *known;
  auto column = static_cast<Column>(resources_.size());
  if (vacant_.empty()) {
    resources_.push_back(resource);
    holders_.push_back(0);
    if (column >= kCommonColumns) rows_.emplace_back();
  } else {
    column = vacant_.extract(vacant_.begin()).value();
    resources_[column] = resource;
    holders_[column] = 0;
  }
  if (column >= stride_ && column < kCommonColumns) widen(column);
  inUse_.insert(column);
  if (resource >= columnOf_.size()) columnOf_.resize(resource + 1, kNoColumn);
  columnOf_[resource] = column;
  fresh.insert(column);
  return column;
}

// Releases a quota's hold on these columns.
void QuotaTree::release(const Columns& columns) {
  forEachColumn(columns, [&](Column column) {
    if (--holders_[column] == 0) vacate(column);
  });
}

void QuotaTree::vacate(Column column) {
  inUse_.erase(column);
  vacant_.insert(column);
  columnOf_[resources_[column]] = kNoColumn;
  if (column >= kCommonColumns) {
    for (const QuotaId quota : std::exchange(rows_[column - kCommonColumns], {})) {
      nodes_[quota].further.erase(column);
      nodes_[quota].wide.erase(column);
      nodes_[quota].dirty.erase(column);
    }
    return;
  }
  for (QuotaId quota = 0; quota < nodes_.size(); ++quota) {
    at(quota, column) = Cell{};
    nodes_[quota].dirty.erase(column);
  }
}

void QuotaTree::widen(Column column) {
  const std::size_t before = stride_;
  while (column >= stride_) stride_ *= 2;
  std::vector<Cell> wider(nodes_.size() * stride_);
  for (std::size_t row = 0; row < nodes_.size(); ++row)
    std::copy_n(cells_.begin() + static_cast<std::ptrdiff_t>(row * before), before,
                wider.begin() + static_cast<std::ptrdiff_t>(row * stride_));
  cells_ = std::move(wider);
}

void QuotaTree::addRow(QuotaId quota) {
  if (nodes_.size() <= quota) {
    nodes_.resize(quota + 1);
    cells_.resize(nodes_.size() * stride_);
  }
  nodes_[quota] = Node{};
  std::fill_n(cells_.begin() + static_cast<std::ptrdiff_t>(quota * stride_), stride_, Cell{});
}

void QuotaTree::dropRow(QuotaId quota) {
  forEachColumn(nodes_[quota].wide,
                [&](Column column) { std::erase(rows_[column - kCommonColumns], quota); });
  addRow(quota);
}

const Cell& QuotaTree::overflowCell(QuotaId quota, Column column) const {
  static const Cell kNothing;
  const auto& further = nodes_[quota].further;
  const auto it = further.find(column);
  return it == further.end() ? kNothing : it->second;
}

Cell& QuotaTree::overflowCellAt(QuotaId quota, Column column) {
  const auto [it, fresh] = nodes_[quota].further.try_emplace(column);
  if (fresh) {
    nodes_[quota].wide.insert(column);
    rows_[column - kCommonColumns].push_back(quota);
  }
  return it->second;
}

// Writes amounts into a field of the quota's cells.
void QuotaTree::place(QuotaId quota, const Amounts& amounts, Columns& present,
                      std::int64_t Cell::* field, Columns& named, Columns& fresh) {
  present = {};
  forEachColumn(cellColumns(quota), [&](Column column) { at(quota, column).*field = 0; });
  for (const auto& [resource, amount] : amounts) {
    const Column column = hold(resource, fresh);
    at(quota, column).*field = std::max<std::int64_t>(amount, 0);
    present.insert(column);
    if (named.contains(column)) continue;
    ++holders_[column];
    named.insert(column);
  }
}

std::optional<std::int64_t> QuotaTree::total(Column column) const {
  const ResourceKey resource = resources_[column];
  return resource < totals_.size() ? totals_[resource] : std::nullopt;
}

void QuotaTree::setTotal(ResourceKey resource, std::optional<std::int64_t> total) {
  if (resource >= totals_.size()) {
    if (!total) return;
    totals_.resize(resource + 1);
  }
  if (totals_[resource] == total) return;
  totals_[resource] = total;
  if (const auto column = columnOf(resource)) markDirty(kRoot, *column);
}

}  // namespace koord::scheduler::quota
