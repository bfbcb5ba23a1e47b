#include "base/flags/log_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/flags/go_values.h"

namespace koord::flags {
namespace {

auto notUnderstood(std::string message) {
  return fail(ErrorCode::Invalid, std::move(message));
}

// klog's names of severities, or their numbers.
Result<> readSeverity(const std::string& text, int& threshold) {
  std::string name = text;
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  int severity = 0;
  for (const char* known : {"INFO", "WARNING", "ERROR", "FATAL"}) {
    if (name == known) {
      threshold = severity;
      return {};
    }
    ++severity;
  }
  const auto number = parseInteger(text, 0, 3);
  if (!number)
    return notUnderstood("must be INFO, WARNING, ERROR or FATAL, or a number from 0 to 3");
  threshold = static_cast<int>(*number);
  return {};
}

// "pattern=N,..." of --vmodule.
Result<> checkModules(const std::string& text) {
  const auto modules = parseList(text);
  if (!modules) return fail(modules.error());
  for (const auto& item : *modules) {
    if (item.empty()) continue;
    const auto equals = item.find('=');
    const bool one = equals != item.npos && item.find('=', equals + 1) == item.npos;
    if (!one || equals == 0 || !parseInteger(item.substr(equals + 1), 0, 1'000'000))
      return notUnderstood("syntax error: expect comma-separated list of filename=N");
  }
  return {};
}

// "file.go:N" of --log_backtrace_at.
Result<> checkLocation(const std::string& text) {
  if (text.empty()) return {};
  const auto colon = text.find(':');
  if (colon == text.npos || text.substr(0, colon).find('.') == text.npos ||
      !parseInteger(text.substr(colon + 1), 1, 100'000'000))
    return notUnderstood("syntax error: expect file.go:234");
  return {};
}

void addKlogFlags(FlagSet& set, log::Output& output, bool thresholdAlways) {
  output.thresholdAlways = thresholdAlways;
  if (thresholdAlways) output.stderrThreshold = 0;
  set.boolean("logtostderr", output.toStderr, "Log to standard error instead of files");
  set.boolean("alsologtostderr", output.alsoToStderr, "Log to standard error as well as to files");
  set.custom(
         "stderrthreshold", "severity",
         "Severity from which messages also go to standard error when files are written: INFO, "
         "WARNING, ERROR or FATAL",
         [&output](const std::string& text) { return readSeverity(text, output.stderrThreshold); })
      .defaultText = thresholdAlways ? "INFO" : "ERROR";
  set.custom("legacy-stderr-threshold-behavior", "",
             "--stderrthreshold has no effect with --logtostderr",
             [&output](const std::string& text) -> Result<> {
               const auto legacy = parseBool(text);
               if (!legacy) return fail(legacy.error());
               output.thresholdAlways = !*legacy;
               return {};
             })
      .defaultText = thresholdAlways ? "false" : "true";
  set.find("legacy-stderr-threshold-behavior")->implied = "true";
  set.text("log-dir", output.folder,
           "Folder for log files, one for each severity; with --logtostderr=false");
  set.text("log-file", output.file, "Single log file; with --logtostderr=false");
  set.integer("log-file-max-size", output.fileLimitMegabytes,
              "Size in megabytes at which --log-file is truncated; 0 = never")
      .within(0, 1'000'000'000);
  set.boolean(
      "one-output", output.ownSeverityOnly,
      "Write a message only to the file of its severity, not to the files of lower severities");
  set.boolean("skip-headers", output.plain, "Log messages without time and severity");
  // Our files have no header, and our messages no source lines.
  set.unused("skip-log-headers", "bool", "false");
  set.unused("add-dir-header", "bool", "false");
  set.custom("log-backtrace-at", "file:N", "", checkLocation).withNoEffect();
}

}  // namespace

void addLogFlags(FlagSet& set, int& verbosity, std::string& format, log::Output& output,
                 bool thresholdAlways) {
  set.integer("v", verbosity, "Verbosity of the log").shortName('v');
  set.text("logging-format", format, "Format of the log: text or json").oneOf({"text", "json"});
  set.custom("vmodule", "pattern=N,...", "Verbosity of single source files", checkModules)
      .withNoEffect();
  // Every line is written at once.
  set.unused("log-flush-frequency", "duration", "5s", "Interval between flushes of the log");
  for (const char* name : {"text", "json"}) {
    set.unused(fmt::format("log-{}-split-stream", name), "bool", "false");
    set.unused(fmt::format("log-{}-info-buffer-size", name), "quantity", "0");
  }
  addKlogFlags(set, output, thresholdAlways);
}

}  // namespace koord::flags
