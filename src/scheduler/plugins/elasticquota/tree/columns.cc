// The columns of a QuotaTree: one for each resource that some quota names, given back when none does.

#include <algorithm>

#include "scheduler/plugins/elasticquota/tree/quota_tree.h"

namespace koord::scheduler::quota {

std::optional<Column> QuotaTree::columnOf(ResourceKey resource) const {
  if (resource >= columnOf_.size() || columnOf_[resource] == kNoColumn) return std::nullopt;
  return columnOf_[resource];
}

std::optional<Column> QuotaTree::hold(ResourceKey resource, Columns& fresh) {
  if (const auto known = columnOf(resource)) return known;
  if (~inUse_ == 0) return std::nullopt;
  const auto column = static_cast<Column>(__builtin_ctzll(~inUse_));
  if (column >= stride_) widen();
  inUse_ |= columnSet(column);
  if (column >= resources_.size()) {
    resources_.resize(column + 1);
    holders_.resize(column + 1);
  }
  resources_[column] = resource;
  if (resource >= columnOf_.size()) columnOf_.resize(resource + 1, kNoColumn);
  columnOf_[resource] = column;
  holders_[column] = 0;
  fresh |= columnSet(column);
  return column;
}

// Takes a quota's hold on these columns away.
void QuotaTree::release(Columns columns) {
  forEachColumn(columns, [&](Column column) {
    if (--holders_[column] > 0) return;
    inUse_ &= ~columnSet(column);
    columnOf_[resources_[column]] = kNoColumn;
    for (QuotaId quota = 0; quota < nodes_.size(); ++quota) {
      at(quota, column) = Cell{};
      nodes_[quota].dirty &= ~columnSet(column);
    }
  });
}

void QuotaTree::widen() {
  const std::size_t before = stride_;
  stride_ *= 2;
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

// Writes amounts into a field of the quota's cells.
void QuotaTree::place(QuotaId quota, const Amounts& amounts, Columns& present,
                      std::int64_t Cell::* field, Columns& named, Columns& fresh) {
  present = 0;
  forEachColumn(inUse_, [&](Column column) { at(quota, column).*field = 0; });
  for (const auto& [resource, amount] : amounts) {
    const auto column = hold(resource, fresh);
    if (!column) {
      auto& left = nodes_[quota].uncounted;
      if (std::ranges::find(left, resource) == left.end()) left.push_back(resource);
      continue;
    }
    at(quota, *column).*field = std::max<std::int64_t>(amount, 0);
    present |= columnSet(*column);
    if ((named & columnSet(*column)) == 0) ++holders_[*column];
    named |= columnSet(*column);
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
  if (const auto column = columnOf(resource)) markDirty(kRoot, columnSet(*column));
}

}  // namespace koord::scheduler::quota
