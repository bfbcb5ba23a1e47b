#pragma once

// FlagSet: the command line of a program, by the rules of Go's pflag and flag packages, for which
// the arguments in manifests are written.
//
//   flags::FlagSet set(flags::Dialect::Pflag);
//   set.group("Serving");
//   set.integer("port", port, "Port of the HTTP endpoints; 0 = off").within(0, 65535);
//   set.boolean("leader-elect", elect, "Work only while holding the lease");
//   auto parsed = set.parse({"--port=10251", "--leader-elect"});
//
// Rules:
//   --flag=value, --flag value, --flag= (an empty value); --bool, --bool=false. A bool takes no
//     argument that follows: "--bool false" is the flag and an argument.
//   -v=4, -v 4, -v4, -fd (two bools) for flags with a shorthand; "--" ends the flags.
//   The last value of a repeated flag counts; lists and maps grow, and their first value replaces
//     the default.
//   An underscore in a name equals a dash.
// An error names the flag and the value, in the words of pflag.
//
// Values are variables of the caller that must outlive the set; their values at declaration are the
// defaults. One thread.

#include <concepts>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "base/result.h"

namespace koord::flags {

enum class Dialect {
  Pflag,         // flags and arguments may be mixed
  PflagGoNames,  // the same, and long names take a single dash, too
  Go,            // long names with one or two dashes; the first argument ends the flags
};

// What a shell may offer in place of a word that is not finished.
struct Candidate {
  std::string word;
  std::string summary;  // "" = none
};
struct Completion {
  std::vector<Candidate> candidates;
  bool files = false;  // and the names of files
};

struct Flag {
  std::string name;  // with dashes
  char shorthand = '\0';
  std::string type;   // for --help: "string", "int", ...; "" = a bool
  std::string usage;  // for --help; may have several lines
  std::string group;
  std::string defaultText;
  std::string implied;         // the value of the bare flag; "" = the flag requires a value
  bool withoutEffect = false;  // the program ignores it
  bool given = false;
  std::function<Result<>(const std::string& text)> set;
  std::function<std::string()> text;  // the current value
  // The values that a shell offers; null = names of files for a string, else nothing.
  std::function<Completion()> complete;

  Flag& shortName(char letter) {
    shorthand = letter;
    return *this;
  }
  // Checks the value after it was parsed.
  Flag& check(std::function<Result<>()> checking);
  Flag& within(std::int64_t least, std::int64_t greatest);
  Flag& oneOf(std::vector<std::string> values);
  Flag& completeBy(std::function<Completion()> candidates) {
    complete = std::move(candidates);
    return *this;
  }
  // Accepts the flag for the sake of existing command lines; the program ignores it.
  Flag& withNoEffect() {
    withoutEffect = true;
    return *this;
  }
};

// A flag of command lines for another version: accepted, without effect.
struct UnusedFlag {
  const char* name;
  const char* type;  // as FlagSet::unused takes it
  const char* byDefault;
};

class FlagSet {
 public:
  explicit FlagSet(Dialect dialect) : dialect_(dialect) {}
  FlagSet(const FlagSet&) = delete;
  FlagSet& operator=(const FlagSet&) = delete;

  // The heading for the flags that are declared after this call.
  void group(std::string title) { group_ = std::move(title); }

  Flag& text(std::string name, std::string& value, std::string usage);
  Flag& boolean(std::string name, bool& value, std::string usage);
  Flag& real(std::string name, double& value, std::string usage);
  Flag& duration(std::string name, Duration& value, std::string usage);
  // A whole number of seconds.
  Flag& seconds(std::string name, Duration& value, std::string usage);
  Flag& list(std::string name, std::vector<std::string>& value, std::string usage);
  Flag& map(std::string name, std::map<std::string, std::string>& value, std::string usage);
  template <std::integral Number>
  Flag& integer(std::string name, Number& value, std::string usage) {
    Flag& flag = wholeNumber(
        std::move(name), std::move(usage), std::numeric_limits<Number>::min(),
        static_cast<std::int64_t>(std::min<std::uint64_t>(
            std::numeric_limits<Number>::max(), std::numeric_limits<std::int64_t>::max())),
        [&value](std::int64_t number) { value = static_cast<Number>(number); });
    flag.text = [&value] { return std::to_string(value); };
    flag.defaultText = flag.text();
    return flag;
  }
  // A flag whose values only `set` can parse.
  Flag& custom(std::string name, std::string type, std::string usage,
               std::function<Result<>(const std::string&)> set);
  // Accepts a flag, checks its type, and keeps it for --help only. Types: "string", "bool", "int",
  // "uint", "float", "duration", "strings", "map".
  Flag& unused(std::string name, std::string_view type, std::string defaultText,
               std::string usage = "");

  // Parses argv[1] and the following arguments. Stops at the first error.
  Result<> parse(const std::vector<std::string>& arguments);
  bool helpWanted() const { return helpWanted_; }
  // The arguments that are not flags.
  const std::vector<std::string>& arguments() const { return arguments_; }

  bool given(std::string_view name) const;
  // "--name" of the given flags that have no effect.
  std::vector<std::string> flagsWithoutEffect() const;
  // Names and values of all flags, in the order of declaration.
  std::vector<std::pair<std::string, std::string>> values() const;
  const std::deque<Flag>& all() const { return flags_; }
  Flag* find(std::string_view name);
  Flag* findShort(char letter);

 private:
  using Rest = std::vector<std::string>::const_iterator;

  Flag& declare(std::string name, std::string type, std::string usage);
  Flag& wholeNumber(std::string name, std::string usage, std::int64_t least, std::int64_t greatest,
                    std::function<void(std::int64_t)> take);
  // Each consumes the argument before `next`, and `next` too if it is the value.
  Result<> parseLong(const std::string& argument, std::string_view name, Rest& next, Rest end);
  Result<> parseShort(const std::string& argument, Rest& next, Rest end);
  Result<> assign(Flag& flag, const std::string& value);

  Dialect dialect_;
  std::string group_;
  std::deque<Flag> flags_;  // a deque, so that their addresses stay valid
  std::vector<std::string> arguments_;
  bool helpWanted_ = false;
};

// All flags in their groups, as for --help; lines of up to 100 columns.
std::string describe(const FlagSet& set);

}  // namespace koord::flags
