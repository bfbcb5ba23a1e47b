// Expressions of scenarios: the first line is the expression, the rest the document.

#include "scenario/jmespath.h"

#include "fuzz.h"

namespace koord::fuzz {

void jmesPath(std::string_view input) {
  const auto [first, rest] = firstLine(input);
  const auto expression = scenario::Expression::parse(first);
  if (!expression) {
    check(!expression.error().message.empty(), "errors have a message");
    return;
  }
  auto document = parseJson(rest);
  const auto value = expression->evaluate(document ? *document : json::value());
  check(value || !value.error().message.empty(), "errors have a message");
}

}  // namespace koord::fuzz
