#include "kube/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "base/flags/go_values.h"
#include "base/flags/log_flags.h"

namespace koord::kube {

namespace {

auto refused(std::string message) {
  return fail(ErrorCode::Invalid, std::move(message));
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
  std::string usage = "Feature gates, as A=true,B=false.";
  const std::string known = gates.help();
  usage += known.empty() ? "\nUpstream's gates"
                         : " This version has:\n" + known + "\nUpstream's other gates";
  usage += " are accepted without effect; the program logs those that are given.";
  flags_.custom("feature-gates", "map", usage, set);
  flags_.find("feature-gates")->text = [&gates] { return gates.text(); };
}

void CommandLine::addLogFlags() {
  flags_.group("Log");
  flags::addLogFlags(flags_, component_.verbosity, component_.logFormat, component_.logOutput,
                     rules_.thresholdAlways);
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
        "ignored arguments that are not flags: {}; a boolean flag takes its value as --flag=false",
        given));
  }
  noteFlagsWithoutEffect();
  return std::nullopt;
}

void CommandLine::noteFlagsWithoutEffect() {
  if (const auto idle = flags_.flagsWithoutEffect(); !idle.empty())
    component_.notes.push_back("flags without effect in this version: " + joined(idle));
  if (!gates_) return;
  if (const auto idle = gates_->withoutEffect(); !idle.empty())
    component_.notes.push_back("feature gates without effect in this version: " + joined(idle));
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
