// Label and field selectors as text; what is accepted prints to text that means the same. Text that
// is JSON is also tried as a node selector.

#include "api/selector.h"

#include "api/codec.h"
#include "fuzz.h"

namespace koord::fuzz {
namespace {

const api::StringMap kLabels{{"app", "web"}, {"tier", ""}, {"n", "12"}, {"a.b/c", "x"}};

void labels(std::string_view input) {
  const auto selector = api::Selector::parse(input);
  if (!selector) return;
  const std::string text = selector->toString();
  const auto again = api::Selector::parse(text);
  check(again && again->toString() == text, "the text of a selector reads as the selector");
  check(again->matches(kLabels) == selector->matches(kLabels), "and selects the same");
}

void fields(std::string_view input) {
  const auto selector = api::FieldSelector::parse(input);
  if (!selector) return;
  // Terms are in the order of their text, where "a==b" is not "a=b" yet.
  const auto sorted = api::FieldSelector::parse(selector->toString());
  check(sorted.has_value(), "the text of a selector reads as a selector");
  const std::string text = sorted->toString();
  const auto again = api::FieldSelector::parse(text);
  check(again && again->toString() == text, "the text of a selector reads as the selector");
}

}  // namespace

void selectors(std::string_view input) {
  labels(input);
  fields(input);
  const auto document = parseJson(input);
  if (!document) return;
  if (const auto pod = api::decode<api::Pod>(json::object{{"spec", *document}})) {
    (void)api::RequiredNodeAffinity(pod->spec).matches(kLabels, "node-1");
  }
}

}  // namespace koord::fuzz
