#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "base/flags/command.h"

namespace koord::flags {

namespace {

// What a shell offers for a value of the flag; `before` is what stands before the value in its
// word.
Completion valuesOf(const Flag& flag, const std::string& before) {
  if (!flag.complete) return {{}, flag.type == "string"};
  Completion completion = flag.complete();
  for (auto& candidate : completion.candidates) candidate.word = before + candidate.word;
  return completion;
}

// The first line of a usage.
std::string firstLine(const std::string& usage) {
  return usage.substr(0, usage.find('\n'));
}

// Reads the flags and arguments of a line that is not finished.
class LineReader {
 public:
  LineReader(Command& command, std::vector<std::string> words)
      : command_(command), words_(std::move(words)) {}

  Completion read() {
    for (std::size_t i = 0; i + 1 < words_.size(); ++i) {
      const std::string& word = words_[i];
      Flag* flag = word.size() > 1 && !ended_ ? flagIn(word) : nullptr;
      if (word == "--" && !ended_) {
        ended_ = true;
      } else if (!flag) {
        if (!word.starts_with('-') || ended_) given_.push_back(word);
      } else if (value_) {
        take(*flag, *value_);
      } else if (flag->type.empty() || !flag->implied.empty()) {
        take(*flag, "true");
      } else if (i + 2 < words_.size()) {
        take(*flag, words_[++i]);
      } else {
        return valuesOf(*flag, "");  // the last word is its value
      }
    }
    const std::string& last = words_.back();
    if (!ended_ && last.starts_with('-')) {
      Flag* flag = flagIn(last);
      if (flag && value_) return valuesOf(*flag, last.substr(0, last.find('=') + 1));
      return flagNames();
    }
    if (command_.complete) return command_.complete(given_);
    return {{}, !command_.arguments.empty()};
  }

 private:
  // The flag of "--name", "--name=value", "-n" or "-nvalue". Sets value_.
  Flag* flagIn(const std::string& word) {
    value_.reset();
    if (word.size() > 2 && word.starts_with("--")) {
      const auto equals = word.find('=');
      if (equals != std::string::npos) value_ = word.substr(equals + 1);
      return command_.flags.find(word.substr(2, equals == std::string::npos ? equals : equals - 2));
    }
    if (word.size() < 2 || word[0] != '-' || word[1] == '-') return nullptr;
    if (word.size() > 2) value_ = word.substr(word[2] == '=' ? 3 : 2);
    return command_.flags.findShort(word[1]);
  }

  static void take(Flag& flag, const std::string& value) {
    // A wrong value is for the command to refuse, not for the shell.
    if (flag.set(value)) flag.given = true;
  }

  Completion flagNames() const {
    Completion completion;
    for (const Flag& flag : command_.flags.all())
      if (!flag.withoutEffect && !flag.given)
        completion.candidates.push_back({"--" + flag.name, firstLine(flag.usage)});
    completion.candidates.push_back({"--help", "Show the flags of the command"});
    return completion;
  }

  Command& command_;
  std::vector<std::string> words_;
  std::vector<std::string> given_;
  std::optional<std::string> value_;
  bool ended_ = false;
};

}  // namespace

Completion Commands::complete(const std::vector<std::string>& words) {
  if (words.empty()) return {};
  const std::string& last = words.back();
  const std::vector<std::string> before(words.begin(), words.end() - 1);
  Completion completion;
  // The next words of commands that begin with the words before.
  for (const Command& command : commands_) {
    std::istringstream stream(command.name);
    std::vector<std::string> name;
    for (std::string word; stream >> word;) name.push_back(word);
    if (name.size() <= before.size() || !std::equal(before.begin(), before.end(), name.begin()))
      continue;
    const std::string& next = name[before.size()];
    const bool whole = name.size() == before.size() + 1;
    const auto same = std::ranges::find(completion.candidates, next, &Candidate::word);
    if (same == completion.candidates.end()) {
      completion.candidates.push_back({next, whole ? command.summary : std::string()});
    } else if (whole) {
      same->summary = command.summary;
    }
  }
  if (Command* command = find(before)) {
    const auto taken = static_cast<std::ptrdiff_t>(1 + std::ranges::count(command->name, ' '));
    Completion own = LineReader(*command, {words.begin() + taken, words.end()}).read();
    completion.files = own.files;
    for (auto& candidate : own.candidates) completion.candidates.push_back(std::move(candidate));
  }
  std::erase_if(completion.candidates,
                [&](const Candidate& candidate) { return !candidate.word.starts_with(last); });
  return completion;
}

}  // namespace koord::flags
