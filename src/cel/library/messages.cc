#include "cel/library/messages.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>

#include "cel/library/standard.h"
#include "cel/syntax/macro.h"
#include "cel/time_text.h"
#include "cel/value_access.h"

namespace koord::cel {

namespace {

using FieldValues = std::span<const std::pair<std::string_view, Value>>;
using Create = Value (*)(FieldValues fields);

// A message whose objects are values of another type. There are never objects of it.
class MessageType final : public ObjectType {
 public:
  MessageType(std::string name, Type created, std::map<std::string, Type, std::less<>> fields,
              Create create)
      : name_(std::move(name)),
        created_(std::move(created)),
        fields_(std::move(fields)),
        create_(create) {}
  std::string_view name() const override { return name_; }
  std::optional<Field> field(std::string_view name) const override {
    const auto found = fields_.find(name);
    if (found == fields_.end()) return std::nullopt;
    return Field{0, found->second};
  }
  Value get(const void*, int) const override { return Value::error("no such field"); }
  bool has(const void*, int) const override { return false; }
  std::optional<Type> typeOfCreated() const override { return created_; }
  Value create(FieldValues fields) const override {
    for (const auto& [field, value] : fields)
      if (!fields_.contains(field)) return Value::error(fmt::format("no such field '{}'", field));
    return create_(fields);
  }

 private:
  std::string name_;
  Type created_;
  std::map<std::string, Type, std::less<>> fields_;
  Create create_;
};

const Value* valueOfField(FieldValues fields, std::string_view name) {
  for (const auto& [field, value] : fields)
    if (field == name) return &value;
  return nullptr;
}

Value wrongType(const Value& value) {
  return Value::error("unsupported field type " + value.runtimeType().toString());
}

template <std::int64_t kMin, std::int64_t kMax>
Value createInt(FieldValues fields) {
  const Value* value = valueOfField(fields, "value");
  if (!value) return Value::integer(0);
  if (!value->is(Kind::Int)) return wrongType(*value);
  if (value->asInt() < kMin || value->asInt() > kMax) return Value::error("integer overflow");
  return *value;
}
template <std::uint64_t kMax>
Value createUint(FieldValues fields) {
  const Value* value = valueOfField(fields, "value");
  if (!value) return Value::unsignedInteger(0);
  if (!value->is(Kind::Uint)) return wrongType(*value);
  if (value->asUint() > kMax) return Value::error("unsigned integer overflow");
  return *value;
}
template <bool kFloat>
Value createReal(FieldValues fields) {
  const Value* value = valueOfField(fields, "value");
  if (!value) return Value::real(0);
  double number = 0;
  if (value->is(Kind::Double)) {
    number = value->asDouble();
  } else if (value->is(Kind::Int)) {
    number = static_cast<double>(value->asInt());
  } else {
    return wrongType(*value);
  }
  // Numbers that are too large for a float are infinite.
  if (kFloat && std::isfinite(number) && std::abs(number) > std::numeric_limits<float>::max())
    return Value::real(number < 0 ? -INFINITY : INFINITY);
  return Value::real(kFloat ? static_cast<double>(static_cast<float>(number)) : number);
}
template <Kind kKind>
Value createText(FieldValues fields) {
  const Value* value = valueOfField(fields, "value");
  if (!value) return kKind == Kind::String ? Value::stringView("") : Value::bytesView("");
  return value->is(kKind) ? *value : wrongType(*value);
}
Value createBool(FieldValues fields) {
  const Value* value = valueOfField(fields, "value");
  if (!value) return Value::boolean(false);
  return value->is(Kind::Bool) ? *value : wrongType(*value);
}

std::int64_t integerField(FieldValues fields, std::string_view name) {
  const Value* value = valueOfField(fields, name);
  return value && value->is(Kind::Int) ? value->asInt() : 0;
}
Value createTimestamp(FieldValues fields) {
  const std::int64_t seconds = integerField(fields, "seconds"),
                     nanos = integerField(fields, "nanos");
  if (seconds < kMinSeconds || seconds > kMaxSeconds || nanos < 0 || nanos > 999'999'999)
    return Value::error("timestamp overflow");
  return Value::timestamp({seconds, static_cast<std::uint32_t>(nanos)});
}
Value createDuration(FieldValues fields) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(integerField(fields, "seconds"), std::int64_t{1'000'000'000},
                             &result) ||
      __builtin_add_overflow(result, integerField(fields, "nanos"), &result))
    return Value::error("duration overflow");
  return Value::duration(result);
}
Value createStruct(FieldValues fields) {
  const Value* members = valueOfField(fields, "fields");
  if (members) return members->is(Kind::Map) ? *members : wrongType(*members);
  return Value::adopt(static_cast<const Map*>(new EntryMap()));
}
Value createList(FieldValues fields) {
  const Value* values = valueOfField(fields, "values");
  if (values) return values->is(Kind::List) ? *values : wrongType(*values);
  return Value::list({});
}

Value createValue(FieldValues fields) {
  if (fields.empty()) return {};
  const auto& [name, value] = fields.back();
  if (name == "null_value") return {};
  if (name == "number_value" && value.is(Kind::Int))
    return Value::real(static_cast<double>(value.asInt()));
  return value;
}

Value createAny(FieldValues) {
  return Value::error("google.protobuf.Any cannot be constructed: there are no messages to hold");
}

// Elements of JSON lists and values of JSON objects follow the rules of google.protobuf.Value.
void addMessage(Library& library, std::string_view name, Type created,
                std::map<std::string, Type, std::less<>> fields, Create create) {
  static std::vector<std::unique_ptr<const MessageType>> types;
  types.push_back(std::make_unique<const MessageType>(
      fmt::format("google.protobuf.{}", name), std::move(created), std::move(fields), create));
  library.types.push_back(types.back().get());
}

void addWrapper(Library& library, std::string_view name, const Type& of, Create create) {
  addMessage(library, name, Type::wrapper(of), {{"value", of}}, create);
}

}  // namespace

const Library& messagesLibrary() {
  static const Library& kLibrary = []() -> const Library& {
    static Library library;
    library.name = "messages";
    const Type i = Type::integer(), u = Type::unsignedInteger(), dyn = Type::dyn();
    addWrapper(library, "Int32Value", i, createInt<INT32_MIN, INT32_MAX>);
    addWrapper(library, "Int64Value", i, createInt<INT64_MIN, INT64_MAX>);
    addWrapper(library, "UInt32Value", u, createUint<UINT32_MAX>);
    addWrapper(library, "UInt64Value", u, createUint<UINT64_MAX>);
    addWrapper(library, "FloatValue", Type::real(), createReal<true>);
    addWrapper(library, "DoubleValue", Type::real(), createReal<false>);
    addWrapper(library, "StringValue", Type::string(), createText<Kind::String>);
    addWrapper(library, "BytesValue", Type::bytes(), createText<Kind::Bytes>);
    addWrapper(library, "BoolValue", Type::boolean(), createBool);
    addMessage(library, "Timestamp", Type::timestamp(), {{"seconds", i}, {"nanos", i}},
               createTimestamp);
    addMessage(library, "Duration", Type::duration(), {{"seconds", i}, {"nanos", i}},
               createDuration);
    addMessage(library, "Struct", Type::map(Type::string(), dyn),
               {{"fields", Type::map(Type::string(), dyn)}}, createStruct);
    addMessage(library, "ListValue", Type::list(dyn), {{"values", Type::list(dyn)}}, createList);
    addMessage(library, "Value", dyn,
               {{"null_value", dyn},
                {"number_value", Type::real()},
                {"string_value", Type::string()},
                {"bool_value", Type::boolean()},
                {"struct_value", Type::map(Type::string(), dyn)},
                {"list_value", Type::list(dyn)}},
               createValue);
    addMessage(library, "Any", dyn, {{"type_url", Type::string()}, {"value", Type::bytes()}},
               createAny);
    library.constants.push_back({"google.protobuf.NullValue.NULL_VALUE", Value::integer(0), i});
    return library;
  }();
  return kLibrary;
}

}  // namespace koord::cel
