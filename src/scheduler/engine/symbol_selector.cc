#include "scheduler/engine/symbol_selector.h"

#include <algorithm>
#include <charconv>

namespace koord::scheduler {

using Op = api::Selector::Op;

SymbolSelector::SymbolSelector(Symbols& symbols, const api::Selector& selector)
    : nothing_(selector.requirements().empty() && !selector.empty()) {
  for (const auto& requirement : selector.requirements()) {
    Requirement& compiled = requirements_.emplace_back(
        symbols.intern(requirement.key), requirement.op, std::vector<Symbol>{}, requirement.bound);
    for (const auto& value : requirement.values) compiled.values.push_back(symbols.intern(value));
  }
}

bool SymbolSelector::matches(const Symbols& symbols, const NodeRow& node) const {
  if (nothing_) return false;
  for (const Requirement& requirement : requirements_) {
    const Label* label = node.findLabel(requirement.key);
    const auto listed = [&] {
      return std::ranges::find(requirement.values, label->value) != requirement.values.end();
    };
    bool holds = false;
    switch (requirement.op) {
      case Op::In:
      case Op::Equals:
      case Op::DoubleEquals:
        holds = label && listed();
        break;
      case Op::NotIn:
      case Op::NotEquals:
        holds = !label || !listed();
        break;
      case Op::Exists:
        holds = label != nullptr;
        break;
      case Op::DoesNotExist:
        holds = label == nullptr;
        break;
      case Op::GreaterThan:
      case Op::LessThan:
        if (label) {
          // Numbers are parsed as the API does: with a sign, the whole text.
          std::string_view text = symbols.text(label->value);
          if (text.starts_with('+')) text.remove_prefix(1);
          std::int64_t number = 0;
          const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
          holds = error == std::errc{} && end == text.data() + text.size() &&
                  (requirement.op == Op::GreaterThan ? number > requirement.bound
                                                     : number < requirement.bound);
        }
        break;
    }
    if (!holds) return false;
  }
  return true;
}

bool SymbolTerm::matches(const Symbols& symbols, const NodeRow& node) const {
  for (const auto& field : fields_) {
    const std::string_view value =
        field.field == "metadata.name" ? std::string_view(node.name) : std::string_view();
    if ((value == field.value) != field.equal) return false;
  }
  return labels_.matches(symbols, node);
}

}  // namespace koord::scheduler
