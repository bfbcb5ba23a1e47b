#include "koordctl/trace/csv_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/quantity.h"
#include "base/split.h"

namespace koord::koordctl {

namespace {

std::vector<std::string_view> fieldsOf(std::string_view line) {
  std::vector<std::string_view> fields = splitAll(line, ',');
  for (std::string_view& field : fields) field = trim(field);
  return fields;
}

}  // namespace

Result<CsvTable> CsvTable::parse(std::string_view text, std::string_view file) {
  CsvTable table;
  table.file_ = file;
  std::size_t number = 0;
  for (const std::string_view line : splitAll(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    std::vector<std::string_view> fields = fieldsOf(line);
    if (table.columns_.empty()) {
      table.columns_ = std::move(fields);
      continue;
    }
    if (fields.size() != table.columns_.size()) {
      return fail(ErrorCode::BadRequest,
                  fmt::format("{}:{}: has {} fields, but the first line names {} columns", file,
                              number, fields.size(), table.columns_.size()));
    }
    table.rows_.push_back({number, std::move(fields)});
  }
  if (table.columns_.empty())
    return fail(ErrorCode::BadRequest,
                fmt::format("{}: is empty; a line of columns must be first", file));
  return table;
}

bool CsvTable::has(std::string_view column) const {
  return std::ranges::find(columns_, column) != columns_.end();
}

std::string_view CsvTable::text(std::size_t row, std::string_view column) const {
  const auto it = std::ranges::find(columns_, column);
  return it == columns_.end() ? std::string_view()
                              : rows_[row].fields[static_cast<std::size_t>(it - columns_.begin())];
}

std::unexpected<Error> CsvTable::wrong(std::size_t row, std::string_view column,
                                       std::string_view what) const {
  return fail(ErrorCode::BadRequest,
              fmt::format("{}:{}: {}: {}", file_, rows_[row].line, column, what));
}

Result<std::string> CsvTable::required(std::size_t row, std::string_view column) const {
  const std::string_view field = text(row, column);
  if (field.empty()) return wrong(row, column, "must not be empty");
  return std::string(field);
}

Result<std::int64_t> CsvTable::number(std::size_t row, std::string_view column,
                                      std::int64_t missing) const {
  const std::string_view field = text(row, column);
  if (field.empty()) return missing;
  double value = 0;  // traces have times like 12537496.0
  const auto [end, failed] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (failed != std::errc() || end != field.data() + field.size() || value < 0 || value > 9e15)
    return wrong(row, column, fmt::format("\"{}\" must be a number of at least 0", field));
  return static_cast<std::int64_t>(value);
}

Result<std::int64_t> CsvTable::milli(std::size_t row, std::string_view column) const {
  const std::string_view field = text(row, column);
  const auto quantity = Quantity::parse(field);
  if (!quantity || quantity->milliValue() < 0)
    return wrong(row, column, fmt::format("\"{}\" must be a quantity of at least 0", field));
  return quantity->milliValue();
}

Result<std::int64_t> CsvTable::amount(std::size_t row, std::string_view column) const {
  const std::string_view field = text(row, column);
  const auto quantity = Quantity::parse(field);
  if (!quantity || quantity->value() < 0)
    return wrong(row, column, fmt::format("\"{}\" must be a quantity of at least 0", field));
  return quantity->value();
}

}  // namespace koord::koordctl
