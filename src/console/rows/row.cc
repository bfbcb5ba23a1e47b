#include "console/rows/row.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>

#include "base/json.h"
#include "model/well_known.h"

namespace koord::console {

void appendJsonText(std::string& out, std::string_view text) {
  const bool plain = std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; });
  if (!plain) {
    out += toJson(json::value(json::string(text)));
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

void RowWriter::begin() {
  if (!first_) out_ += ',';
  first_ = false;
}

void RowWriter::text(std::string_view value) {
  begin();
  appendJsonText(out_, value);
  if (!value.empty()) end_ = out_.size();
}

void RowWriter::number(std::int64_t value) {
  begin();
  fmt::format_to(std::back_inserter(out_), "{}", value);
  if (value != 0) end_ = out_.size();
}

void RowWriter::time(const api::Time& value) {
  number(value ? std::chrono::duration_cast<std::chrono::seconds>(value->time_since_epoch()).count()
               : 0);
}

void RowWriter::json(std::string_view value) {
  begin();
  out_ += value.empty() ? "\"\"" : value;
  if (!value.empty()) end_ = out_.size();
}

std::string RowWriter::finish() && {
  out_.resize(end_);
  out_ += ']';
  return std::move(out_);
}

std::int64_t mebibytes(const Quantity& bytes) {
  const std::int64_t value = bytes.value();
  return value / (1 << 20) + (value % (1 << 20) > 0 ? 1 : 0);
}

std::string amountsJson(const api::ResourceList& list) {
  std::string out = "{";
  for (const auto& [name, amount] : list) {
    if (out.size() > 1) out += ',';
    appendJsonText(out, name);
    const bool memory = name == model::kMemory || std::string_view(name).ends_with("-memory");
    fmt::format_to(std::back_inserter(out), ":{}",
                   name == model::kCpu ? amount.milliValue()
                   : memory            ? mebibytes(amount)
                                       : amount.value());
  }
  return out + "}";
}

}  // namespace koord::console
