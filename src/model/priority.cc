#include "model/priority.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

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

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

// Go allows "_" between digits and after the base prefix, and only there. `text` has no sign.
bool underscoresOk(std::string_view text) {
  const char kind = text.size() >= 2 && text[0] == '0' ? lower(text[1]) : 0;
  const bool prefixed = kind == 'x' || kind == 'o' || kind == 'b';
  bool afterDigit = prefixed;  // the prefix counts as one
  for (const char c : text.substr(prefixed ? 2 : 0)) {
    if (c == '_' && !afterDigit) return false;
    afterDigit = c != '_';
  }
  return afterDigit;
}

// strconv.ParseInt(text, 0, 32)
bool parseGoInt(std::string_view text, std::int32_t& out) {
  std::string_view rest = text;
  bool negative = false;
  if (!rest.empty() && (rest[0] == '+' || rest[0] == '-')) {
    negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  if (rest.empty()) return false;
  int base = 10;
  std::string_view digits = rest;
  if (rest[0] == '0') {
    const char kind = rest.size() >= 3 ? lower(rest[1]) : 0;
    base = kind == 'x' ? 16 : kind == 'b' ? 2 : 8;
    if (kind == 'x' || kind == 'b' || kind == 'o') {
      digits.remove_prefix(2);
    } else {
      digits.remove_prefix(1);
      if (digits.empty()) digits = "0";
    }
  }
  std::string plain = negative ? "-" : "";
  for (const char c : digits) {
    if (c == '+' || c == '-') return false;
    if (c != '_') plain += c;
  }
  if (plain.size() != digits.size() + negative && !underscoresOk(rest)) return false;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), out, base);
  return error == std::errc{} && end == plain.data() + plain.size();
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
  return qosWithDefault(pod) == Qos::BE ? PriorityClass::Batch : PriorityClass::Prod;
}

std::int32_t priorityWithDefault(const api::Pod& pod) {
  if (pod.spec.priority && *pod.spec.priority != 0) return *pod.spec.priority;
  return defaultValueOf(priorityClassWithDefault(pod));
}

Result<std::int32_t> subPriority(const api::StringMap& labels) {
  const auto* text = api::findIn(labels, kLabelSubPriority);
  if (!text || text->empty()) return 0;
  std::int32_t value = 0;
  if (parseGoInt(*text, value)) return value;
  return fail(ErrorCode::Invalid, fmt::format("metadata.labels[{}]: \"{}\" is not a 32-bit integer",
                                              kLabelSubPriority, *text));
}

}  // namespace koord::model
