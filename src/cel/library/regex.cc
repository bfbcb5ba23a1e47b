#include "cel/library/regex.h"

#include <fmt/format.h>

#include <cmath>

#include "cel/library/compiled_regex.h"
#include "cel/syntax/macro.h"
#include "cel/value_access.h"

namespace koord::cel {

namespace {

constexpr int kMaxGroups = 10;  // \0 to \9

// The next match at or after a byte, with its groups. False if there is none.
bool matchFrom(const re2::RE2& regex, std::string_view text, std::size_t from,
               std::span<re2::StringPiece> groups) {
  return regex.Match(asPiece(text), from, text.size(), re2::RE2::UNANCHORED, groups.data(),
                     static_cast<int>(groups.size()));
}

// Where to look after a match: after an empty match, one character further.
std::size_t afterMatch(std::string_view text, const re2::StringPiece& match) {
  std::size_t at = static_cast<std::size_t>(match.data() - text.data()) + match.size();
  if (match.empty()) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  }
  return at;
}

// The matches of a pattern with at most one group: what the group captured, else the whole.
Value extracted(Arguments arguments, bool all) {
  const auto regex = compileRegex(arguments[1].text());
  if (!regex) return Value::error(regex.error().message);
  const int count = (*regex)->NumberOfCapturingGroups();
  if (count > 1)
    return Value::error(fmt::format("regular expression has more than one capturing group: \"{}\"",
                                    arguments[1].text()));
  const std::string_view text = arguments[0].text();
  std::vector<Value> found;
  std::vector<re2::StringPiece> groups(static_cast<std::size_t>(count) + 1);
  for (std::size_t at = 0; at <= text.size() && matchFrom(**regex, text, at, groups);
       at = afterMatch(text, groups[0])) {
    const re2::StringPiece part = groups.back();
    Value value =
        part.data()
            ? ValueAccess::part(arguments[0], static_cast<std::size_t>(part.data() - text.data()),
                                part.size())
            : Value::stringView("");
    if (!all) {
      if (count == 1 && part.empty()) return Value::none();
      return Value::optional(std::move(value));
    }
    if (count == 0 || !part.empty()) found.push_back(std::move(value));
  }
  return all ? Value::list(std::move(found)) : Value::none();
}

// Appends the replacement with \0 to \9 replaced; returns an error or "".
std::string appendReplacement(std::string& out, std::string_view replacement, int groupCount,
                              std::span<const re2::StringPiece> groups) {
  for (std::size_t i = 0; i < replacement.size(); ++i) {
    if (replacement[i] != '\\') {
      out += replacement[i];
      continue;
    }
    if (++i >= replacement.size())
      return fmt::format("invalid replacement string: '{}' \\ not allowed at end", replacement);
    if (replacement[i] == '\\') {
      out += '\\';
      continue;
    }
    const int group = replacement[i] - '0';
    if (group < 0 || group > 9)
      return fmt::format("invalid replacement string: '{}' \\ must be followed by a digit or \\",
                         replacement);
    if (group > groupCount)
      return fmt::format("replacement string references group {} but regex has only {} group(s)",
                         group, groupCount);
    const re2::StringPiece& part = groups[static_cast<std::size_t>(group)];
    out.append(part.data() ? part.data() : "", part.size());
  }
  return {};
}

Value replaced(Arguments arguments) {
  std::int64_t left = arguments.size() == 4 ? arguments[3].asInt() : -1;
  if (left == 0) return arguments[0];
  const auto regex = compileRegex(arguments[1].text());
  if (!regex) return Value::error(regex.error().message);
  const std::string_view text = arguments[0].text();
  const int groupCount = (*regex)->NumberOfCapturingGroups();
  std::vector<re2::StringPiece> groups(
      static_cast<std::size_t>(std::min(groupCount + 1, kMaxGroups)));
  std::string result;
  std::size_t copied = 0;
  for (std::size_t at = 0; left != 0 && at <= text.size() && matchFrom(**regex, text, at, groups);
       at = afterMatch(text, groups[0])) {
    const auto begin = static_cast<std::size_t>(groups[0].data() - text.data());
    result += text.substr(copied, begin - copied);
    if (auto error = appendReplacement(result, arguments[2].text(), groupCount, groups);
        !error.empty())
      return Value::error(std::move(error));
    copied = begin + groups[0].size();
    if (left > 0) --left;
    if (result.size() > ValueAccess::kMaxText) return Value::error("text is too long");
  }
  result += text.substr(copied);
  return Value::string(std::move(result));
}

double searchCost(Arguments x) {
  return (static_cast<double>(sizeForCost(x[0])) + 1) * kTraversalFactor *
         ((static_cast<double>(sizeForCost(x[1])) + 1) * kRegexFactor);
}

CostEstimate searchEstimate(std::span<const CostNode> x) {
  const SizeEstimate one = SizeEstimate::fixed(1);
  const SizeEstimate text = x[0].size.value_or(SizeEstimate{}) + one;
  const SizeEstimate pattern = x[1].size.value_or(SizeEstimate{}) + one;
  return text.scaled(kTraversalFactor) * pattern.scaled(kRegexFactor);
}

Overload withExtractCost(Overload overload, std::uint64_t base) {
  overload.track = [base](Arguments x, const Value& result) {
    return static_cast<std::uint64_t>(std::ceil(
        1 + searchCost(x) + static_cast<double>(sizeForCost(result)) + static_cast<double>(base)));
  };
  overload.estimate = [base](const CostModel&, const CostNode*, std::span<const CostNode> x) {
    const SizeEstimate size{0, x[0].size.value_or(SizeEstimate{}).max};
    return std::optional(CallEstimate{
        searchEstimate(x) + CostEstimate{addCost(size.min, base), addCost(size.max, base)}, size});
  };
  return overload;
}

Overload withReplaceCost(Overload overload) {
  overload.track = [](Arguments x, const Value& result) {
    return static_cast<std::uint64_t>(1 + searchCost(x) + static_cast<double>(sizeForCost(result)));
  };
  overload.estimate = [](const CostModel&, const CostNode*, std::span<const CostNode> x) {
    const SizeEstimate text = x[0].size.value_or(SizeEstimate{});
    const SizeEstimate by = x[2].size.value_or(SizeEstimate{});
    const std::uint64_t all = text.max * by.max;
    SizeEstimate size{text.max, all};
    if (by.max == 0) size = {all, text.max};
    return std::optional(CallEstimate{searchEstimate(x) + size.scaled(1), size});
  };
  return overload;
}

}  // namespace

const Library& regexLibrary() {
  static const Library& kLibrary = []() -> const Library& {
    static Library library;
    library.name = "regex";
    const Type s = Type::string();
    library.add(
        "regex.extract",
        {withExtractCost(globalOverload("regex_extract_string_string", {s, s}, Type::optional(s),
                                        [](Arguments x) { return extracted(x, false); }),
                         0)});
    library.add(
        "regex.extractAll",
        {withExtractCost(globalOverload("regex_extractAll_string_string", {s, s}, Type::list(s),
                                        [](Arguments x) { return extracted(x, true); }),
                         kListCost)});
    library.add("regex.replace",
                {withReplaceCost(
                     globalOverload("regex_replace_string_string_string", {s, s, s}, s, replaced)),
                 withReplaceCost(globalOverload("regex_replace_string_string_string_int",
                                                {s, s, s, Type::integer()}, s, replaced))});
    return library;
  }();
  return kLibrary;
}

}  // namespace koord::cel
