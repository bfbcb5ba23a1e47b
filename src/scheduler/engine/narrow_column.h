#pragma once

// NarrowColumn: a non-negative number for every node, in as few bytes as the largest number needs.
// Classes of pods keep several such columns, and most of the numbers are below 256.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <variant>
#include <vector>

#include "scheduler/engine/node_set.h"

namespace koord::scheduler {

class NarrowColumn {
  static constexpr std::int64_t kBytes = std::numeric_limits<std::uint8_t>::max();

 public:
  // All 0, of one byte each.
  void assign(std::size_t size);
  // New entries are 0.
  void resize(std::size_t size);
  std::size_t size() const {
    return std::visit([](const auto& values) { return values.size(); }, values_);
  }
  bool empty() const { return size() == 0; }

  std::int64_t at(NodeId node) const {
    return std::visit([&](const auto& values) { return static_cast<std::int64_t>(values[node]); },
                      values_);
  }
  void set(NodeId node, std::int64_t value) {
    fit(value);
    std::visit([&](auto& values) { assign(values[node], value); }, values_);
  }
  // values[n] + plus for nodes[n].
  void set(std::span<const NodeId> nodes, std::span<const std::int64_t> values, std::int64_t plus);

  // Calls fn with the vector of values.
  template <class F>
  decltype(auto) read(F&& fn) const {
    return std::visit(std::forward<F>(fn), values_);
  }

 private:
  using Bytes = std::vector<std::uint8_t>;

  template <class Value>
  static void assign(Value& slot, std::int64_t value) {
    slot = static_cast<Value>(value);
  }
  void fit(std::int64_t value) {
    if (value > limit_) widen(value);
  }
  void widen(std::int64_t value);
  template <class Wide>
  void widenTo(Wide wide);

  std::variant<Bytes, std::vector<std::uint16_t>, std::vector<std::uint32_t>,
               std::vector<std::int64_t>>
      values_;
  std::int64_t limit_ = kBytes;  // largest value that fits
};

}  // namespace koord::scheduler
