#include "scheduler/engine/narrow_column.h"

#include <algorithm>

namespace koord::scheduler {

void NarrowColumn::assign(std::size_t size) {
  if (auto* bytes = std::get_if<Bytes>(&values_)) {
    bytes->assign(size, 0);
  } else {
    values_ = Bytes(size);
  }
  limit_ = kBytes;
}

void NarrowColumn::resize(std::size_t size) {
  std::visit([&](auto& values) { values.resize(size); }, values_);
}

void NarrowColumn::set(std::span<const NodeId> nodes, std::span<const std::int64_t> values,
                       std::int64_t plus) {
  if (nodes.empty()) return;
  fit(std::ranges::max(values) + plus);
  std::visit(
      [&](auto& all) {
        for (std::size_t n = 0; n < nodes.size(); ++n) assign(all[nodes[n]], values[n] + plus);
      },
      values_);
}

template <class Wide>
void NarrowColumn::widenTo(Wide wide) {
  read([&](const auto& narrow) { wide.assign(narrow.begin(), narrow.end()); });
  values_ = std::move(wide);
  limit_ = static_cast<std::int64_t>(std::numeric_limits<typename Wide::value_type>::max());
}

void NarrowColumn::widen(std::int64_t value) {
  if (value <= std::numeric_limits<std::uint16_t>::max()) {
    widenTo(std::vector<std::uint16_t>());
  } else if (value <= std::numeric_limits<std::uint32_t>::max()) {
    widenTo(std::vector<std::uint32_t>());
  } else {
    widenTo(std::vector<std::int64_t>());
  }
}

}  // namespace koord::scheduler
