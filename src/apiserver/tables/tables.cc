#include "apiserver/tables/tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "apiserver/objects/failure.h"
#include "apiserver/tables/builtin_tables.h"
#include "apiserver/tables/computed_columns.h"
#include "base/json_measure.h"
#include "base/json_path.h"
#include "base/time.h"

namespace koord::apiserver {
namespace {

// Columns may show the same part of an object repeatedly, so that a row could be many times larger
// than its object. All cells of a row together have at most as much text as the object, plus this.
constexpr std::size_t kSpareRowBytes = 4 << 10;

json::value cellOf(const Column& column, const json::value& object, WallTime now,
                   std::size_t& room) {
  const auto found = jsonPath(object, column.jsonPath);
  if (!found || found->empty()) return nullptr;
  // As kube-apiserver, which shows the first value that the path selects.
  const auto& first = *found->front();
  if (column.type == "date") return json::string(age(&first, now));
  const bool scalar = !first.is_structured() && !first.is_string();
  if (scalar && (column.type == "integer" || column.type == "number" || column.type == "boolean"))
    return first;
  std::string text = first.is_string() ? std::string(first.get_string()) : toJson(first);
  text = cutText(text, room);
  room -= std::min(room, text.size());
  return json::string(text);
}

}  // namespace

std::string humanDuration(Duration duration) {
  using namespace std::chrono;
  const auto s = duration_cast<seconds>(duration).count();
  if (s < -1) return "<invalid>";
  if (s < 0) return "0s";
  if (s < 120) return fmt::format("{}s", s);
  const auto m = s / 60;
  if (m < 10) return s % 60 == 0 ? fmt::format("{}m", m) : fmt::format("{}m{}s", m, s % 60);
  if (m < 180) return fmt::format("{}m", m);
  const auto h = m / 60;
  if (h < 8) return m % 60 == 0 ? fmt::format("{}h", h) : fmt::format("{}h{}m", h, m % 60);
  if (h < 48) return fmt::format("{}h", h);
  const auto d = h / 24;
  if (h < 24 * 8) return h % 24 == 0 ? fmt::format("{}d", d) : fmt::format("{}d{}h", d, h % 24);
  if (d < 730) return fmt::format("{}d", d);
  const auto y = d / 365;
  if (y < 8) return d % 365 == 0 ? fmt::format("{}y", y) : fmt::format("{}y{}d", y, d % 365);
  return fmt::format("{}y", y);
}

std::string age(const json::value* time, WallTime now) {
  if (!time || !time->is_string()) return "<unknown>";
  auto parsed = parseTime(std::string_view(time->get_string()));
  return parsed ? humanDuration(now - *parsed) : "<unknown>";
}

TableWriter::TableWriter(const Resource& resource, const ResourceVersion& version) {
  columns_.push_back({"Name", "string", "name", "Name must be unique within a namespace.", 0});
  if (auto builtin = builtinTable(resource)) {
    if (!builtin->nameFirst) {
      columns_ = std::move(builtin->columns);
      cells_ = std::move(builtin->cells);
      return;
    }
    for (auto& column : builtin->columns) columns_.push_back(std::move(column));
    cells_ = [cells = std::move(builtin->cells)](const json::value& object, WallTime now) {
      json::array row = cells(object, now);
      row.insert(row.begin(), json::string(textAt(object, "metadata", "name")));
      return row;
    };
    return;
  }
  std::vector<Column> columns = version.columns;
  if (columns.empty()) columns.push_back({"Age", "date", "", 0, ".metadata.creationTimestamp"});
  for (const auto& column : columns)
    columns_.push_back({column.name, column.type, "", column.description, column.priority});
  const auto computed = computedColumns(resource);
  for (const auto& [column, cell] : computed) columns_.push_back(column);
  cells_ = [columns, computed](const json::value& object, WallTime now) {
    json::array row{json::string(textAt(object, "metadata", "name"))};
    std::size_t room = kSpareRowBytes + measureJson(object).bytes;
    for (const auto& column : columns) row.push_back(cellOf(column, object, now, room));
    for (const auto& [column, cell] : computed) row.push_back(cell(object));
    return row;
  };
}

}  // namespace koord::apiserver
