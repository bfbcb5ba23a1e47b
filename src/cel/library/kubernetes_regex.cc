// find and findAll.

#include "cel/library/compiled_regex.h"
#include "cel/library/kubernetes_lists.h"
#include "cel/syntax/macro.h"
#include "cel/value_access.h"

namespace koord::cel {

namespace {

Value findFirst(const re2::RE2& regex, Arguments x) {
  const std::string_view text = x[0].text();
  re2::StringPiece match;
  if (!regex.Match(asPiece(text), 0, text.size(), re2::RE2::UNANCHORED, &match, 1))
    return Value::stringView("");
  return ValueAccess::part(x[0], static_cast<std::size_t>(match.data() - text.data()),
                           match.size());
}

// Go leaves out an empty match that follows another match without text between them.
Value findEach(const re2::RE2& regex, Arguments x) {
  const std::int64_t limit = x.size() == 3 ? x[2].asInt() : -1;
  const std::string_view text = x[0].text();
  std::vector<Value> found;
  std::size_t at = 0, previousEnd = std::string_view::npos;
  re2::StringPiece match;
  while (at <= text.size() && (limit < 0 || static_cast<std::int64_t>(found.size()) < limit) &&
         regex.Match(asPiece(text), at, text.size(), re2::RE2::UNANCHORED, &match, 1)) {
    const auto begin = static_cast<std::size_t>(match.data() - text.data());
    const std::size_t end = begin + match.size();
    if (!match.empty() || begin != previousEnd)
      found.push_back(ValueAccess::part(x[0], begin, match.size()));
    previousEnd = end;
    at = end;
    if (match.empty()) {
      ++at;
      while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
    }
  }
  return Value::list(std::move(found));
}

using WithRegex = Value (*)(const re2::RE2& regex, Arguments x);

Overload withRegex(std::string id, std::vector<Type> parameters, Type result, WithRegex find) {
  Overload overload =
      memberOverload(std::move(id), std::move(parameters), std::move(result), [find](Arguments x) {
        const auto regex = compileRegex(x[1].text());
        if (!regex) return Value::error("Illegal regex: " + regex.error().message);
        return find(**regex, x);
      });
  overload.specialize = [find](std::span<const Value* const> constants) -> Implementation {
    if (!constants[1] || !constants[1]->is(Kind::String)) return nullptr;
    const auto regex = compileRegex(constants[1]->text());
    if (!regex) return nullptr;
    return [find, regex = *regex](Arguments x) { return find(*regex, x); };
  };
  return overload;
}

}  // namespace

const Library& kubernetesRegexLibrary() {
  static const Library& kLibrary = []() -> const Library& {
    static Library library;
    library.name = "kubernetes.regex";
    const Type s = Type::string(), list = Type::list(s);
    library.add("find", {withRegex("string_find_string", {s, s}, s, findFirst)});
    library.add("findAll",
                {withRegex("string_find_all_string", {s, s}, list, findEach),
                 withRegex("string_find_all_string_int", {s, s, Type::integer()}, list, findEach)});
    return library;
  }();
  return kLibrary;
}

}  // namespace koord::cel
