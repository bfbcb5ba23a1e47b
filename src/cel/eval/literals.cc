#include "cel/eval/literals.h"

#include <fmt/format.h>

#include <algorithm>

#include "cel/cost.h"

namespace koord::cel {

namespace {

// Replaces an optional by what it holds; false if it is none. An error if the value is not
// optional.
bool unwrapOptional(Value& value, std::string_view what) {
  if (!value.is(Kind::Optional)) {
    value = Value::error(fmt::format("cannot initialize optional {} from non-optional value {}",
                                     what, value.toString()));
    return true;
  }
  const Value* held = value.optionalValue();
  if (!held) return false;
  value = Value(*held);
  return true;
}

}  // namespace

Value ListNode::evaluate(Frame& frame) const {
  std::vector<Value> elements;
  elements.reserve(elements_.size());
  std::optional<Value> error;
  for (std::size_t i = 0; i < elements_.size() && !error; ++i) {
    Value value = elements_[i]->evaluate(frame);
    if (frame.stopped) return value;
    if (!value.isError() && !optional_.empty() && optional_[i] &&
        !unwrapOptional(value, "list element"))
      continue;
    if (value.isError()) error = value;
    elements.push_back(std::move(value));
  }
  frame.charge(kListCost);
  return error ? *std::move(error) : Value::list(std::move(elements));
}

bool ListNode::allConstant() const {
  return std::ranges::all_of(elements_, [](const auto& element) { return element->constant(); });
}

Value MapNode::evaluate(Frame& frame) const {
  auto map = std::make_unique<EntryMap>();
  std::optional<Value> error;
  for (const Item& item : items_) {
    Value key = item.key->evaluate(frame);
    if (key.isError()) {
      error = std::move(key);
      break;
    }
    Value value = item.value->evaluate(frame);
    if (frame.stopped) return value;
    if (!value.isError() && item.optional && !unwrapOptional(value, "entry")) continue;
    if (value.isError()) {
      error = std::move(value);
      break;
    }
    if (!isMapKey(key)) {
      error = Value::error("unsupported key type: " + key.runtimeType().toString());
      break;
    }
    std::string name = key.toString();
    if (!map->insert(std::move(key), std::move(value))) {
      error = Value::error("Failed with repeated key " + name);
      break;
    }
  }
  frame.charge(kMapCost);
  return error ? *std::move(error) : Value::adopt(static_cast<const Map*>(map.release()));
}

bool MapNode::allConstant() const {
  return std::ranges::all_of(
      items_, [](const Item& item) { return item.key->constant() && item.value->constant(); });
}

Value StructNode::evaluate(Frame& frame) const {
  std::vector<std::pair<std::string_view, Value>> fields;
  std::optional<Value> error;
  for (const Field& field : fields_) {
    Value value = field.value->evaluate(frame);
    if (frame.stopped) return value;
    if (!value.isError() && field.optional && !unwrapOptional(value, "entry")) continue;
    if (value.isError()) {
      error = std::move(value);
      break;
    }
    fields.emplace_back(field.name, std::move(value));
  }
  frame.charge(kStructCost);
  return error ? *std::move(error) : type_.create(fields);
}

}  // namespace koord::cel
