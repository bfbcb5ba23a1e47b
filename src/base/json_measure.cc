#include "base/json_measure.h"

#include <fmt/format.h>

#include <algorithm>

namespace koord {
namespace {

std::size_t textBytes(std::string_view text) {
  std::size_t bytes = 2 + text.size();
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '\b' || c == '\f' || c == '\n' || c == '\r' || c == '\t') {
      bytes += 1;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      bytes += 5;  // \u001f
    }
  }
  return bytes;
}

void add(JsonMeasure& sum, const json::value& value, std::size_t depth) {
  ++sum.values;
  if (const auto* object = value.if_object()) {
    sum.depth = std::max(sum.depth, depth + 1);
    sum.bytes += 2 + object->size() * 2 - (object->empty() ? 0 : 1);  // {}, colons and commas
    for (const auto& member : *object) {
      sum.bytes += textBytes(member.key());
      add(sum, member.value(), depth + 1);
    }
  } else if (const auto* array = value.if_array()) {
    sum.depth = std::max(sum.depth, depth + 1);
    sum.bytes += 2 + array->size() - (array->empty() ? 0 : 1);
    for (const auto& item : *array) add(sum, item, depth + 1);
  } else if (const auto* text = value.if_string()) {
    sum.bytes += textBytes(*text);
  } else if (const auto* truth = value.if_bool()) {
    sum.bytes += *truth ? 4 : 5;
  } else if (const auto* number = value.if_int64()) {
    sum.bytes += fmt::formatted_size("{}", *number);
  } else if (value.is_null()) {
    sum.bytes += 4;
  } else {
    sum.bytes += toJson(value).size();
  }
}

}  // namespace

JsonMeasure measureJson(const json::value& value) {
  JsonMeasure sum;
  add(sum, value, 0);
  return sum;
}

}  // namespace koord
