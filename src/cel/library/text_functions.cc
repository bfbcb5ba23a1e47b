// contains, startsWith, endsWith, matches.

#include "cel/library/compiled_regex.h"
#include "cel/library/standard.h"

namespace koord::cel {

namespace {

Value matchesPattern(Arguments arguments) {
  const auto regex = compileRegex(arguments[1].text());
  if (!regex) return Value::error(regex.error().message);
  return Value::boolean(re2::RE2::PartialMatch(asPiece(arguments[0].text()), **regex));
}

// A constant pattern is compiled with the expression.
Implementation matchesConstant(std::span<const Value* const> constants) {
  if (!constants[1] || !constants[1]->is(Kind::String)) return nullptr;
  const auto regex = compileRegex(constants[1]->text());
  if (!regex) return [error = Value::error(regex.error().message)](Arguments) { return error; };
  return [regex = *regex](Arguments arguments) {
    return Value::boolean(re2::RE2::PartialMatch(asPiece(arguments[0].text()), *regex));
  };
}

}  // namespace

void addStrings(Library& library) {
  const Type s = Type::string(), flag = Type::boolean();
  library.add("contains", {memberOverload("contains_string", {s, s}, flag, [](Arguments x) {
                return Value::boolean(x[0].text().find(x[1].text()) != std::string_view::npos);
              })});
  library.add("startsWith", {memberOverload("starts_with_string", {s, s}, flag, [](Arguments x) {
                return Value::boolean(x[0].text().starts_with(x[1].text()));
              })});
  library.add("endsWith", {memberOverload("ends_with_string", {s, s}, flag, [](Arguments x) {
                return Value::boolean(x[0].text().ends_with(x[1].text()));
              })});
  Overload global = globalOverload("matches", {s, s}, flag, matchesPattern);
  Overload member = memberOverload("matches_string", {s, s}, flag, matchesPattern);
  global.specialize = member.specialize = matchesConstant;
  library.add("matches", {std::move(global), std::move(member)});
}

}  // namespace koord::cel
