#include "scheduler/plugins/loadawarescheduling/load_rows.h"

#include <algorithm>
#include <limits>

#include "scheduler/plugins/noderesources/scores.h"

namespace koord::scheduler {

namespace {

constexpr std::int64_t kAnything = std::numeric_limits<std::int64_t>::max();
// The bound of limits and weights: products with it stay within 64 and 32 bits.
constexpr std::int64_t kSmallNumber = 1 << 17;

// The resources that have a number; a single one fills both places. Returns false if there are
// none, or too many.
bool resourcesWith(const LoadAmounts& numbers, LoadRows::Pair<std::size_t>& resources) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == 0) continue;
    if (count == LoadRows::kMaxResources || numbers[i] < 0 || numbers[i] >= kSmallNumber)
      return false;
    resources[1] = i;
    if (count++ == 0) resources[0] = i;
  }
  return count > 0;
}

}  // namespace

LoadRows::LoadRows(const LoadTable& table, bool prod, const LoadAmounts* limits,
                   const LoadAmounts& weights)
    : table_(table), prod_(prod), limits_(limits), weights_(weights) {
  judges_ = limits && resourcesWith(*limits, limited_);
  scores_ = resourcesWith(weights, weighed_);
  if (!scores_) return;
  const bool both = weighed_[0] != weighed_[1];
  scale_.weights = {static_cast<std::uint32_t>(weights[weighed_[0]]),
                    both ? static_cast<std::uint32_t>(weights[weighed_[1]]) : 0};
  scale_.weightSum = scale_.weights[0] + scale_.weights[1];
}

LoadRows::Scale LoadRows::scaleFor(const LoadAmounts& estimate) const {
  Scale scale = scale_;
  for (std::size_t i = 0; i < kMaxResources; ++i)
    scale.takes[i] = static_cast<double>(estimate[weighed_[i]]) * 100;
  return scale;
}

void LoadRows::resize(NodeId node, bool fresh) {
  if (node >= rows_.size()) {
    rows_.resize(node + 1);
    sizes_.resize(node + 1);
  }
  const Size& size = sizes_[node] = sizeOf(node);
  for (std::size_t i = 0; i < kMaxResources; ++i)
    rows_[node].capacity[i] = static_cast<double>(std::max<std::int64_t>(size.capacity[i], 1));
  load(node, fresh);
}

LoadRows::Size LoadRows::sizeOf(NodeId node) const {
  Size size;
  for (std::size_t i = 0; i < kMaxResources; ++i) {
    const std::int64_t limited = judges_ ? table_.capacity(node, nullptr, limited_[i]) : 0;
    const std::int64_t weighed = scores_ ? table_.capacity(node, nullptr, weighed_[i]) : 0;
    if (limited >= kSmallAmount || weighed >= kSmallAmount) return {};
    // A resource that the node does not have is not limited.
    size.allowed[i] = limited == 0 ? kAnything : limited * (*limits_)[limited_[i]] / 100;
    size.capacity[i] = weighed;
  }
  size.good = !table_.settingsOf(node);
  return size;
}

void LoadRows::load(NodeId node, bool fresh) {
  if (node >= rows_.size()) return;  // it does not exist yet
  Row& row = rows_[node];
  const Size& size = sizes_[node];
  const NodeLoad* const load = table_.at(node);
  const bool good = size.good && load && load->measured() && load->updated();
  row.updated = good ? *load->updated() : WallTime::min();
  if (good) {
    const LoadAmounts& used = prod_ ? load->prod() : load->all();
    for (std::size_t i = 0; i < kMaxResources; ++i) {
      row.free[i] = size.allowed[i] - used[limited_[i]];
      row.left[i] = static_cast<double>(size.capacity[i] - used[weighed_[i]]) * 100;
    }
  }
  if (good && fresh && fits(row, mark_)) {
    near_.erase(node);
  } else {
    near_.insert(node);
  }
}

void LoadRows::judge(const LoadAmounts& estimate, const NodeSet& nodes, WallTime oldest, bool fresh,
                     std::vector<NodeId>& rest) {
  const Pair<std::int64_t> takes{estimate[limited_[0]], estimate[limited_[1]]};
  const auto look = [takes, oldest, rows = rows_.data(), &rest](NodeId node) {
    if (rows[node].updated <= oldest || !fits(rows[node], takes)) rest.push_back(node);
  };
  if (!fresh) return nodes.forEach(look);
  if (takes[0] > mark_[0] || takes[1] > mark_[1]) moveMark(takes);
  nodes.forEachIn(near_, look);
}

void LoadRows::moveMark(const Pair<std::int64_t>& takes) {
  // The mark does not move for every pod that requests a little more.
  for (std::size_t i = 0; i < kMaxResources; ++i)
    if (takes[i] > mark_[i]) mark_[i] = takes[i] + takes[i] / 2;
  for (NodeId node = 0; node < rows_.size(); ++node)
    if (!fits(rows_[node], mark_)) near_.insert(node);
}

}  // namespace koord::scheduler
