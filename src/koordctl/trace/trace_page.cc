// The page of traceReportPage.

#include <fmt/format.h>

#include "koordctl/trace/line_plot.h"
#include "koordctl/trace/trace_report.h"

namespace koord::koordctl {

namespace {

constexpr const char* kColors[] = {"#1f6feb", "#d1480f", "#1a7f37", "#8250df", "#9a6700"};
constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Replay of a trace</title><style>
body{font:14px sans-serif;margin:24px;max-width:1340px;color:#1f2328}
table{border-collapse:collapse;margin:12px 0}td,th{border:1px solid #d0d7de;padding:4px 10px;text-align:right}
td:first-child,th:first-child{text-align:left}
svg{margin:8px;font-size:11px}.title{font-size:14px;font-weight:bold}.grid{stroke:#d0d7de}
</style></head><body><h1>Replay of a trace</h1>
)";

std::string colorOf(std::size_t report) {
  return kColors[report % std::size(kColors)];
}

std::string tableOf(const std::vector<ReplayReport>& reports) {
  std::string text =
      "<table><tr><th>configuration</th><th>tasks placed</th><th>GPUs allocated, mean</th>"
      "<th>CPUs allocated, mean</th><th>fragmentation of free GPUs, mean</th>"
      "<th>wait mean / p50 / p99, s</th><th>preemptions</th></tr>\n";
  for (std::size_t n = 0; n < reports.size(); ++n) {
    const ReplayReport& report = reports[n];
    text += fmt::format(
        "<tr><td><span style=\"color:{}\">&#9632;</span> {}</td><td>{} of {}</td><td>{:.2f} %</td>"
        "<td>{:.2f} %</td><td>{:.2f} %</td><td>{:.0f} / {:.0f} / {:.0f}</td><td>{}</td></tr>\n",
        colorOf(n), escapeMarkup(report.name), report.placed, report.tasks, 100 * report.gpuMean,
        100 * report.cpuMean, 100 * report.fragmentationMean, report.waitMean, report.waitMedian,
        report.waitP99, report.preemptions);
  }
  return text + "</table>\n";
}

template <class Value>
std::string plotOf(const std::vector<ReplayReport>& reports, std::string title, std::string unit,
                   double highest, Value&& value) {
  LinePlot plot{std::move(title), std::move(unit), highest, {}};
  for (std::size_t n = 0; n < reports.size(); ++n) {
    PlotLine& line = plot.lines.emplace_back(PlotLine{colorOf(n), {}});
    for (const ReplayPoint& point : reports[n].points)
      line.points.emplace_back(static_cast<double>(point.time), value(point));
  }
  return plot.svg();
}

}  // namespace

std::string traceReportPage(const std::vector<ReplayReport>& reports) {
  std::string page = kHead + tableOf(reports);
  page += plotOf(reports, "GPUs allocated", " %", 100,
                 [](const ReplayPoint& point) { return 100 * point.gpuAllocated; });
  page += plotOf(reports, "Fragmentation of free GPUs", " %", 100,
                 [](const ReplayPoint& point) { return 100 * point.fragmentation; });
  page += plotOf(reports, "Tasks that wait", "", 0,
                 [](const ReplayPoint& point) { return static_cast<double>(point.waiting); });
  page += plotOf(reports, "Preemptions so far", "", 0,
                 [](const ReplayPoint& point) { return static_cast<double>(point.preemptions); });
  return page + "</body></html>\n";
}

}  // namespace koord::koordctl
