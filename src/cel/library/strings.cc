#include "cel/library/strings.h"

#include <fmt/format.h>

#include <algorithm>

#include "cel/syntax/macro.h"
#include "cel/utf8_text.h"
#include "cel/value_access.h"

namespace koord::cel {

namespace {

Value outOfRange(std::int64_t index) {
  return Value::error(fmt::format("index out of range: {}", index));
}
std::int64_t lengthOf(std::string_view text) {
  return static_cast<std::int64_t>(countCodePoints(text));
}

// The part of a text between two indexes, which shares its memory.
Value partOf(const Value& whole, std::int64_t begin, std::int64_t end) {
  const std::string_view text = whole.text();
  const std::size_t first = byteOfCodePoint(text, static_cast<std::size_t>(begin));
  const std::size_t last =
      first + byteOfCodePoint(text.substr(first), static_cast<std::size_t>(end - begin));
  return ValueAccess::part(whole, first, last - first);
}

Value charAt(Arguments arguments) {
  const std::int64_t index = arguments[1].asInt(), length = lengthOf(arguments[0].text());
  if (index < 0 || index > length) return outOfRange(index);
  return partOf(arguments[0], index, std::min(index + 1, length));
}

template <bool kLenient>
Value indexOf(Arguments arguments) {
  const std::string_view text = arguments[0].text(), part = arguments[1].text();
  const std::int64_t offset = arguments.size() == 3 ? arguments[2].asInt() : 0;
  if (offset < 0) return outOfRange(offset);
  const std::int64_t length = lengthOf(text);
  if (!kLenient && offset > length) return outOfRange(offset);
  if (part.empty()) return Value::integer(std::min(offset, length));
  if (offset >= length) return Value::integer(-1);
  const std::size_t begin = byteOfCodePoint(text, static_cast<std::size_t>(offset));
  const std::size_t found = text.find(part, begin);
  if (found == std::string_view::npos) return Value::integer(-1);
  return Value::integer(lengthOf(text.substr(0, found)));
}

template <bool kLenient>
Value lastIndexOf(Arguments arguments) {
  const std::string_view text = arguments[0].text(), part = arguments[1].text();
  const std::int64_t length = lengthOf(text);
  if (arguments.size() == 2 && part.empty()) return Value::integer(length);
  if (arguments.size() == 2 && text.size() < part.size()) return Value::integer(-1);
  const std::int64_t offset = arguments.size() == 3 ? arguments[2].asInt() : length - 1;
  if (offset < 0 || (!kLenient && offset > length)) return outOfRange(offset);
  if (part.empty()) return Value::integer(std::min(offset, length));
  if (offset >= length) return Value::integer(-1);
  const std::size_t begin = byteOfCodePoint(text, static_cast<std::size_t>(offset));
  const std::size_t found = text.rfind(part, begin);
  if (found == std::string_view::npos) return Value::integer(-1);
  return Value::integer(lengthOf(text.substr(0, found)));
}

template <char kFirst, char kLast>
Value changeCase(Arguments arguments) {
  std::string text(arguments[0].text());
  for (char& c : text)
    if (c >= kFirst && c <= kLast) c = static_cast<char>(c ^ 0x20);
  return Value::string(std::move(text));
}

Value replaceParts(Arguments arguments) {
  const std::string_view text = arguments[0].text(), from = arguments[1].text(),
                         to = arguments[2].text();
  std::int64_t left = arguments.size() == 4 ? arguments[3].asInt() : -1;
  std::string result;
  std::size_t at = 0;
  if (from.empty()) {  // before each code point, and at the end
    for (const std::string_view character : splitCodePoints(text)) {
      if (left != 0) result += to;
      if (left > 0) --left;
      result += character;
    }
    if (left != 0) result += to;
    return Value::string(std::move(result));
  }
  while (left != 0) {
    const std::size_t found = text.find(from, at);
    if (found == std::string_view::npos) break;
    result += text.substr(at, found - at);
    result += to;
    at = found + from.size();
    if (left > 0) --left;
    if (result.size() > ValueAccess::kMaxText) return Value::error("text is too long");
  }
  result += text.substr(at);
  return Value::string(std::move(result));
}

Value splitParts(Arguments arguments) {
  const std::string_view text = arguments[0].text(), separator = arguments[1].text();
  const std::int64_t limit = arguments.size() == 3 ? arguments[2].asInt() : -1;
  std::vector<Value> parts;
  if (limit == 0) return Value::list(std::move(parts));
  const auto add = [&](std::size_t begin, std::size_t size) {
    parts.push_back(ValueAccess::part(arguments[0], begin, size));
  };
  const auto isLast = [&] {
    return limit > 0 && static_cast<std::int64_t>(parts.size()) == limit - 1;
  };
  std::size_t at = 0;
  if (separator.empty()) {
    while (at < text.size() && !isLast()) {
      std::size_t end = at + 1;
      while (end < text.size() && isContinuation(text[end])) ++end;
      add(at, end - at);
      at = end;
    }
    if (at < text.size()) add(at, text.size() - at);
    return Value::list(std::move(parts));
  }
  while (!isLast()) {
    const std::size_t found = text.find(separator, at);
    if (found == std::string_view::npos) break;
    add(at, found - at);
    at = found + separator.size();
  }
  add(at, text.size() - at);
  return Value::list(std::move(parts));
}

Value substring(Arguments arguments) {
  const std::int64_t length = lengthOf(arguments[0].text());
  const std::int64_t start = arguments[1].asInt();
  const std::int64_t end = arguments.size() == 3 ? arguments[2].asInt() : length;
  if (arguments.size() == 3 && start > end)
    return Value::error(fmt::format("invalid substring range. start: {}, end: {}", start, end));
  if (start < 0 || start > length) return outOfRange(start);
  if (end < 0 || end > length) return outOfRange(end);
  return partOf(arguments[0], start, end);
}

// Unicode's White_Space.
bool isSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

Value trimSpaces(Arguments arguments) {
  const std::vector<char32_t> codes = decodeCodePoints(arguments[0].text());
  std::size_t begin = 0, end = codes.size();
  while (begin < end && isSpace(codes[begin])) ++begin;
  while (end > begin && isSpace(codes[end - 1])) --end;
  return partOf(arguments[0], static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end));
}

Value reversedText(Arguments arguments) {
  std::string result;
  result.reserve(arguments[0].text().size());
  const auto characters = splitCodePoints(arguments[0].text());
  for (auto at = characters.rbegin(); at != characters.rend(); ++at) result += *at;
  return Value::string(std::move(result));
}

Value joinParts(Arguments arguments) {
  const std::string_view separator =
      arguments.size() == 2 ? arguments[1].text() : std::string_view();
  std::string result;
  for (std::size_t i = 0; i < arguments[0].listSize(); ++i) {
    const Value each = arguments[0].listAt(i);
    if (!each.is(Kind::String)) return Value::error("join: invalid input: " + each.toString());
    if (i > 0) result += separator;
    result += each.text();
  }
  return Value::string(std::move(result));
}

Value quoted(Arguments arguments) {
  std::string result = "\"";
  for (const char c : arguments[0].text()) {
    static constexpr std::string_view kSpecial = "\a\b\f\n\r\t\v\\\"", kLetters = "abfnrtv\\\"";
    const std::size_t special = kSpecial.find(c);
    if (special == std::string_view::npos) {
      result += c;
    } else {
      result += '\\';
      result += kLetters[special];
    }
  }
  return Value::string(result + "\"");
}

template <bool kLenient>
void addAllStrings(Library& library) {
  const Type s = Type::string(), i = Type::integer(), list = Type::list(s);
  library.add("charAt", {memberOverload("string_char_at_int", {s, i}, s, charAt)});
  library.add("indexOf",
              {memberOverload("string_index_of_string", {s, s}, i, indexOf<kLenient>),
               memberOverload("string_index_of_string_int", {s, s, i}, i, indexOf<kLenient>)});
  library.add(
      "lastIndexOf",
      {memberOverload("string_last_index_of_string", {s, s}, i, lastIndexOf<kLenient>),
       memberOverload("string_last_index_of_string_int", {s, s, i}, i, lastIndexOf<kLenient>)});
  library.add("lowerAscii", {memberOverload("string_lower_ascii", {s}, s, changeCase<'A', 'Z'>)});
  library.add("upperAscii", {memberOverload("string_upper_ascii", {s}, s, changeCase<'a', 'z'>)});
  library.add("replace",
              {memberOverload("string_replace_string_string", {s, s, s}, s, replaceParts),
               memberOverload("string_replace_string_string_int", {s, s, s, i}, s, replaceParts)});
  library.add("split", {memberOverload("string_split_string", {s, s}, list, splitParts),
                        memberOverload("string_split_string_int", {s, s, i}, list, splitParts)});
  library.add("substring", {memberOverload("string_substring_int", {s, i}, s, substring),
                            memberOverload("string_substring_int_int", {s, i, i}, s, substring)});
  library.add("trim", {memberOverload("string_trim", {s}, s, trimSpaces)});
  library.add("join", {memberOverload("list_join", {list}, s, joinParts),
                       memberOverload("list_join_string", {list, s}, s, joinParts)});
  library.add("strings.quote", {globalOverload("strings_quote", {s}, s, quoted)});
  library.add("format",
              {memberOverload("string_format", {s, Type::list(Type::dyn())}, s, formatString)});
}

}  // namespace

const Library& stringsLibrary() {
  static const Library& kLibrary = []() -> const Library& {
    static Library library;
    library.name = "strings";
    addAllStrings<false>(library);
    library.add("reverse",
                {memberOverload("string_reverse", {Type::string()}, Type::string(), reversedText)});
    return library;
  }();
  return kLibrary;
}

const Library& kubernetesStringsLibrary() {
  static const Library& kLibrary = []() -> const Library& {
    static Library library;
    library.name = "kubernetes.strings";
    addAllStrings<true>(library);
    return library;
  }();
  return kLibrary;
}

}  // namespace koord::cel
