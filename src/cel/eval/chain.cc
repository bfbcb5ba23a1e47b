#include "cel/eval/chain.h"

#include <fmt/format.h>

#include <cmath>

namespace koord::cel {

namespace {

// The index into a list that a number of any type is; nullopt if it is not a whole number.
std::optional<std::int64_t> listIndex(const Value& key) {
  if (key.is(Kind::Int)) return key.asInt();
  if (key.is(Kind::Uint))
    return key.asUint() > INT64_MAX ? -1 : static_cast<std::int64_t>(key.asUint());
  if (key.is(Kind::Double) && std::abs(key.asDouble()) < 9e15 &&
      std::trunc(key.asDouble()) == key.asDouble())
    return static_cast<std::int64_t>(key.asDouble());
  return std::nullopt;
}

std::string keyText(const Value& key) {
  return key.is(Kind::String) ? std::string(key.text()) : key.toString();
}

std::optional<Value> fieldOf(const Value& operand, const Value& key, bool present) {
  const ObjectType& type = operand.objectType();
  const auto field = key.is(Kind::String) ? type.field(key.text()) : std::nullopt;
  if (!field) return Value::error(fmt::format("no such field '{}'", keyText(key)));
  if (field->number < 0) {
    if (auto value = type.named(operand.objectPointer(), key.text())) return value;
    if (present) return std::nullopt;
    return Value::error("no such key: " + std::string(key.text()));
  }
  if (present && !type.has(operand.objectPointer(), field->number)) return std::nullopt;
  return type.get(operand.objectPointer(), field->number);
}

}  // namespace

std::optional<Value> lookUp(const Value& operand, const Value& key, bool present) {
  switch (operand.kind()) {
    case Kind::Map: {
      auto found = operand.mapFind(key);
      if (found) return found;
      if (!key.is(Kind::String) && !key.is(Kind::Bool) && !key.isNumber())
        return Value::error("unsupported key type: " + key.runtimeType().toString());
      if (present) return std::nullopt;
      return Value::error(fmt::format("no such key: {}", keyText(key)));
    }
    case Kind::List: {
      const auto index = listIndex(key);
      if (!index)
        return Value::error("unsupported index type '" + key.runtimeType().toString() +
                            "' in list");
      if (*index >= 0 && static_cast<std::size_t>(*index) < operand.listSize())
        return operand.listAt(static_cast<std::size_t>(*index));
      if (present) return std::nullopt;
      return Value::error(fmt::format("index out of bounds: {}", *index));
    }
    case Kind::Object:
      return fieldOf(operand, key, present);
    case Kind::Error:
      return operand;
    default:
      return Value::error("no such overload");
  }
}

Value ChainNode::base(Frame& frame) const {
  switch (start_.base) {
    case Base::Variable: {
      const auto& value = frame.variables[start_.slot];
      if (value) return ValueAccess::borrowed(*value);
      return Value::error("no such attribute(s): " + start_.name);
    }
    case Base::Lazy: {
      Value& local = frame.locals[start_.slot];
      if (isLazyMark(local)) local = start_.init->evaluate(frame);
      return local;
    }
    case Base::Local:
      return frame.locals[start_.slot];
    case Base::Expression:
      return start_.expression->evaluate(frame);
  }
  return {};
}

Value ChainNode::evaluate(Frame& frame) const {
  Value value = base(frame);
  if (readCost_ != 0 && !(isTest() && !presenceTestHasCost_)) frame.charge(kReadCost);
  if (qualifiers_.empty() || value.isError()) return value;
  bool optional = false;
  for (const Qualifier& qualifier : qualifiers_) {
    if (value.is(Kind::Optional)) {
      const Value* held = value.optionalValue();
      if (!held) return isTest() ? Value::boolean(false) : std::move(value);
      value = Value(*held);
      optional = true;
    }
    optional = optional || qualifier.optional;
    const bool present = optional || qualifier.testOnly;
    std::optional<Value> next;
    if (qualifier.field >= 0 && value.is(Kind::Object) && &value.objectType() == qualifier.object) {
      const void* object = value.objectPointer();
      if (present && !qualifier.object->has(object, qualifier.field)) {
        next = std::nullopt;
      } else if (qualifier.testOnly) {
        next = Value::boolean(true);
      } else {
        next = qualifier.object->get(object, qualifier.field);
      }
    } else if (qualifier.index) {
      Value key = qualifier.index->evaluate(frame);
      next = key.isError() ? std::move(key) : lookUp(value, key, present);
    } else {
      next = lookUp(value, qualifier.key, present);
    }
    if (next || qualifier.testOnly) frame.charge(kReadCost);
    if (qualifier.testOnly) {
      if (next && next->isError()) return *std::move(next);
      return Value::boolean(next.has_value());
    }
    if (!next) return isTest() ? Value::boolean(false) : Value::none();
    if (next->isError()) return *std::move(next);
    value = *std::move(next);
  }
  return optional ? Value::optional(std::move(value)) : value;
}

}  // namespace koord::cel
