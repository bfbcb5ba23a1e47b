#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "apiserver/objects/formats.h"
#include "apiserver/objects/normalize.h"

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
      return value.is_string() || isInteger(value) ? nullptr : "integer,string";
    case Type::Any:
      return nullptr;
  }
  return nullptr;
}

std::size_t codePoints(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

// A limit as messages print it: whole where the value is.
std::string limitText(double limit, const json::value& value) {
  if (value.is_double()) return floatText(limit);
  return fmt::format("{:.0f}", std::trunc(limit));  // may be beyond 64 bits
}

// The messages are those of kube-openapi, by way of apiextensions' field errors.
class Validator {
 public:
  explicit Validator(FieldErrors& errors) : errors_(errors) {}

  void check(const json::value& value, const Schema& schema, const std::string& path) {
    const bool missing = value.is_null();
    if (missing && (schema.nullable || schema.type == Schema::Type::Any)) return;
    if (const char* type = wrongType(value, schema))
      errors_.typeInvalid(
          path, typeName(value),
          fmt::format("{} in body must be of type {}: \"{}\"", path, type, typeName(value)));
    if (missing) return;
    if (schema.limits) checkLimits(value, *schema.limits, path);
    if (const auto* object = value.if_object()) {
      checkMembers(*object, schema, path);
    } else if (const auto* array = value.if_array(); array && schema.type == Schema::Type::List) {
      if (schema.items)
        for (std::size_t i = 0; i < array->size(); ++i)
          check((*array)[i], *schema.items, fmt::format("{}[{}]", path, i));
      checkListKind(*array, schema, path);
    }
  }

 private:
  void checkMembers(const json::object& object, const Schema& schema, const std::string& path) {
    for (const auto& field : schema.fields) {
      const auto* member = object.if_contains(field.name);
      if (!member) {
        if (field.required) errors_.required(join(path, field.name));
      } else if (field.type) {
        check(*member, *field.type, join(path, field.name));
      }
    }
    if (schema.type == Schema::Type::Map && schema.items)
      for (const auto& member : object)
        check(member.value(), *schema.items, join(path, member.key()));
  }

  void checkLimits(const json::value& value, const SchemaLimits& limits, const std::string& path) {
    checkCombinations(value, limits, path);
    if (value.is_number()) checkNumber(value, limits, path);
    if (const auto* text = value.if_string()) checkString(*text, limits, path);
    if (const auto* array = value.if_array())
      checkSize(array->size(), limits.minItems, limits.maxItems, "items", path);
    if (const auto* object = value.if_object())
      checkSize(object->size(), limits.minProperties, limits.maxProperties, "properties", path);
    if (!limits.allowed.empty() &&
        std::ranges::find(limits.allowed, value) == limits.allowed.end()) {
      std::vector<std::string> names;
      for (const auto& one : limits.allowed)
        names.push_back(one.is_string() ? std::string(one.get_string()) : toJson(one));
      errors_.unsupported(path, value, names);
    }
  }

  void invalid(const std::string& path, ShownValue value, std::string_view why) {
    errors_.invalid(path, std::move(value), fmt::format("{} in body {}", path, why));
  }

  void checkNumber(const json::value& value, const SchemaLimits& limits, const std::string& path) {
    const double number = value.to_number<double>();
    const auto bound = [&](const std::optional<double>& limit, bool exclusive, bool below,
                           const char* relation) {
      if (!limit || (below ? number > *limit : number < *limit)) return;
      if (number == *limit && !exclusive) return;
      invalid(path, value,
              fmt::format("should be {} than {}{}", relation, exclusive ? "" : "or equal to ",
                          limitText(*limit, value)));
    };
    if (limits.multipleOf && std::fmod(number, *limits.multipleOf) != 0)
      invalid(path, value,
              fmt::format("should be a multiple of {}", limitText(*limits.multipleOf, value)));
    bound(limits.maximum, limits.exclusiveMaximum, false, "less");
    bound(limits.minimum, limits.exclusiveMinimum, true, "greater");
  }

  void checkString(std::string_view text, const SchemaLimits& limits, const std::string& path) {
    if (limits.maxLength && codePoints(text) > *limits.maxLength)
      errors_.tooLong(path, *limits.maxLength);
    if (limits.minLength && codePoints(text) < *limits.minLength)
      invalid(path, text, fmt::format("should be at least {} chars long", *limits.minLength));
    if (limits.regex && !re2::RE2::PartialMatch(text, *limits.regex))
      invalid(path, text, fmt::format("should match '{}'", limits.pattern));
    if (!hasFormat(text, limits.format))
      errors_.typeInvalid(path, text,
                          fmt::format("{} in body must be of type {}: {}", path, limits.format,
                                      ShownValue(text).text));
  }

  void checkSize(std::size_t size, const std::optional<std::size_t>& least,
                 const std::optional<std::size_t>& most, const char* what,
                 const std::string& path) {
    if (least && size < *least)
      invalid(path, static_cast<std::int64_t>(size),
              fmt::format("should have at least {} {}", *least, what));
    if (most && size > *most) errors_.tooMany(path, size, *most);
  }

  // What is wrong with the object as a whole has no path.
  void combination(const std::string& path, std::string_view rule) {
    errors_.invalid("<nil>", "", fmt::format("\"{}\" must {}", path, rule));
  }

  FieldErrors problemsOf(const json::value& value, const Schema& schema, const std::string& path) {
    FieldErrors out;
    Validator(out).check(value, schema, path);
    return out;
  }

  void checkCombinations(const json::value& value, const SchemaLimits& limits,
                         const std::string& path) {
    const auto checkAll = [&](const std::vector<const Schema*>& schemas) {
      std::vector<FieldErrors> out;
      for (const auto* schema : schemas) out.push_back(problemsOf(value, *schema, path));
      return out;
    };
    if (auto all = checkAll(limits.anyOf);
        !all.empty() && std::ranges::none_of(all, &FieldErrors::empty)) {
      combination(path, "validate at least one schema (anyOf)");
      errors_.append(std::move(all.front()));
    }
    if (auto all = checkAll(limits.oneOf); !all.empty()) {
      const auto valid = std::ranges::count_if(all, &FieldErrors::empty);
      if (valid == 0) {
        combination(path, "validate one and only one schema (oneOf). Found none valid");
        errors_.append(std::move(all.front()));
      } else if (valid > 1) {
        combination(path, fmt::format("validate one and only one schema (oneOf). Found {} valid "
                                      "alternatives",
                                      valid));
      }
    }
    if (auto all = checkAll(limits.allOf); !all.empty()) {
      const auto valid = std::ranges::count_if(all, &FieldErrors::empty);
      for (auto& errors : all) errors_.append(std::move(errors));
      if (valid < std::ssize(limits.allOf))
        combination(path, fmt::format("validate all the schemas (allOf){}",
                                      valid == 0 ? ". None validated" : ""));
    }
    if (limits.not_ && problemsOf(value, *limits.not_, path).empty())
      combination(path, "not validate the schema (not)");
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
