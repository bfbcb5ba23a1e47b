#pragma once

// FlagSet: the command line of a program, by the rules of Go's pflag and flag packages, which the
// arguments in manifests are written for.
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
//   Of a flag that is repeated the last value counts; lists and maps grow, and their first value
//     takes the place of the default.
//   An underscore in a name equals a dash.
// An error says which flag and value it is about, in the words of pflag.
//
// Values are variables of the caller that have to outlive the set; what they hold when they are
// declared is the default. One thread.

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

struct Flag {
  std::string name;  // with dashes
  char shorthand = '\0';
  std::string type;   // for people: "string", "int", ...; "" = a bool
  std::string usage;  // for people; may have several lines
  std::string group;
  std::string defaultText;
  std::string implied;         // what the bare flag means; "" = it needs a value
  bool withoutEffect = false;  // nothing here depends on it
  bool given = false;
  std::function<Result<>(const std::string& text)> set;
  std::function<std::string()> text;  // the value now

  Flag& shortName(char letter) {
    shorthand = letter;
    return *this;
  }
  // After the value was taken.
  Flag& check(std::function<Result<>()> checking);
  Flag& within(std::int64_t least, std::int64_t greatest);
  Flag& oneOf(std::vector<std::string> values);
  // Accepted for the sake of existing command lines.
  Flag& idle() {
    withoutEffect = true;
    return *this;
  }
};

// A flag that is accepted for command lines written for another version, and changes nothing.
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

  // The heading for the flags declared from here on.
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
  // Whose values only `set` understands.
  Flag& custom(std::string name, std::string type, std::string usage,
               std::function<Result<>(const std::string&)> set);
  // Accepted, checked for its type, and remembered for nothing but --help. Types: "string", "bool",
  // "int", "uint", "float", "duration", "strings", "map".
  Flag& unused(std::string name, std::string_view type, std::string defaultText,
               std::string usage = "");

  // argv[1] and on. Stops at the first error.
  Result<> parse(const std::vector<std::string>& arguments);
  bool helpWanted() const { return helpWanted_; }
  // The arguments that are not flags.
  const std::vector<std::string>& arguments() const { return arguments_; }

  bool given(std::string_view name) const;
  // "--name" of the flags that were given and change nothing.
  std::vector<std::string> flagsWithoutEffect() const;
  // Names and values of all flags, in the order of declaration.
  std::vector<std::pair<std::string, std::string>> values() const;
  const std::deque<Flag>& all() const { return flags_; }
  Flag* find(std::string_view name);

 private:
  using Rest = std::vector<std::string>::const_iterator;

  Flag& declare(std::string name, std::string type, std::string usage);
  Flag& wholeNumber(std::string name, std::string usage, std::int64_t least, std::int64_t greatest,
                    std::function<void(std::int64_t)> take);
  Flag* findShort(char letter);
  // Each takes the argument before `next`, and that one too when it is the value.
  Result<> parseLong(const std::string& argument, std::string_view name, Rest& next, Rest end);
  Result<> parseShort(const std::string& argument, Rest& next, Rest end);
  Result<> assign(Flag& flag, const std::string& value);

  Dialect dialect_;
  std::string group_;
  std::deque<Flag> flags_;  // their addresses stay
  std::vector<std::string> arguments_;
  bool helpWanted_ = false;
};

// All flags in their groups, as for --help; lines of up to 100 columns.
std::string describe(const FlagSet& set);

}  // namespace koord::flags
