#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>

#include "apiserver/objects/normalize.h"
#include "base/quantity.h"
#include "base/time.h"

namespace koord::apiserver {
namespace {

using api::Schema;
using api::SchemaLimits;

std::string join(const std::string& path, std::string_view field) {
  return path.empty() ? std::string(field) : path + "." + std::string(field);
}

const char* typeName(const json::value& value) {
  if (value.is_object()) return "object";
  if (value.is_array()) return "array";
  if (value.is_string()) return "string";
  if (value.is_bool()) return "boolean";
  if (value.is_double()) return "number";
  if (value.is_null()) return "null";
  return "integer";
}

bool isInteger(const json::value& value) {
  return value.is_int64() || value.is_uint64() ||
         (value.is_double() && std::trunc(value.get_double()) == value.get_double());
}

// The expected type's name when the value has another one.
const char* wrongType(const json::value& value, const Schema& schema) {
  using Type = Schema::Type;
  switch (schema.type) {
    case Type::Object:
    case Type::Map:
      return value.is_object() ? nullptr : "object";
    case Type::List:
      return value.is_array() ? nullptr : "array";
    case Type::String:
    case Type::Bytes:
    case Type::Time:
    case Type::MicroTime:
    case Type::Duration:
      return value.is_string() ? nullptr : "string";
    case Type::Integer:
      return isInteger(value) ? nullptr : "integer";
    case Type::Number:
      return value.is_number() ? nullptr : "number";
    case Type::Boolean:
      return value.is_bool() ? nullptr : "boolean";
    case Type::IntOrString:
    case Type::Quantity:
      return value.is_string() || value.is_number() ? nullptr : "integer,string";
    case Type::Any:
      return nullptr;
  }
  return nullptr;
}

std::size_t codePoints(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

class Validator {
 public:
  explicit Validator(FieldErrors& errors) : errors_(errors) {}

  void check(const json::value& value, const Schema& schema, const std::string& path) {
    if (value.is_null()) {
      if (!schema.nullable && schema.type != Schema::Type::Any)
        errors_.invalid(
            path, nullptr,
            fmt::format("{} in body must be of type {}: \"null\"", path, expected(schema)));
      return;
    }
    if (const char* type = wrongType(value, schema)) {
      errors_.invalid(
          path, value,
          fmt::format("{} in body must be of type {}: \"{}\"", path, type, typeName(value)));
      return;
    }
    if (schema.limits) checkLimits(value, *schema.limits, path);
    if (const auto* object = value.if_object()) {
      for (const auto& field : schema.fields) {
        const auto* member = object->if_contains(field.name);
        if (!member) {
          if (field.required) errors_.required(join(path, field.name));
        } else if (field.type) {
          check(*member, *field.type, join(path, field.name));
        }
      }
      if (schema.type == Schema::Type::Map && schema.items)
        for (const auto& member : *object)
          check(member.value(), *schema.items, join(path, member.key()));
    } else if (const auto* array = value.if_array()) {
      if (schema.items)
        for (std::size_t i = 0; i < array->size(); ++i)
          check((*array)[i], *schema.items, fmt::format("{}[{}]", path, i));
      checkListKind(*array, schema, path);
    }
  }

 private:
  static const char* expected(const Schema& schema) {
    const char* type = wrongType(nullptr, schema);
    return type ? type : "any";
  }

  void checkLimits(const json::value& value, const SchemaLimits& limits, const std::string& path) {
    const auto invalid = [&](std::string why) {
      errors_.invalid(path, value, fmt::format("{} in body {}", path, why));
    };
    if (!limits.allowed.empty() &&
        std::ranges::find(limits.allowed, value) == limits.allowed.end()) {
      std::vector<std::string> names;
      for (const auto& one : limits.allowed)
        names.push_back(one.is_string() ? std::string(one.get_string()) : toJson(one));
      errors_.unsupported(path, value, names);
    }
    if (value.is_number()) {
      const double number = value.to_number<double>();
      if (limits.minimum &&
          (number < *limits.minimum || (limits.exclusiveMinimum && number == *limits.minimum)))
        invalid(fmt::format("should be greater than {}{}",
                            limits.exclusiveMinimum ? "" : "or equal to ", *limits.minimum));
      if (limits.maximum &&
          (number > *limits.maximum || (limits.exclusiveMaximum && number == *limits.maximum)))
        invalid(fmt::format("should be less than {}{}",
                            limits.exclusiveMaximum ? "" : "or equal to ", *limits.maximum));
      if (limits.multipleOf && std::fmod(number, *limits.multipleOf) != 0)
        invalid(fmt::format("should be a multiple of {}", *limits.multipleOf));
    } else if (value.is_string()) {
      checkString(std::string(value.get_string()), limits, path, invalid);
    } else if (const auto* array = value.if_array()) {
      if (limits.minItems && array->size() < *limits.minItems)
        invalid(fmt::format("should have at least {} items", *limits.minItems));
      if (limits.maxItems && array->size() > *limits.maxItems)
        invalid(fmt::format("should have at most {} items", *limits.maxItems));
    } else if (const auto* object = value.if_object()) {
      if (limits.minProperties && object->size() < *limits.minProperties)
        invalid(fmt::format("should have at least {} properties", *limits.minProperties));
      if (limits.maxProperties && object->size() > *limits.maxProperties)
        invalid(fmt::format("should have at most {} properties", *limits.maxProperties));
    }
    checkCombinations(value, limits, path, invalid);
  }

  template <class Invalid>
  void checkString(const std::string& text, const SchemaLimits& limits, const std::string& path,
                   Invalid& invalid) {
    (void)path;
    if (limits.minLength && codePoints(text) < *limits.minLength)
      invalid(fmt::format("should be at least {} chars long", *limits.minLength));
    if (limits.maxLength && codePoints(text) > *limits.maxLength)
      invalid(fmt::format("should be at most {} chars long", *limits.maxLength));
    if (limits.regex && !re2::RE2::PartialMatch(text, *limits.regex))
      invalid(fmt::format("should match '{}'", limits.pattern));
    if (limits.format == "date-time" && !parseTime(text))
      invalid("must be of type date-time: \"" + text + "\"");
    if (limits.format == "duration" && !parseDuration(text))
      invalid("must be of type duration: \"" + text + "\"");
  }

  template <class Invalid>
  void checkCombinations(const json::value& value, const SchemaLimits& limits,
                         const std::string& path, Invalid& invalid) {
    for (const auto* schema : limits.allOf) check(value, *schema, path);
    const auto fits = [&](const Schema* schema) {
      FieldErrors inner;
      Validator(inner).check(value, *schema, path);
      return inner.empty();
    };
    if (!limits.anyOf.empty() && std::ranges::none_of(limits.anyOf, fits))
      invalid("must validate at least one schema (anyOf)");
    if (!limits.oneOf.empty() && std::ranges::count_if(limits.oneOf, fits) != 1)
      invalid("must validate one and only one schema (oneOf)");
    if (limits.not_ && fits(limits.not_)) invalid("must not validate the schema (not)");
  }

  void checkListKind(const json::array& array, const Schema& schema, const std::string& path) {
    if (schema.listKind == Schema::ListKind::Atomic) return;
    const bool isMap = schema.listKind == Schema::ListKind::Map;
    for (std::size_t i = 0; i < array.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        const bool same = isMap ? std::ranges::all_of(schema.listKeys,
                                                      [&](const std::string& key) {
                                                        const auto* a = find(array[i], key);
                                                        const auto* b = find(array[j], key);
                                                        return a && b ? *a == *b : a == b;
                                                      })
                                : array[i] == array[j];
        if (same) {
          errors_.duplicate(fmt::format("{}[{}]", path, i), array[i]);
          break;
        }
      }
  }

  FieldErrors& errors_;
};

}  // namespace

void validateCustom(const json::value& object, const Schema& schema, FieldErrors& errors) {
  Validator(errors).check(object, schema, "");
}

}  // namespace koord::apiserver
