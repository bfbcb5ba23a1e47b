#pragma once

// CsvTable: the rows of a CSV text whose first line names the columns. No quotes: a field ends at
// the next comma. Errors name the file, the line and the column.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace koord::koordctl {

class CsvTable {
 public:
  // The text must outlive the table. `file` is for messages.
  static Result<CsvTable> parse(std::string_view text, std::string_view file);

  bool has(std::string_view column) const;
  std::size_t rows() const { return rows_.size(); }
  // "" if the column is missing.
  std::string_view text(std::size_t row, std::string_view column) const;
  // A field that must not be empty.
  Result<std::string> required(std::size_t row, std::string_view column) const;
  // A whole number of at least 0; `missing` if the field is empty or the column is missing.
  Result<std::int64_t> number(std::size_t row, std::string_view column,
                              std::int64_t missing = 0) const;
  // A quantity of Kubernetes in thousandths ("1500m", "2").
  Result<std::int64_t> milli(std::size_t row, std::string_view column) const;
  // A quantity of Kubernetes ("16Gi").
  Result<std::int64_t> amount(std::size_t row, std::string_view column) const;

 private:
  struct Row {
    std::size_t line = 0;
    std::vector<std::string_view> fields;
  };
  std::unexpected<Error> wrong(std::size_t row, std::string_view column,
                               std::string_view what) const;

  std::string file_;
  std::vector<std::string_view> columns_;
  std::vector<Row> rows_;
};

}  // namespace koord::koordctl
