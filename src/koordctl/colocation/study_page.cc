// The page of studyPage.

#include <fmt/format.h>

#include <algorithm>

#include "koordctl/colocation/study_report.h"
#include "koordctl/trace/line_plot.h"

namespace koord::koordctl::colocation {

namespace {

constexpr const char* kStudyColors[] = {"#57606a", "#9a6700", "#d1480f", "#1f6feb"};
constexpr const char* kStudyHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Co-location study</title><style>
body{font:14px sans-serif;margin:24px;max-width:1340px;color:#1f2328}
table{border-collapse:collapse;margin:12px 0}td,th{border:1px solid #d0d7de;padding:4px 10px;text-align:right}
td:first-child,th:first-child{text-align:left}.words td{text-align:left}
svg{margin:8px;font-size:11px}.title{font-size:14px;font-weight:bold}.grid{stroke:#d0d7de}
</style></head><body><h1>Co-location study</h1>
)";

std::string studyCell(const StudyOptions& options, const ArmResult& arm, const Figure& figure) {
  const Estimate value = estimate(valuesOf(options, arm, figure));
  return "<td>" + toText(value, figure.digits, "&plusmn;") + "</td>";
}

std::string armsTable(const StudyResult& study) {
  std::string text = "<table><tr><th>arm</th>";
  for (const Figure& figure : figures())
    text += fmt::format("<th>{}</th>", escapeMarkup(figure.title));
  text += "</tr>\n";
  for (std::size_t n = 0; n < study.arms.size(); ++n) {
    const char* color = n < std::size(kStudyColors) ? kStudyColors[n] : "#ffffff";
    text += fmt::format("<tr><td><span style=\"color:{}\">&#9632;</span> {}</td>", color,
                        escapeMarkup(study.arms[n].name));
    for (const Figure& figure : figures()) text += studyCell(study.options, study.arms[n], figure);
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

std::string sweepTable(const StudyResult& study) {
  if (study.sweep.empty()) return "";
  std::string text = "<h2>One assumption changed</h2><table><tr><th>parameter</th><th>arm</th>";
  for (const Figure& figure : figures())
    text += fmt::format("<th>{}</th>", escapeMarkup(figure.title));
  text += "</tr>\n";
  for (const SweepResult& row : study.sweep) {
    for (const ArmResult& arm : row.arms) {
      text += fmt::format("<tr><td>{} = {}</td><td>{}</td>", row.parameter, row.value,
                          escapeMarkup(arm.name));
      for (const Figure& figure : figures()) text += studyCell(study.options, arm, figure);
      text += "</tr>\n";
    }
  }
  return text + "</table>\n";
}

std::string parameterRows(const StudyResult& study) {
  std::string text =
      "<h2>Parameters</h2><table class=\"words\"><tr><th>name</th><th>value</th>"
      "<th>meaning</th><th>source</th></tr>\n";
  for (const Parameter& parameter : parameterTable())
    text += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", parameter.name,
                        study.options.parameters.*parameter.value, escapeMarkup(parameter.meaning),
                        escapeMarkup(parameter.source));
  return text + "</table>\n";
}

template <class Value>
std::string studyPlot(const StudyResult& study, std::string title, std::string unit, double highest,
                      Value value) {
  LinePlot plot{std::move(title), std::move(unit), highest, {}};
  for (std::size_t n = 0; n < std::min(study.arms.size(), std::size(kStudyColors)); ++n) {
    PlotLine& line = plot.lines.emplace_back(PlotLine{kStudyColors[n], {}});
    if (study.arms[n].bySeed.empty()) continue;
    for (const Moment& moment : study.arms[n].bySeed.front().moments)
      line.points.emplace_back(moment.seconds, value(moment));
  }
  return plot.svg();
}

}  // namespace

std::string studyPage(const StudyResult& study) {
  std::string page = kStudyHead;
  page += fmt::format(
      "<p>{} nodes, {} days, {} seeds from {}. &plusmn; is the half width of the 95 % confidence "
      "interval. Plots are of the first seed.</p>\n",
      study.options.parameters.nodes, study.options.days, study.options.seeds,
      study.options.firstSeed);
  page += armsTable(study);
  page += studyPlot(study, "CPU used", " %", 100, [](const Moment& m) { return 100 * m.cpuUsed; });
  page += studyPlot(study, "CPU used by services", " %", 100,
                    [](const Moment& m) { return 100 * m.servicesUsed; });
  page += studyPlot(study, "Batch and mid CPU offered", " %", 100,
                    [](const Moment& m) { return 100 * m.offered; });
  page += studyPlot(study, "Slowdown of requests, p99", "", 0,
                    [](const Moment& m) { return m.slowdown; });
  return page + sweepTable(study) + parameterRows(study) + "</body></html>\n";
}

}  // namespace koord::koordctl::colocation
