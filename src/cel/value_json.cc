// Values from JSON trees and back.

#include <fmt/format.h>

#include <cmath>

#include "base/base64.h"
#include "base/time.h"
#include "cel/time_text.h"
#include "cel/value_access.h"

namespace koord::cel {

namespace {

Value untypedJson(const koord::json::value& json) {
  switch (json.kind()) {
    case koord::json::kind::null:
      return {};
    case koord::json::kind::bool_:
      return Value::boolean(json.get_bool());
    case koord::json::kind::int64:
      return Value::integer(json.get_int64());
    case koord::json::kind::uint64:
      // As Go reads JSON: what does not fit an int64 is a double.
      return Value::real(static_cast<double>(json.get_uint64()));
    case koord::json::kind::double_:
      return Value::real(json.get_double());
    case koord::json::kind::string:
      return Value::stringView({json.get_string().data(), json.get_string().size()});
    case koord::json::kind::array:
      return ValueAccess::json(Kind::List, &json.get_array(), nullptr);
    case koord::json::kind::object:
      return ValueAccess::json(Kind::Map, &json.get_object(), nullptr);
  }
  return {};
}

Value typedText(std::string_view text, const Type& type) {
  if (type.kind() == TypeKind::Timestamp) {
    const auto time = parseTimestamp(text);
    return time ? Value::timestamp(*time) : Value::error(time.error().message);
  }
  if (type.kind() == TypeKind::Duration) {
    const auto duration = parseDuration(text);
    return duration ? Value::duration(duration->count()) : Value::error(duration.error().message);
  }
  if (type.kind() == TypeKind::Bytes) {
    auto content = base64Decode(text);
    return content ? Value::bytes(std::move(*content))
                   : Value::error("illegal base64 data in a field of type bytes");
  }
  return Value::stringView(text);
}

}  // namespace

Value ValueAccess::fromJson(const koord::json::value& json, const Type* type) {
  if (!type || type->isDyn()) return untypedJson(json);
  switch (type->kind()) {
    case TypeKind::Wrapper:
      return fromJson(json, &type->parameters()[0]);
    case TypeKind::Double:
      if (const auto number = realNumber(json)) return Value::real(*number);
      break;
    case TypeKind::Int:
      if (const auto number = wholeNumber(json)) return Value::integer(*number);
      break;
    case TypeKind::Uint:
      if (const auto number = wholeNumber(json); number && *number >= 0)
        return Value::unsignedInteger(static_cast<std::uint64_t>(*number));
      break;
    case TypeKind::List:
      if (json.is_array() && type->listKind()) return ValueAccess::keyed(json.get_array(), *type);
      if (json.is_array())
        return ValueAccess::json(Kind::List, &json.get_array(), &type->parameters()[0]);
      break;
    case TypeKind::Map:
      if (json.is_object())
        return ValueAccess::json(Kind::Map, &json.get_object(), &type->parameters()[1]);
      break;
    case TypeKind::Object:
      if (json.is_object()) return Value::object(*type->objectType(), &json);
      break;
    case TypeKind::Timestamp:
    case TypeKind::Duration:
    case TypeKind::Bytes:
      if (json.is_string())
        return typedText({json.get_string().data(), json.get_string().size()}, *type);
      break;
    default:
      break;
  }
  return untypedJson(json);
}

Value Value::json(const koord::json::value& json) {
  return ValueAccess::fromJson(json, nullptr);
}
Value Value::json(const koord::json::value& json, const Type& type) {
  return ValueAccess::fromJson(json, &type);
}

ElementList* ValueAccess::ownList(const Value& value) {
  if (!isOwn(value)) return nullptr;
  return dynamic_cast<ElementList*>(const_cast<List*>(pointer<List>(value)));
}
EntryMap* ValueAccess::ownMap(const Value& value) {
  if (!isOwn(value)) return nullptr;
  return dynamic_cast<EntryMap*>(const_cast<Map*>(pointer<Map>(value)));
}
bool ValueAccess::isOwn(const Value& value) {
  return value.owned_ && value.form_ == Value::Form::Native &&
         value.tail_.owner->references_.load(std::memory_order_acquire) == 1;
}

namespace {

Result<std::string> jsonKey(const Value& key) {
  if (key.is(Kind::String)) return std::string(key.text());
  if (key.is(Kind::Bool) || key.is(Kind::Int)) return key.toString();
  if (key.is(Kind::Uint)) return fmt::format("{}", key.asUint());
  return fail(ErrorCode::Invalid,
              "a map key of type " + key.runtimeType().toString() + " has no JSON form");
}

Result<koord::json::value> jsonOfContainer(const Value& value) {
  if (value.is(Kind::List)) {
    koord::json::array array;
    array.reserve(value.listSize());
    for (std::size_t i = 0; i < value.listSize(); ++i) {
      auto element = value.listAt(i).toJson();
      if (!element) return element;
      array.push_back(*std::move(element));
    }
    return array;
  }
  koord::json::object object;
  for (std::size_t i = 0; i < value.mapSize(); ++i) {
    const auto [key, member] = value.entryAt(i);
    auto name = jsonKey(key);
    if (!name) return fail(std::move(name).error());
    auto json = member.toJson();
    if (!json) return json;
    object.insert_or_assign(*name, *std::move(json));
  }
  return object;
}

}  // namespace

Result<koord::json::value> Value::toJson() const {
  switch (kind_) {
    case Kind::Null:
      return koord::json::value();
    case Kind::Bool:
      return koord::json::value(asBool());
    case Kind::Int:
      return koord::json::value(asInt());
    case Kind::Uint:
      return koord::json::value(asUint());
    case Kind::Double:
      if (!std::isfinite(asDouble())) break;
      return koord::json::value(asDouble());
    case Kind::String:
      return koord::json::value(koord::json::string(text()));
    case Kind::Bytes:
      return koord::json::value(koord::json::string(base64Encode(text())));
    case Kind::Timestamp:
      return koord::json::value(koord::json::string(formatTimestamp(asTimestamp())));
    case Kind::Duration:
      return koord::json::value(koord::json::string(formatSeconds(asDuration())));
    case Kind::List:
    case Kind::Map:
      return jsonOfContainer(*this);
    case Kind::Object:
      return objectType().toJson(objectPointer());
    case Kind::Opaque:
      return koord::json::value(koord::json::string(asOpaque().toString()));
    case Kind::Optional:
      return optionalValue() ? optionalValue()->toJson() : koord::json::value();
    case Kind::Type:
      return koord::json::value(koord::json::string(asType().name()));
    case Kind::Error:
      return fail(ErrorCode::Invalid, errorMessage());
  }
  return fail(ErrorCode::Invalid,
              "a value of type " + runtimeType().toString() + " has no JSON form");
}

Result<koord::json::value> ObjectType::toJson(const void*) const {
  return fail(ErrorCode::Invalid, "an object of type " + std::string(name()) + " has no JSON form");
}

}  // namespace koord::cel
