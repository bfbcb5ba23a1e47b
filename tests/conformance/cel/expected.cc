#include "expected.h"

#include <charconv>
#include <cmath>
#include <map>

#include "cel/value_access.h"

namespace koord::celtest {

using cel::Kind;
using cel::Type;
using cel::Value;

namespace {

template <class T>
T numberOf(std::string_view text) {
  T number{};
  if (text.starts_with('+')) text.remove_prefix(1);
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

double realOf(std::string_view text) {
  if (text == "inf" || text == "infinity" || text == "+inf" || text == "Infinity") return INFINITY;
  if (text == "-inf" || text == "-infinity" || text == "-Infinity") return -INFINITY;
  if (text == "nan" || text == "NaN") return NAN;
  return numberOf<double>(text);
}

std::optional<Value> listOf(const Proto& proto) {
  std::vector<Value> elements;
  for (const Proto* each : proto.all("values")) {
    auto value = valueOf(*each);
    if (!value) return std::nullopt;
    elements.push_back(*std::move(value));
  }
  return Value::list(std::move(elements));
}

std::optional<Value> mapOf(const Proto& proto) {
  auto map = std::make_unique<cel::EntryMap>();
  for (const Proto* entry : proto.all("entries")) {
    const Proto *key = entry->find("key"), *value = entry->find("value");
    auto keyValue = key ? valueOf(*key) : std::nullopt;
    auto valueValue = value ? valueOf(*value) : std::nullopt;
    if (!keyValue || !valueValue) return std::nullopt;
    map->insert(*std::move(keyValue), *std::move(valueValue));
  }
  return Value::adopt(static_cast<const cel::Map*>(map.release()));
}

// google.protobuf.Value, ListValue and Struct.
Value jsonOf(const Proto& proto) {
  for (const auto& [field, value] : proto.fields) {
    if (field == "bool_value") return Value::boolean(value.text == "true");
    if (field == "number_value") return Value::real(realOf(value.text));
    if (field == "string_value") return Value::string(value.text);
    if (field == "list_value" || field == "struct_value")
      return *wellKnownValue(field == "list_value" ? "ListValue" : "Struct", value);
  }
  return {};
}

Type namedType(std::string_view name) {
  static const std::map<std::string_view, Type> kTypes = {
      {"bool", Type::boolean()},
      {"int", Type::integer()},
      {"uint", Type::unsignedInteger()},
      {"double", Type::real()},
      {"string", Type::string()},
      {"bytes", Type::bytes()},
      {"list", Type::list(Type::dyn())},
      {"map", Type::map(Type::dyn(), Type::dyn())},
      {"null_type", Type::null()},
      {"type", Type::type(Type::dyn())},
      {"google.protobuf.Timestamp", Type::timestamp()},
      {"google.protobuf.Duration", Type::duration()},
      {"optional_type", Type::optional(Type::dyn())}};
  const auto found = kTypes.find(name);
  return found == kTypes.end() ? Type::opaque(std::string(name)) : found->second;
}

}  // namespace

std::optional<Value> wellKnownValue(std::string_view name, const Proto& message) {
  const std::string_view value = message.textOf("value");
  if (name == "Timestamp")
    return Value::timestamp({numberOf<std::int64_t>(message.textOf("seconds")),
                             numberOf<std::uint32_t>(message.textOf("nanos"))});
  if (name == "Duration")
    return Value::duration(numberOf<std::int64_t>(message.textOf("seconds")) * 1'000'000'000 +
                           numberOf<std::int64_t>(message.textOf("nanos")));
  if (name == "Int32Value" || name == "Int64Value")
    return Value::integer(numberOf<std::int64_t>(value));
  if (name == "UInt32Value" || name == "UInt64Value")
    return Value::unsignedInteger(numberOf<std::uint64_t>(value));
  if (name == "FloatValue" || name == "DoubleValue") return Value::real(realOf(value));
  if (name == "StringValue") return Value::string(std::string(value));
  if (name == "BytesValue") return Value::bytes(std::string(value));
  if (name == "BoolValue") return Value::boolean(value == "true");
  if (name == "Value") return jsonOf(message);
  if (name == "ListValue") {
    std::vector<Value> elements;
    for (const Proto* each : message.all("values")) elements.push_back(jsonOf(*each));
    return Value::list(std::move(elements));
  }
  if (name == "Struct") {
    auto map = std::make_unique<cel::EntryMap>();
    for (const Proto* each : message.all("fields")) {
      const Proto* member = each->find("value");
      map->insert(Value::string(std::string(each->textOf("key"))),
                  member ? jsonOf(*member) : Value());
    }
    return Value::adopt(static_cast<const cel::Map*>(map.release()));
  }
  if (name == "Any" && message.fields.size() == 1)
    return wellKnownValue(message.fields[0].first.substr(message.fields[0].first.rfind('.') + 1),
                          message.fields[0].second);
  return std::nullopt;
}

std::optional<Value> valueOf(const Proto& proto) {
  if (proto.fields.size() != 1) return std::nullopt;
  const auto& [field, value] = proto.fields[0];
  if (field == "null_value") return Value();
  if (field == "bool_value") return Value::boolean(value.text == "true");
  if (field == "int64_value") {
    const bool hex = value.text.starts_with("0x");
    if (!hex) return Value::integer(numberOf<std::int64_t>(value.text));
    std::int64_t number = 0;
    std::from_chars(value.text.data() + 2, value.text.data() + value.text.size(), number, 16);
    return Value::integer(number);
  }
  if (field == "uint64_value") return Value::unsignedInteger(numberOf<std::uint64_t>(value.text));
  if (field == "double_value") return Value::real(realOf(value.text));
  if (field == "string_value") return Value::string(value.text);
  if (field == "bytes_value") return Value::bytes(value.text);
  if (field == "type_value") return Value::type(namedType(value.text));
  if (field == "list_value") return listOf(value);
  if (field == "map_value") return mapOf(value);
  if (field == "object_value") return wellKnownValue("Any", value);
  return std::nullopt;
}

namespace {

std::optional<Type> primitiveOf(std::string_view name) {
  if (name == "BOOL") return Type::boolean();
  if (name == "INT64") return Type::integer();
  if (name == "UINT64") return Type::unsignedInteger();
  if (name == "DOUBLE") return Type::real();
  if (name == "STRING") return Type::string();
  if (name == "BYTES") return Type::bytes();
  return std::nullopt;
}

std::optional<Type> messageType(std::string_view name) {
  static const std::map<std::string_view, Type> kMessages = {
      {"google.protobuf.Timestamp", Type::timestamp()},
      {"google.protobuf.Duration", Type::duration()},
      {"google.protobuf.Int64Value", Type::wrapper(Type::integer())},
      {"google.protobuf.Int32Value", Type::wrapper(Type::integer())},
      {"google.protobuf.UInt64Value", Type::wrapper(Type::unsignedInteger())},
      {"google.protobuf.UInt32Value", Type::wrapper(Type::unsignedInteger())},
      {"google.protobuf.DoubleValue", Type::wrapper(Type::real())},
      {"google.protobuf.FloatValue", Type::wrapper(Type::real())},
      {"google.protobuf.StringValue", Type::wrapper(Type::string())},
      {"google.protobuf.BytesValue", Type::wrapper(Type::bytes())},
      {"google.protobuf.BoolValue", Type::wrapper(Type::boolean())},
      {"google.protobuf.Value", Type::dyn()},
      {"google.protobuf.Any", Type::dyn()},
      {"google.protobuf.Struct", Type::map(Type::string(), Type::dyn())},
      {"google.protobuf.ListValue", Type::list(Type::dyn())}};
  const auto found = kMessages.find(name);
  if (found == kMessages.end()) return std::nullopt;
  return found->second;
}

}  // namespace

std::optional<Type> typeOf(const Proto& proto) {
  if (proto.fields.size() != 1) return std::nullopt;
  const auto& [field, value] = proto.fields[0];
  const auto part = [&](std::string_view name) {
    const Proto* found = value.find(name);
    return found ? typeOf(*found).value_or(Type::dyn()) : Type::dyn();
  };
  if (field == "dyn") return Type::dyn();
  if (field == "null") return Type::null();
  if (field == "primitive") return primitiveOf(value.text);
  if (field == "wrapper") {
    const auto of = primitiveOf(value.text);
    return of ? std::optional(Type::wrapper(*of)) : std::nullopt;
  }
  if (field == "well_known")
    return value.text == "TIMESTAMP"  ? Type::timestamp()
           : value.text == "DURATION" ? Type::duration()
                                      : Type::dyn();
  if (field == "list_type") return Type::list(part("elem_type"));
  if (field == "map_type") return Type::map(part("key_type"), part("value_type"));
  if (field == "type_param") return Type::parameter(value.text);
  if (field == "type") return Type::type(typeOf(value).value_or(Type::dyn()));
  if (field == "message_type") return messageType(value.text);
  if (field == "abstract_type") {
    std::vector<Type> parameters;
    for (const Proto* each : value.all("parameter_types"))
      parameters.push_back(typeOf(*each).value_or(Type::dyn()));
    return Type::opaque(std::string(value.textOf("name")), std::move(parameters));
  }
  return std::nullopt;
}

bool same(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  if (a.is(Kind::Double) && std::isnan(a.asDouble())) return std::isnan(b.asDouble());
  if (a.is(Kind::Type)) return a.asType().name() == b.asType().name();
  if (a.is(Kind::List)) {
    if (a.listSize() != b.listSize()) return false;
    for (std::size_t i = 0; i < a.listSize(); ++i)
      if (!same(a.listAt(i), b.listAt(i))) return false;
    return true;
  }
  if (a.is(Kind::Map)) {
    if (a.mapSize() != b.mapSize()) return false;
    for (std::size_t i = 0; i < a.mapSize(); ++i) {
      const auto [key, value] = a.entryAt(i);
      const auto other = b.mapFind(key);
      if (!other || !same(value, *other)) return false;
    }
    return true;
  }
  return a.equals(b);
}

}  // namespace koord::celtest
