#include "scenario/report_html.h"

#include <fmt/format.h>

#include "base/time.h"
#include "base/yaml.h"
#include "scenario/line_diff.h"
#include "scenario/report.h"

namespace koord::scenario {
namespace {

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Scenarios</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light dark; --good: #1a7f37; --bad: #cf222e; --dim: #767676; --line: #8884; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
details { border-top: 1px solid var(--line); padding: .3rem 0; }
summary { cursor: pointer; }
.passed > summary > b { color: var(--good); } .failed > summary > b { color: var(--bad); }
.dim { color: var(--dim); }
ol { list-style: none; padding-left: 1.5rem; margin: .2rem 0; }
.bad { color: var(--bad); }
pre, table { font: 13px/1.4 ui-monospace, monospace; overflow-x: auto; margin: .4rem 0; }
table { border-collapse: collapse; display: block; }
td, th { white-space: pre; padding: 0 .8rem; text-align: left; vertical-align: top; }
td + td, th + th { border-left: 1px solid var(--line); }
tr.differs td { background: #cf222e22; }
</style></head><body>
)";

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '"') {
      result += "&quot;";
    } else {
      result += c;
    }
  }
  return result;
}

std::string timeOf(Duration duration) {
  return formatDuration(std::chrono::duration_cast<std::chrono::milliseconds>(duration));
}

std::string preformatted(std::string_view text, std::string_view cssClass = "") {
  return fmt::format("<pre class=\"{}\">{}</pre>\n", cssClass, escaped(text));
}

std::string comparison(const json::value& expected, const json::value& actual) {
  const std::string left = toYaml(expected), right = toYaml(actual);
  std::string out = "<table><tr><th>expected</th><th>actual</th></tr>\n";
  for (const auto& pair : compareLines(left, right)) {
    out += fmt::format("<tr{}><td>{}</td><td>{}</td></tr>\n",
                       pair.mark == ' ' ? "" : " class=\"differs\"", escaped(pair.left),
                       escaped(pair.right));
  }
  return out + "</table>\n";
}

std::string deviationOf(const OperationResult& operation, const Deviation& deviation) {
  std::string out = fmt::format("<div>{}</div>\n<ol>\n", escaped(deviation.object));
  for (const auto& mismatch : deviation.mismatches) {
    out += fmt::format("<li class=\"bad\"><code>{}</code> {}</li>\n", escaped(mismatch.path),
                       escaped(mismatch.message));
  }
  out += "</ol>\n";
  if (!operation.expected.is_null()) {
    out += comparison(operation.expected, deviation.actual);
  } else if (!deviation.actual.is_null()) {
    out += preformatted(toYaml(deviation.actual));
  }
  if (deviation.events.empty()) return out;
  out += "<div>Events</div>\n<ol>\n";
  for (const auto& event : deviation.events) out += "<li>" + escaped(event) + "</li>\n";
  return out + "</ol>\n";
}

std::string operationOf(const OperationResult& operation) {
  std::string out =
      fmt::format("<li{}>{} <b>{}</b> {} {} <span class=\"dim\">{}</span>\n",
                  operation.failed() ? " class=\"bad\"" : "", operation.failed() ? "✗" : "✓",
                  escaped(operation.name), escaped(operation.target),
                  escaped(operation.description), timeOf(operation.elapsed));
  if (operation.failed()) {
    out += fmt::format("<div class=\"dim\">{} {}</div>\n", escaped(operation.place),
                       escaped(operation.field));
    out += preformatted(operation.error, "bad");
    for (const auto& deviation : operation.deviations) out += deviationOf(operation, deviation);
  }
  if (!operation.output.empty()) out += preformatted(operation.output);
  return out + "</li>\n";
}

std::string blockOf(std::string_view title, const std::vector<OperationResult>& block) {
  if (block.empty()) return "";
  std::string out = title.empty() ? "" : fmt::format("<div class=\"dim\">{}</div>\n", title);
  out += "<ol>\n";
  for (const auto& operation : block) out += operationOf(operation);
  return out + "</ol>\n";
}

std::string testOf(const TestResult& result) {
  const bool skipped = result.status == TestResult::Status::Skipped;
  std::string out = fmt::format(
      "<details class=\"{}\"{}><summary><b>{}</b> {} <span class=\"dim\">{}</span></summary>\n",
      skipped           ? "skipped"
      : result.failed() ? "failed"
                        : "passed",
      result.failed() ? " open" : "",
      skipped           ? "skipped"
      : result.failed() ? "failed"
                        : "passed",
      escaped(result.name), timeOf(result.elapsed));
  if (!result.description.empty()) out += fmt::format("<p>{}</p>\n", escaped(result.description));
  out += fmt::format("<div class=\"dim\">{}</div>\n", escaped(result.file.string()));
  if (!result.error.empty()) out += preformatted(result.error, "bad");
  for (const auto& step : result.steps) {
    out += fmt::format("<div>{} <span class=\"dim\">{}</span></div>\n", escaped(step.name),
                       escaped(step.description));
    out += blockOf("", step.try_) + blockOf("catch", step.catch_) +
           blockOf("finally", step.finally) + blockOf("cleanup", step.cleanup);
  }
  return out + blockOf("cleanup", result.cleanup) + "</details>\n";
}

}  // namespace

std::string toHtml(const std::vector<TestResult>& results) {
  std::string out(kHead);
  out += fmt::format("<h1>Scenarios: {}</h1>\n", summary(results));
  std::string failed, others, folder;
  for (const auto& result : results) {
    if (result.failed()) {
      failed += testOf(result);
      continue;
    }
    // The folder above that of the test is its area.
    const std::string area = result.file.parent_path().parent_path().filename().string();
    if (area != folder) others += fmt::format("<h2>{}</h2>\n", escaped(area));
    folder = area;
    others += testOf(result);
  }
  if (!failed.empty()) out += "<h2>Failures</h2>\n" + failed;
  return out + others + "</body></html>\n";
}

}  // namespace koord::scenario
