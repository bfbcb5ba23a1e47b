#include "scenario/report.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/time.h"
#include "base/yaml.h"
#include "scenario/line_diff.h"

namespace koord::scenario {
namespace {

constexpr std::string_view kRed = "31", kGreen = "32", kYellow = "33", kDim = "2";

std::string coloured(std::string_view text, std::string_view colour, const ReportOptions& options) {
  return options.colour ? fmt::format("\x1b[{}m{}\x1b[0m", colour, text) : std::string(text);
}

std::string indented(std::string_view text, std::size_t by) {
  std::string result;
  for (const auto line : linesOf(text)) result += std::string(by, ' ') + std::string(line) + "\n";
  return result;
}

std::string secondsOf(Duration duration) {
  return formatDuration(std::chrono::duration_cast<std::chrono::milliseconds>(duration));
}

void writeDeviation(std::string& out, const OperationResult& operation, const Deviation& deviation,
                    const ReportOptions& options) {
  constexpr std::size_t kIndent = 10;
  if (!deviation.object.empty()) out += indented(deviation.object, kIndent);
  for (const auto& mismatch : deviation.mismatches) {
    out += indented(
        fmt::format("* {}{}{}", mismatch.path, mismatch.path.empty() ? "" : ": ", mismatch.message),
        kIndent);
  }
  if (!operation.expected.is_null()) {
    out += "\n" + indented(sideBySide("expected", toYaml(operation.expected), "actual",
                                      toYaml(deviation.actual), options.width - kIndent),
                           kIndent);
  } else if (!deviation.actual.is_null()) {
    out += indented(toYaml(deviation.actual), kIndent);
  }
  if (!deviation.events.empty()) out += indented("events:", kIndent);
  for (const auto& event : deviation.events) out += indented("- " + event, kIndent);
}

void writeOperation(std::string& out, const OperationResult& operation,
                    const ReportOptions& options) {
  const std::string mark =
      operation.failed() ? coloured("FAIL", kRed, options) : coloured("ok  ", kGreen, options);
  out += fmt::format("      {} {:<8} {}", mark, operation.name, operation.target);
  if (!operation.description.empty()) out += fmt::format(" \"{}\"", operation.description);
  out += coloured(fmt::format("  {}", secondsOf(operation.elapsed)), kDim, options) + "\n";
  if (operation.failed()) {
    if (!operation.field.empty()) {
      out += indented(fmt::format("at {}{}{}", operation.place, operation.place.empty() ? "" : " ",
                                  operation.field),
                      10);
    }
    out += indented(operation.error, 10);
    for (const auto& deviation : operation.deviations)
      writeDeviation(out, operation, deviation, options);
  }
  if (!operation.output.empty()) out += indented(operation.output, 10);
}

void writeBlock(std::string& out, std::string_view title, const std::vector<OperationResult>& block,
                const ReportOptions& options) {
  if (block.empty()) return;
  if (!title.empty()) out += fmt::format("    {}\n", title);
  for (const auto& operation : block) writeOperation(out, operation, options);
}

void writeDetails(std::string& out, const TestResult& result, const ReportOptions& options) {
  out += fmt::format("    {}{}\n", result.file.string(),
                     result.namespace_.empty() ? "" : ", namespace " + result.namespace_);
  if (!result.error.empty()) out += indented(result.error, 4);
  for (const auto& step : result.steps) {
    out += fmt::format("    {}{}\n", step.name,
                       step.description.empty() ? "" : fmt::format(": {}", step.description));
    writeBlock(out, "", step.try_, options);
    writeBlock(out, "catch", step.catch_, options);
    writeBlock(out, "finally", step.finally, options);
    writeBlock(out, "cleanup", step.cleanup, options);
  }
  writeBlock(out, "cleanup", result.cleanup, options);
}

std::string xmlText(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        // XML cannot represent other control characters.
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') result += c;
    }
  }
  return result;
}

// The first failure, in one line.
std::string firstError(const TestResult& result) {
  if (!result.error.empty()) return result.error;
  std::vector<const OperationResult*> all;
  for (const auto& step : result.steps) {
    for (const auto* block : {&step.try_, &step.catch_, &step.finally, &step.cleanup}) {
      for (const auto& operation : *block) all.push_back(&operation);
    }
  }
  for (const auto& operation : result.cleanup) all.push_back(&operation);
  for (const auto* operation : all) {
    if (operation->failed()) {
      return fmt::format("{} {}: {}", operation->name, operation->target, operation->error);
    }
  }
  return "";
}

double inSeconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

std::string sideBySide(std::string_view leftTitle, std::string_view left,
                       std::string_view rightTitle, std::string_view right, std::size_t width) {
  const auto pairs = compareLines(left, right);
  std::size_t longest = leftTitle.size();
  for (const auto& pair : pairs) longest = std::max(longest, pair.left.size());
  const std::size_t column = std::min(longest, width / 2);
  std::string out;
  const auto row = [&](std::string_view l, char mark, std::string_view r) {
    std::string line = fmt::format("{:<{}} {} {}", l.substr(0, column), column, mark, r);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  row(leftTitle, ' ', rightTitle);
  for (const auto& pair : pairs) row(pair.left, pair.mark, pair.right);
  return out;
}

std::string describe(const TestResult& result, const ReportOptions& options) {
  std::string out;
  switch (result.status) {
    case TestResult::Status::Passed:
      out = coloured("pass", kGreen, options);
      break;
    case TestResult::Status::Failed:
      out = coloured("FAIL", kRed, options);
      break;
    case TestResult::Status::Skipped:
      return fmt::format("{} {}\n", coloured("skip", kYellow, options), result.name);
  }
  out += fmt::format(" {} ({})\n", result.name, secondsOf(result.elapsed));
  if (result.failed() || options.verbose) writeDetails(out, result, options);
  return out;
}

std::string summary(const std::vector<TestResult>& results) {
  const auto count = [&](TestResult::Status status) {
    return std::count_if(results.begin(), results.end(),
                         [&](const auto& r) { return r.status == status; });
  };
  std::string text = fmt::format("{} passed, {} failed", count(TestResult::Status::Passed),
                                 count(TestResult::Status::Failed));
  if (const auto skipped = count(TestResult::Status::Skipped))
    text += fmt::format(", {} skipped", skipped);
  return text;
}

std::string toJUnit(const std::vector<TestResult>& results) {
  std::size_t failures = 0, skipped = 0;
  Duration total{};
  for (const auto& result : results) {
    failures += result.failed();
    skipped += result.status == TestResult::Status::Skipped;
    total += result.elapsed;
  }
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
      "<testsuite name=\"scenarios\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" "
      "time=\"{:.3f}\">\n",
      results.size(), failures, skipped, inSeconds(total));
  for (const auto& result : results) {
    out += fmt::format("<testcase classname=\"{}\" name=\"{}\" file=\"{}\" time=\"{:.3f}\"",
                       xmlText(result.file.parent_path().string()), xmlText(result.name),
                       xmlText(result.file.string()), inSeconds(result.elapsed));
    if (result.failed()) {
      std::string details;
      writeDetails(details, result, {});
      out += fmt::format("><failure message=\"{}\">{}</failure></testcase>\n",
                         xmlText(firstError(result)), xmlText(details));
    } else if (result.status == TestResult::Status::Skipped) {
      out += "><skipped/></testcase>\n";
    } else {
      out += "/>\n";
    }
  }
  return out + "</testsuite>\n</testsuites>\n";
}

}  // namespace koord::scenario
