#include "base/flags/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "base/flags/go_values.h"
#include "base/flags/nearest.h"

namespace koord::flags {

namespace {

std::vector<std::string> wordsOf(const std::string& name) {
  std::vector<std::string> words;
  std::istringstream stream(name);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

bool beginsWith(const std::vector<std::string>& arguments, const std::vector<std::string>& words) {
  return arguments.size() >= words.size() &&
         std::equal(words.begin(), words.end(), arguments.begin());
}

bool isHelp(const std::string& argument) {
  return argument == "--help" || argument == "-h" || argument == "help";
}

}  // namespace

Command& Commands::add(std::string name, std::string summary) {
  Command& command = commands_.emplace_back();
  command.name = std::move(name);
  command.summary = std::move(summary);
  return command;
}

int Commands::refuse(const std::string& why, const std::string& command) const {
  std::fprintf(stderr, "Error: %s\nSee '%s%s%s --help' for usage.\n", why.c_str(), program_.c_str(),
               command.empty() ? "" : " ", command.c_str());
  return 2;
}

Command* Commands::find(const std::vector<std::string>& arguments) {
  // "doctor node" is a command of its own beside "doctor".
  Command* meant = nullptr;
  for (Command& command : commands_)
    if (beginsWith(arguments, wordsOf(command.name)) &&
        (!meant || command.name.size() > meant->name.size()))
      meant = &command;
  return meant;
}

// The command that the wrong word may stand for, as `; did you mean "up"?`; "" if none is near.
std::string Commands::suggestion(const std::string& wrong, const std::string& prefix) const {
  std::vector<std::string> names;
  for (const Command& command : commands_) {
    const auto words = wordsOf(command.name);
    if (prefix.empty()) names.push_back(words[0]);
    if (!prefix.empty() && words.size() > 1 && words[0] == prefix) names.push_back(words[1]);
  }
  const auto near = nearestName(wrong, names);
  return near.empty() ? std::string() : fmt::format("; did you mean {}?", quoted(near));
}

int Commands::run(const std::vector<std::string>& arguments) {
  if (Command* meant = find(arguments)) {
    const auto words = static_cast<std::ptrdiff_t>(wordsOf(meant->name).size());
    return runOne(*meant, {arguments.begin() + words, arguments.end()});
  }
  if (arguments.size() == 1 && arguments[0] == "--version") return run({"version"});
  // Words that several commands begin with.
  std::string prefix;
  std::size_t taken = 0;
  for (const Command& command : commands_) {
    const auto words = wordsOf(command.name);
    if (words.size() < 2 || arguments.empty() || words[0] != arguments[0]) continue;
    prefix = words[0];
    taken = 1;
  }
  if (arguments.size() > taken && isHelp(arguments[taken])) {
    std::fputs(help(prefix).c_str(), stdout);
    return 0;
  }
  if (arguments.size() == taken) return refuse("which command?", prefix);
  const std::string& wrong = arguments[taken];
  return refuse(wrong.starts_with('-')
                    ? "unknown flag: " + wrong
                    : fmt::format("unknown command {}{}", quoted(wrong), suggestion(wrong, prefix)),
                prefix);
}

int Commands::runOne(Command& command, std::vector<std::string> arguments) const {
  if (auto parsed = command.flags.parse(arguments); !parsed) {
    constexpr std::string_view kUnknown = "unknown flag: --";
    std::string why = parsed.error().message;
    if (why.starts_with(kUnknown)) {
      std::vector<std::string> names;
      for (const Flag& flag : command.flags.all()) names.push_back(flag.name);
      const auto near = nearestName(why.substr(kUnknown.size()), names);
      if (!near.empty()) why += fmt::format("; did you mean --{}?", near);
    }
    return refuse(why, command.name);
  }
  if (command.flags.helpWanted()) {
    std::string text =
        fmt::format("{}\n\nUsage:\n  {} {} [FLAGS] {}\n{}", command.summary, program_, command.name,
                    command.arguments, describe(command.flags));
    if (!command.details.empty()) text += "\n" + command.details + "\n";
    std::fputs(text.c_str(), stdout);
    return 0;
  }
  if (command.arguments.empty() && !command.flags.arguments().empty())
    return refuse(fmt::format("{} {} does not take arguments, got [{}]", program_, command.name,
                              fmt::join(command.flags.arguments(), " ")),
                  command.name);
  return command.run(command.flags.arguments());
}

std::string Commands::help(const std::string& prefix) const {
  std::string text = fmt::format("{}\n\nUsage:\n  {}{}{} COMMAND [FLAGS]\n\nCommands:\n", summary_,
                                 program_, prefix.empty() ? "" : " ", prefix);
  std::size_t width = 12;
  for (const Command& command : commands_)
    if (command.name.starts_with(prefix)) width = std::max(width, command.name.size());
  for (const Command& command : commands_)
    if (command.name.starts_with(prefix))
      text += fmt::format("  {:<{}}{}\n", command.name, width + 2, command.summary);
  return text + fmt::format("\n{} COMMAND --help has the details of a command.\n", program_);
}

}  // namespace koord::flags
