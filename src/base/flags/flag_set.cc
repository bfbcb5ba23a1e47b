#include "base/flags/flag_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/flags/go_values.h"
#include "base/time.h"

namespace koord::flags {

namespace {

auto refused(std::string message) {
  return fail(ErrorCode::Invalid, std::move(message));
}

std::string normalized(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, '_', '-');
  return out;
}

template <class T>
Result<> assignParsed(Result<T> parsed, auto&& take) {
  if (!parsed) return fail(std::move(parsed.error()));
  take(*std::move(parsed));
  return {};
}

std::string boolText(bool value) {
  return value ? "true" : "false";
}

// Whether the text is a value of that type of an unused flag.
Result<> checkType(std::string_view type, const std::string& text) {
  const auto drop = [](auto&&) {};
  constexpr auto kGreatest = std::numeric_limits<std::int64_t>::max();
  if (type == "bool") return assignParsed(parseBool(text), drop);
  if (type == "int")
    return assignParsed(parseInteger(text, std::numeric_limits<std::int64_t>::min(), kGreatest),
                        drop);
  if (type == "uint") return assignParsed(parseInteger(text, 0, kGreatest), drop);
  if (type == "float") return assignParsed(parseReal(text), drop);
  if (type == "duration") return assignParsed(parseTimeSpan(text), drop);
  if (type == "strings") return assignParsed(parseList(text), drop);
  if (type == "map") return assignParsed(parseMap(text), drop);
  return {};
}

}  // namespace

Flag& Flag::check(std::function<Result<>()> checking) {
  set = [set = std::move(set), checking = std::move(checking)](const std::string& text) {
    auto result = set(text);
    return result ? checking() : result;
  };
  return *this;
}

Flag& Flag::within(std::int64_t least, std::int64_t greatest) {
  return check([this, least, greatest]() -> Result<> {
    const auto value = parseInteger(text(), least, greatest);
    if (value) return {};
    return refused(fmt::format("must be from {} to {}", least, greatest));
  });
}

Flag& Flag::oneOf(std::vector<std::string> values) {
  complete = [values] {
    Completion completion;
    for (const auto& value : values) completion.candidates.push_back({value, ""});
    return completion;
  };
  return check([this, values = std::move(values)]() -> Result<> {
    if (std::ranges::find(values, text()) != values.end()) return {};
    return refused(fmt::format("must be one of: {}", fmt::join(values, ", ")));
  });
}

Flag& FlagSet::declare(std::string name, std::string type, std::string usage) {
  Flag& flag = flags_.emplace_back();
  flag.name = std::move(name);
  flag.type = std::move(type);
  flag.usage = std::move(usage);
  flag.group = group_;
  return flag;
}

Flag& FlagSet::text(std::string name, std::string& value, std::string usage) {
  Flag& flag = declare(std::move(name), "string", std::move(usage));
  flag.set = [&value](const std::string& text) -> Result<> {
    value = text;
    return {};
  };
  flag.text = [&value] { return value; };
  flag.defaultText = value;
  return flag;
}

Flag& FlagSet::boolean(std::string name, bool& value, std::string usage) {
  Flag& flag = declare(std::move(name), "", std::move(usage));
  flag.implied = "true";
  flag.set = [&value](const std::string& text) {
    return assignParsed(parseBool(text), [&](bool parsed) { value = parsed; });
  };
  flag.text = [&value] { return boolText(value); };
  flag.defaultText = boolText(value);
  return flag;
}

Flag& FlagSet::real(std::string name, double& value, std::string usage) {
  Flag& flag = declare(std::move(name), "float", std::move(usage));
  flag.set = [&value](const std::string& text) {
    return assignParsed(parseReal(text), [&](double parsed) { value = parsed; });
  };
  flag.text = [&value] { return fmt::format("{}", value); };
  flag.defaultText = flag.text();
  return flag;
}

Flag& FlagSet::duration(std::string name, Duration& value, std::string usage) {
  Flag& flag = declare(std::move(name), "duration", std::move(usage));
  flag.set = [&value](const std::string& text) {
    return assignParsed(parseTimeSpan(text), [&](Duration parsed) { value = parsed; });
  };
  flag.text = [&value] { return formatDuration(value); };
  flag.defaultText = flag.text();
  return flag;
}

Flag& FlagSet::seconds(std::string name, Duration& value, std::string usage) {
  // More than a century is a mistake.
  constexpr std::int64_t kGreatest = 4'000'000'000;
  Flag& flag = wholeNumber(std::move(name), std::move(usage), -kGreatest, kGreatest,
                           [&value](std::int64_t number) { value = std::chrono::seconds(number); });
  flag.text = [&value] {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(value).count());
  };
  flag.defaultText = flag.text();
  return flag;
}

Flag& FlagSet::list(std::string name, std::vector<std::string>& value, std::string usage) {
  Flag& flag = declare(std::move(name), "strings", std::move(usage));
  flag.set = [&value, first = true](const std::string& text) mutable -> Result<> {
    auto parsed = parseList(text);
    if (!parsed) return fail(std::move(parsed.error()));
    if (std::exchange(first, false)) value.clear();
    std::ranges::move(*parsed, std::back_inserter(value));
    return {};
  };
  flag.text = [&value] { return fmt::format("[{}]", fmt::join(value, ",")); };
  flag.defaultText = flag.text();
  return flag;
}

Flag& FlagSet::map(std::string name, std::map<std::string, std::string>& value, std::string usage) {
  Flag& flag = declare(std::move(name), "map", std::move(usage));
  flag.set = [&value, first = true](const std::string& text) mutable -> Result<> {
    auto parsed = parseMap(text);
    if (!parsed) return fail(std::move(parsed.error()));
    if (std::exchange(first, false)) value.clear();
    for (auto& [key, item] : *parsed) value[key] = std::move(item);
    return {};
  };
  flag.text = [&value] {
    std::string text;
    for (const auto& [key, item] : value)
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, item);
    return text;
  };
  flag.defaultText = flag.text();
  return flag;
}

Flag& FlagSet::wholeNumber(std::string name, std::string usage, std::int64_t least,
                           std::int64_t greatest, std::function<void(std::int64_t)> take) {
  Flag& flag = declare(std::move(name), "int", std::move(usage));
  flag.set = [least, greatest, take = std::move(take)](const std::string& text) {
    return assignParsed(parseInteger(text, least, greatest), take);
  };
  return flag;
}

Flag& FlagSet::custom(std::string name, std::string type, std::string usage,
                      std::function<Result<>(const std::string&)> set) {
  Flag& flag = declare(std::move(name), std::move(type), std::move(usage));
  Flag* const self = &flag;  // the deque keeps its place
  auto said = std::make_shared<std::string>();
  flag.set = [set = std::move(set), said](const std::string& text) {
    auto result = set(text);
    if (result) *said = text;
    return result;
  };
  flag.text = [self, said] { return self->given ? *said : self->defaultText; };
  return flag;
}

Flag& FlagSet::unused(std::string name, std::string_view type, std::string defaultText,
                      std::string usage) {
  Flag& flag =
      custom(std::move(name), type == "bool" ? "" : std::string(type), std::move(usage),
             [type = std::string(type)](const std::string& text) { return checkType(type, text); });
  if (type == "bool") flag.implied = "true";
  flag.defaultText = std::move(defaultText);
  return flag.withNoEffect();
}

Flag* FlagSet::find(std::string_view name) {
  const std::string wanted = normalized(name);
  const auto found = std::ranges::find(flags_, wanted, &Flag::name);
  return found == flags_.end() ? nullptr : &*found;
}

Flag* FlagSet::findShort(char letter) {
  const auto found = std::ranges::find(flags_, letter, &Flag::shorthand);
  return found == flags_.end() ? nullptr : &*found;
}

bool FlagSet::given(std::string_view name) const {
  const auto found = std::ranges::find(flags_, name, &Flag::name);
  return found != flags_.end() && found->given;
}

std::vector<std::string> FlagSet::flagsWithoutEffect() const {
  std::vector<std::string> names;
  for (const Flag& flag : flags_)
    if (flag.given && flag.withoutEffect) names.push_back("--" + flag.name);
  return names;
}

std::vector<std::pair<std::string, std::string>> FlagSet::values() const {
  std::vector<std::pair<std::string, std::string>> values;
  for (const Flag& flag : flags_) values.emplace_back(flag.name, flag.text());
  return values;
}

Result<> FlagSet::assign(Flag& flag, const std::string& value) {
  const bool before = std::exchange(flag.given, true);
  auto set = flag.set(value);
  if (set) return {};
  flag.given = before;
  const std::string name = flag.shorthand == '\0'
                               ? "--" + flag.name
                               : fmt::format("-{}, --{}", flag.shorthand, flag.name);
  return refused(fmt::format("invalid argument {} for {} flag: {}", quoted(value), quoted(name),
                             set.error().message));
}

Result<> FlagSet::parse(const std::vector<std::string>& arguments) {
  for (Rest next = arguments.begin(); next != arguments.end() && !helpWanted_;) {
    const std::string& argument = *next++;
    if (argument.size() < 2 || argument[0] != '-') {
      arguments_.push_back(argument);
      if (dialect_ != Dialect::Go) continue;
      arguments_.insert(arguments_.end(), next, arguments.end());
      return {};
    }
    if (argument == "--") {
      arguments_.insert(arguments_.end(), next, arguments.end());
      return {};
    }
    auto parsed = argument[1] == '-' ? parseLong(argument, std::string_view(argument).substr(2),
                                                 next, arguments.end())
                                     : parseShort(argument, next, arguments.end());
    if (!parsed) return parsed;
  }
  return {};
}

Result<> FlagSet::parseLong(const std::string& argument, std::string_view text, Rest& next,
                            Rest end) {
  if (text.empty() || text[0] == '-' || text[0] == '=')
    return refused("bad flag syntax: " + argument);
  const auto equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  Flag* const flag = find(name);
  if (!flag) {
    helpWanted_ = name == "help" || (name == "h" && dialect_ != Dialect::Pflag);
    if (helpWanted_) return {};
    if (dialect_ == Dialect::Go)
      return refused(fmt::format("flag provided but not defined: -{}", name));
    return refused(fmt::format("unknown flag: --{}", name));
  }
  if (equals != text.npos) return assign(*flag, std::string(text.substr(equals + 1)));
  if (!flag->implied.empty()) return assign(*flag, flag->implied);
  if (next == end) return refused("flag needs an argument: " + argument);
  return assign(*flag, *next++);
}

Result<> FlagSet::parseShort(const std::string& argument, Rest& next, Rest end) {
  std::string_view letters = std::string_view(argument).substr(1);
  if (dialect_ != Dialect::Pflag) {
    const std::string_view name = letters.substr(0, letters.find('='));
    const bool help = name == "help" || name == "h";
    const bool noShorthand = dialect_ == Dialect::Go && !findShort(letters[0]);
    if (help || find(name) || noShorthand) return parseLong(argument, letters, next, end);
  }
  while (!letters.empty()) {
    const char letter = letters[0];
    Flag* const flag = findShort(letter);
    if (!flag) {
      helpWanted_ = letter == 'h';
      if (helpWanted_) return {};
      return refused(fmt::format("unknown shorthand flag: '{}' in -{}", letter, letters));
    }
    std::string_view rest = letters.substr(1);
    if (rest.size() > 1 && rest[0] == '=') return assign(*flag, std::string(rest.substr(1)));
    if (!flag->implied.empty()) {
      if (auto assigned = assign(*flag, flag->implied); !assigned) return assigned;
      letters = rest;
      continue;
    }
    if (!rest.empty()) return assign(*flag, std::string(rest));
    if (next == end)
      return refused(fmt::format("flag needs an argument: '{}' in -{}", letter, letters));
    return assign(*flag, *next++);
  }
  return {};
}

}  // namespace koord::flags
