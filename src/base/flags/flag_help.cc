#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/flags/flag_set.h"
#include "base/flags/go_values.h"

namespace koord::flags {

namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kColumn = 34;  // where the text begins; longer flags have a line of their own

// The words of a usage, wrapped to the width that is left beside the flags.
std::vector<std::string> wrapped(const std::string& usage) {
  std::vector<std::string> lines;
  std::istringstream paragraphs(usage);
  for (std::string paragraph; std::getline(paragraphs, paragraph);) {
    std::string line;
    std::istringstream words(paragraph);
    for (std::string word; words >> word;) {
      if (!line.empty() && line.size() + 1 + word.size() > kWidth - kColumn)
        lines.push_back(std::exchange(line, ""));
      line += (line.empty() ? "" : " ") + word;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string describeOne(const Flag& flag) {
  std::string head = flag.shorthand == '\0' ? "      --" + flag.name
                                            : fmt::format("  -{}, --{}", flag.shorthand, flag.name);
  if (!flag.type.empty()) head += " " + flag.type;
  std::string usage = flag.usage;
  // As pflag: what is empty, zero or off needs no words.
  const std::string& value = flag.defaultText;
  const bool silent =
      value.empty() || value == "false" || value == "0" || value == "0s" || value == "[]";
  if (!silent)
    usage += fmt::format("{}(default {})", usage.empty() ? "" : " ",
                         flag.type == "string" ? quoted(value) : value);
  const auto lines = wrapped(usage);
  if (lines.empty()) return head + "\n";
  std::string text = head;
  std::size_t first = 0;
  if (head.size() + 2 <= kColumn) {
    text += std::string(kColumn - head.size(), ' ') + lines[0];
    first = 1;
  }
  for (std::size_t i = first; i < lines.size(); ++i)
    text += "\n" + std::string(kColumn, ' ') + lines[i];
  return text + "\n";
}

}  // namespace

std::string describe(const FlagSet& set) {
  std::vector<std::string> groups;
  for (const Flag& flag : set.all())
    if (!flag.withoutEffect && std::ranges::find(groups, flag.group) == groups.end())
      groups.push_back(flag.group);
  std::string text;
  for (const auto& group : groups) {
    text += fmt::format("\n{}:\n", group.empty() ? "Flags" : group);
    for (const Flag& flag : set.all())
      if (flag.group == group && !flag.withoutEffect) text += describeOne(flag);
  }
  std::string unused;
  for (const Flag& flag : set.all())
    if (flag.withoutEffect) unused += describeOne(flag);
  if (!unused.empty())
    text += "\nAccepted for compatibility, without effect in this version:\n" + unused;
  return text;
}

}  // namespace koord::flags
