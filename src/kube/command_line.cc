#include "kube/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "base/flags/go_values.h"

namespace koord::kube {

namespace {

auto refused(std::string message) {
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
  const auto number = flags::parseInteger(text, 0, 3);
  if (!number) return refused("must be INFO, WARNING, ERROR or FATAL, or a number from 0 to 3");
  threshold = static_cast<int>(*number);
  return {};
}

// "pattern=N,..." of --vmodule.
Result<> checkModules(const std::string& text) {
  const auto modules = flags::parseList(text);
  if (!modules) return fail(modules.error());
  for (const auto& item : *modules) {
    if (item.empty()) continue;
    const auto equals = item.find('=');
    const bool one = equals != item.npos && item.find('=', equals + 1) == item.npos;
    if (!one || equals == 0 || !flags::parseInteger(item.substr(equals + 1), 0, 1'000'000))
      return refused("syntax error: expect comma-separated list of filename=N");
  }
  return {};
}

// "file.go:N" of --log_backtrace_at.
Result<> checkLocation(const std::string& text) {
  if (text.empty()) return {};
  const auto colon = text.find(':');
  if (colon == text.npos || text.substr(0, colon).find('.') == text.npos ||
      !flags::parseInteger(text.substr(colon + 1), 1, 100'000'000))
    return refused("syntax error: expect file.go:234");
  return {};
}

std::string joined(const std::vector<std::string>& items) {
  return fmt::format("{}", fmt::join(items, ", "));
}

}  // namespace

CommandLine::CommandLine(Rules rules, ComponentOptions& component, std::string summary)
    : rules_(rules), component_(component), summary_(std::move(summary)), flags_(rules.dialect) {}

void CommandLine::featureGates(flags::FeatureGates& gates, std::string component) {
  gates_ = &gates;
  const std::string prefix = component.empty() ? "" : component + ":";
  const auto set = [&gates, prefix](const std::string& text) -> Result<> {
    std::string plain;
    std::string_view rest = text;
    while (!rest.empty()) {
      std::string_view item = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), item.size() + 1));
      item.remove_prefix(std::min(item.find_first_not_of(" \t"), item.size()));
      const auto colon = item.find(':');
      if (!prefix.empty() && colon != item.npos) {
        if (item.substr(0, colon + 1) != prefix)
          return refused(fmt::format("component not registered: {}", item.substr(0, colon)));
        item.remove_prefix(colon + 1);
      }
      plain += item;
      plain += ',';
    }
    return gates.set(plain);
  };
  std::string usage = "Switches features on and off, as A=true,B=false.";
  const std::string known = gates.help();
  usage +=
      known.empty() ? "\nThe gates" : " Those of this version:\n" + known + "\nThe other gates";
  usage +=
      " of the original are accepted, and change nothing; which of these were given is logged at "
      "start.";
  flags_.custom("feature-gates", "map", usage, set);
  flags_.find("feature-gates")->text = [&gates] { return gates.text(); };
}

void CommandLine::addLogFlags() {
  flags_.group("Log");
  flags_.integer("v", component_.verbosity, "Verbosity of the log").shortly('v');
  flags_.text("logging-format", component_.logFormat, "Format of the log: text or json")
      .oneOf({"text", "json"});
  flags_.custom("vmodule", "pattern=N,...", "Verbosity for some source files only", checkModules)
      .idle();
  // Every line is written at once.
  flags_.unused("log-flush-frequency", "duration", "5s", "Time between writes of the log");
  for (const char* format : {"text", "json"}) {
    flags_.unused(fmt::format("log-{}-split-stream", format), "bool", "false");
    flags_.unused(fmt::format("log-{}-info-buffer-size", format), "quantity", "0");
  }
  addKlogFlags();
}

void CommandLine::addKlogFlags() {
  log::Output& output = component_.logOutput;
  output.thresholdAlways = rules_.thresholdAlways;
  if (rules_.thresholdAlways) output.stderrThreshold = 0;
  flags_.boolean("logtostderr", output.toStderr, "Log to standard error, and to no file");
  flags_.boolean("alsologtostderr", output.alsoToStderr,
                 "Log to standard error as well as to files");
  flags_
      .custom(
          "stderrthreshold", "severity",
          "What goes to standard error, with files too: INFO, WARNING, ERROR or FATAL and above",
          [&output](const std::string& text) { return readSeverity(text, output.stderrThreshold); })
      .defaultText = rules_.thresholdAlways ? "INFO" : "ERROR";
  flags_
      .custom("legacy-stderr-threshold-behavior", "",
              "--stderrthreshold says nothing with --logtostderr",
              [&output](const std::string& text) -> Result<> {
                const auto legacy = flags::parseBool(text);
                if (!legacy) return fail(legacy.error());
                output.thresholdAlways = !*legacy;
                return {};
              })
      .defaultText = rules_.thresholdAlways ? "false" : "true";
  flags_.find("legacy-stderr-threshold-behavior")->implied = "true";
  flags_.text("log-dir", output.folder,
              "Folder for log files, one for each severity; with --logtostderr=false");
  flags_.text("log-file", output.file, "The one log file; with --logtostderr=false");
  flags_
      .integer("log-file-max-size", output.fileLimitMegabytes,
               "Size in megabytes at which --log-file begins anew; 0 = never")
      .within(0, 1'000'000'000);
  flags_.boolean("one-output", output.ownSeverityOnly,
                 "Write a message only to the file of its severity, not to those below as well");
  flags_.boolean("skip-headers", output.plain, "Log messages without time and severity");
  // Our files have no header, and our messages no source lines.
  flags_.unused("skip-log-headers", "bool", "false");
  flags_.unused("add-dir-header", "bool", "false");
  flags_.custom("log-backtrace-at", "file:N", "", checkLocation).idle();
}

std::optional<int> CommandLine::parse(int argc, const char* const* argv) {
  return parse(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
}

std::optional<int> CommandLine::parse(const std::vector<std::string>& arguments) {
  addLogFlags();
  flags_.group("Other");
  flags_.custom("version", "version", "Print the version and exit; =raw: in detail",
                [this](const std::string& text) -> Result<> {
                  if (text != "raw" && !text.starts_with('v'))
                    if (const auto on = flags::parseBool(text); !on) return fail(on.error());
                  version_ = text;
                  return {};
                });
  flags_.find("version")->implied = "true";

  if (auto parsed = flags_.parse(arguments); !parsed) return refuse(parsed.error().message);
  if (flags_.helpWanted()) {
    std::fputs(help().c_str(), stdout);
    return 0;
  }
  if (version_ == "raw") {
    std::printf("version.Info{GitVersion:\"%s\", Compiler:\"%s\"}\n", component_.version.c_str(),
                __VERSION__);
    return 0;
  }
  if (const auto on = flags::parseBool(version_); on && *on) {
    std::printf("%s %s\n", component_.name.c_str(), component_.version.c_str());
    return 0;
  }
  const auto isSomething = [](const std::string& argument) { return !argument.empty(); };
  if (std::ranges::any_of(flags_.arguments(), isSomething)) {
    const std::string given = fmt::format("[{}]", fmt::join(flags_.arguments(), " "));
    if (!rules_.takesArguments)
      return refuse(fmt::format("{} does not take any arguments, got {}",
                                flags::quoted(component_.name), given));
    component_.notes.push_back(fmt::format(
        "ignored, for they are no flags: {}; a flag that is true or false takes its value as "
        "--flag=false",
        given));
  }
  noteIdle();
  return std::nullopt;
}

void CommandLine::noteIdle() {
  if (const auto idle = flags_.givenWithoutEffect(); !idle.empty())
    component_.notes.push_back("flags that change nothing in this version: " + joined(idle));
  if (!gates_) return;
  if (const auto idle = gates_->withoutEffect(); !idle.empty())
    component_.notes.push_back("feature gates that change nothing in this version: " +
                               joined(idle));
}

int CommandLine::refuse(const std::string& why) const {
  std::fprintf(stderr, "Error: %s\nSee '%s --help' for usage.\n", why.c_str(),
               component_.name.c_str());
  return rules_.badUsage;
}

std::string CommandLine::help() const {
  return fmt::format("{}\n\nUsage:\n  {} [flags]\n{}", summary_, component_.name,
                     flags::describe(flags_));
}

}  // namespace koord::kube
