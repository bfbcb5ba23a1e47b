#include "console/history/visible.h"

#include <algorithm>

namespace koord::console {

namespace {

bool isMeasured(std::string_view column) {
  return column.ends_with("Used");
}

bool isOfPods(std::string_view column) {
  return column.ends_with("Requested") || column == "pods" || column == "pending";
}

}  // namespace

bool mayReadColumn(std::string_view series, std::string_view column, const View& view) {
  const bool nodes = view.of(TableId::Nodes).all;
  const bool metrics = view.of(TableId::Metrics).all;
  if (series.starts_with("quota/")) return view.of(TableId::Quotas).shows(series.substr(6));
  if (series.starts_with("node/")) return nodes && (column == "batch" || metrics);
  if (isOfPods(column)) return view.of(TableId::Pods).all;
  return nodes && (!isMeasured(column) || metrics);
}

Result<json::value> visibleHistory(Result<json::value> answer, std::string_view series,
                                   const View& view) {
  if (!answer || view.everything()) return answer;
  json::value* columns = find(*answer, "columns");
  json::object kept;
  if (columns && columns->is_object())
    for (auto& [name, values] : columns->get_object())
      if (mayReadColumn(series, name, view)) kept.emplace(name, std::move(values));
  if (kept.empty()) return fail(History::unknown(series));
  *columns = std::move(kept);
  return answer;
}

}  // namespace koord::console
