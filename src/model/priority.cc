#include "model/priority.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "base/flags/go_values.h"
#include "model/qos.h"
#include "model/well_known.h"

namespace koord::model {

namespace {

struct Row {
  PriorityClass priorityClass;
  std::string_view name;
  PriorityRange range;
  std::int32_t defaultValue;
};
constexpr std::array<Row, 4> kRows{{
    {PriorityClass::Prod, "koord-prod", {9000, 9999}, 9500},
    {PriorityClass::Mid, "koord-mid", {7000, 7999}, 7500},
    {PriorityClass::Batch, "koord-batch", {5000, 5999}, 5500},
    {PriorityClass::Free, "koord-free", {3000, 3999}, 3500},
}};

const Row* rowOf(PriorityClass priorityClass) {
  for (const auto& row : kRows)
    if (row.priorityClass == priorityClass) return &row;
  return nullptr;
}

}  // namespace

std::string_view textOf(PriorityClass priorityClass) {
  const Row* row = rowOf(priorityClass);
  return row ? row->name : "";
}

PriorityClass parsePriorityClass(std::string_view text) {
  for (const auto& row : kRows)
    if (row.name == text) return row.priorityClass;
  return PriorityClass::None;
}

PriorityRange rangeOf(PriorityClass priorityClass) {
  const Row* row = rowOf(priorityClass);
  return row ? row->range : PriorityRange{0, 0};
}

PriorityClass classOfValue(std::int32_t priority) {
  for (const auto& row : kRows)
    if (priority >= row.range.low && priority <= row.range.high) return row.priorityClass;
  return PriorityClass::None;
}

std::int32_t defaultValueOf(PriorityClass priorityClass) {
  const Row* row = rowOf(priorityClass);
  return row ? row->defaultValue : 0;
}

PriorityClass rawPriorityClass(const api::Pod& pod) {
  if (const auto* text = api::findIn(pod.metadata.labels, kLabelPriorityClass))
    return parsePriorityClass(*text);
  return pod.spec.priority ? classOfValue(*pod.spec.priority) : PriorityClass::None;
}

PriorityClass priorityClassWithDefault(const api::Pod& pod) {
  const PriorityClass raw = rawPriorityClass(pod);
  if (raw != PriorityClass::None) return raw;
  return isBestEffortByDefault(pod) ? PriorityClass::Batch : PriorityClass::Prod;
}

std::int32_t priorityWithDefault(const api::Pod& pod) {
  if (pod.spec.priority && *pod.spec.priority != 0) return *pod.spec.priority;
  return defaultValueOf(priorityClassWithDefault(pod));
}

Result<std::int32_t> subPriority(const api::StringMap& labels) {
  const auto* text = api::findIn(labels, kLabelSubPriority);
  if (!text || text->empty()) return 0;
  using Limits = std::numeric_limits<std::int32_t>;
  if (const auto value = flags::parseInteger(*text, Limits::min(), Limits::max()))
    return static_cast<std::int32_t>(*value);
  return fail(ErrorCode::Invalid, fmt::format("metadata.labels[{}]: \"{}\" is not a 32-bit integer",
                                              kLabelSubPriority, *text));
}

}  // namespace koord::model
