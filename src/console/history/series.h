#pragma once

// A bounded history of one thing: the last samples of some columns, in blocks that are allocated as
// time passes. T is float for amounts; Share, a byte, for shares of a node, which need little
// memory for many nodes: 24 hours at 15 s of four columns are 23 KB.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace koord::console {

// From 0 to 125 % in steps of half a percent.
struct Share {
  std::uint8_t half = kNone;
  static constexpr std::uint8_t kNone = 255;
};
inline Share encodeSample(std::optional<double> percent, Share) {
  if (!percent || !(*percent >= 0)) return {};
  return {static_cast<std::uint8_t>(std::lround(std::fmin(*percent * 2, 250)))};
}
inline std::optional<double> decodeSample(Share share) {
  return share.half == Share::kNone ? std::nullopt : std::optional(share.half / 2.0);
}
inline float encodeSample(std::optional<double> amount, float) {
  return amount ? static_cast<float>(*amount) : std::numeric_limits<float>::quiet_NaN();
}
inline std::optional<double> decodeSample(float amount) {
  return std::isnan(amount) ? std::nullopt : std::optional<double>(amount);
}

template <class T>
class Series {
 public:
  using Sample = std::vector<std::optional<double>>;

  // `capacity` samples, rounded up to whole blocks.
  Series(std::size_t columns, std::size_t capacity)
      : columns_(columns), blocks_((capacity + kBlock - 1) / kBlock) {}

  // The sample with this number; numbers rise, and those that are left out have no values.
  void add(std::uint64_t number, const Sample& sample) {
    Block& block = blocks_[number / kBlock % blocks_.size()];
    if (block.number != number / kBlock || !block.values) {
      if (!block.values) block.values = std::make_unique<T[]>(kBlock * columns_);
      for (std::size_t i = 0; i < kBlock * columns_; ++i)
        block.values[i] = encodeSample(std::nullopt, T{});
      block.number = number / kBlock;
    }
    for (std::size_t column = 0; column < columns_; ++column)
      block.values[number % kBlock * columns_ + column] =
          encodeSample(column < sample.size() ? sample[column] : std::nullopt, T{});
    last_ = number;
  }

  std::optional<double> at(std::uint64_t number, std::size_t column) const {
    const Block& block = blocks_[number / kBlock % blocks_.size()];
    if (!block.values || block.number != number / kBlock) return std::nullopt;
    return decodeSample(block.values[number % kBlock * columns_ + column]);
  }

  std::uint64_t last() const { return last_; }
  std::size_t bytes() const {
    std::size_t bytes = blocks_.size() * sizeof(Block);
    for (const Block& block : blocks_)
      if (block.values) bytes += kBlock * columns_ * sizeof(T);
    return bytes;
  }

 private:
  static constexpr std::size_t kBlock = 240;  // an hour at 15 s
  struct Block {
    std::uint64_t number = 0;
    std::unique_ptr<T[]> values;
  };
  std::size_t columns_;
  std::vector<Block> blocks_;
  std::uint64_t last_ = 0;
};

}  // namespace koord::console
