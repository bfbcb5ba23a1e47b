#pragma once

// Records the first violated bound of a configuration struct as "field: what is wrong".

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace koord::model {

class FieldRanges {
 public:
  FieldRanges() = default;
  explicit FieldRanges(std::string prefix) : prefix_(std::move(prefix)) {}

  void that(bool holds, std::string_view field, std::string_view rule) {
    if (!holds && message_.empty()) message_ = fmt::format("{}{}: {}", prefix_, field, rule);
  }
  void between(std::string_view field, std::optional<std::int64_t> value, std::int64_t low,
               std::int64_t high) {
    if (value && (*value < low || *value > high))
      that(false, field, fmt::format("{} is not between {} and {}", *value, low, high));
  }
  void atLeast(std::string_view field, std::optional<std::int64_t> value, std::int64_t low) {
    if (value && *value < low) that(false, field, fmt::format("{} is less than {}", *value, low));
  }

  Result<> result() const {
    if (message_.empty()) return {};
    return fail(ErrorCode::Invalid, message_);
  }

 private:
  std::string prefix_;
  std::string message_;
};

}  // namespace koord::model
