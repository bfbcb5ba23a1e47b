// Validates custom resources against the schema of their CustomResourceDefinition, in a walk over
// value and schema together. At each place the type is checked first, and the rest only if the type
// is right: limits (ranges, lengths, patterns, formats, allowed values), combinations (anyOf,
// oneOf, allOf, not) and the kind of list (sets and maps must not have duplicates).
//
// Each alternative is tried with a separate list of errors. If none matches, the rule itself and
// the errors of the first alternative are reported, as in kube-openapi, with its messages.
//
// Users write the schema, and both it and the object may be hostile: nested alternatives take
// exponential time, and a set of a million equal elements quadratic time. So every comparison is a
// step, and a validation has kMaxValidationSteps. When they are used up the object is rejected,
// even without an error. Set elements are found by hash. Paths become text only for an error
// (place.h). Patterns are RE2's, whose time is linear in the text.
//
// Cost: O(size of the object) without alternatives, and never more than the steps.

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "apiserver/objects/formats.h"
#include "apiserver/objects/normalize.h"
#include "apiserver/objects/place.h"
#include "base/utf8.h"

namespace koord::apiserver {
namespace {

using api::Schema;
using api::SchemaLimits;

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

// The expected type's name if the value has another type.
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

// A limit as messages print it: whole if the value is.
std::string limitText(double limit, const json::value& value) {
  if (value.is_double()) return floatText(limit);
  return fmt::format("{:.0f}", std::trunc(limit));  // may be beyond 64 bits
}

// The messages are those of kube-openapi, by way of apiextensions' field errors.
class Validator {
 public:
  // `steps`: the remaining steps; at 0 all checks stop.
  Validator(FieldErrors& errors, std::size_t& steps) : errors_(errors), steps_(steps) {}

  void check(const json::value& value, const Schema& schema, const Place& place) {
    if (!step(1)) return;
    const bool missing = value.is_null();
    if (missing && (schema.nullable || schema.type == Schema::Type::Any)) return;
    if (const char* type = wrongType(value, schema)) {
      const auto path = place.text();
      errors_.typeInvalid(
          path, typeName(value),
          fmt::format("{} in body must be of type {}: \"{}\"", path, type, typeName(value)));
    }
    if (missing) return;
    if (schema.limits) checkLimits(value, *schema.limits, place);
    if (const auto* object = value.if_object()) {
      checkMembers(*object, schema, place);
    } else if (const auto* array = value.if_array(); array && schema.type == Schema::Type::List) {
      if (schema.items)
        for (std::size_t i = 0; i < array->size(); ++i)
          check((*array)[i], *schema.items, Place{&place, {}, i});
      checkListKind(*array, schema, place);
    }
  }

 private:
  bool step(std::size_t count) {
    steps_ -= std::min(steps_, count);
    return steps_ > 0;
  }

  void checkMembers(const json::object& object, const Schema& schema, const Place& place) {
    if (!step(schema.fields.size())) return;
    for (const auto& field : schema.fields) {
      const auto* member = object.if_contains(field.name);
      if (!member) {
        if (field.required) errors_.required(Place{&place, field.name}.text());
      } else if (field.type) {
        check(*member, *field.type, Place{&place, field.name});
      }
    }
    if (schema.type == Schema::Type::Map && schema.items)
      for (const auto& member : object)
        check(member.value(), *schema.items, Place{&place, member.key()});
  }

  void checkLimits(const json::value& value, const SchemaLimits& limits, const Place& place) {
    checkCombinations(value, limits, place);
    if (value.is_number()) checkNumber(value, limits, place);
    if (const auto* text = value.if_string()) checkString(*text, limits, place);
    if (const auto* array = value.if_array())
      checkSize(array->size(), limits.minItems, limits.maxItems, "items", place);
    if (const auto* object = value.if_object())
      checkSize(object->size(), limits.minProperties, limits.maxProperties, "properties", place);
    if (!limits.allowed.empty() && step(limits.allowed.size()) &&
        std::ranges::find(limits.allowed, value) == limits.allowed.end()) {
      std::vector<std::string> names;
      for (const auto& one : limits.allowed)
        names.push_back(one.is_string() ? std::string(one.get_string()) : toJson(one));
      errors_.unsupported(place.text(), value, names);
    }
  }

  void invalid(const Place& place, ShownValue value, std::string_view why) {
    const auto path = place.text();
    errors_.invalid(path, std::move(value), fmt::format("{} in body {}", path, why));
  }

  void checkNumber(const json::value& value, const SchemaLimits& limits, const Place& place) {
    const double number = realNumber(value).value_or(0);
    const auto bound = [&](const std::optional<double>& limit, bool exclusive, bool below,
                           const char* relation) {
      if (!limit || (below ? number > *limit : number < *limit)) return;
      if (number == *limit && !exclusive) return;
      invalid(place, value,
              fmt::format("should be {} than {}{}", relation, exclusive ? "" : "or equal to ",
                          limitText(*limit, value)));
    };
    if (limits.multipleOf && std::fmod(number, *limits.multipleOf) != 0)
      invalid(place, value,
              fmt::format("should be a multiple of {}", limitText(*limits.multipleOf, value)));
    bound(limits.maximum, limits.exclusiveMaximum, false, "less");
    bound(limits.minimum, limits.exclusiveMinimum, true, "greater");
  }

  void checkString(std::string_view text, const SchemaLimits& limits, const Place& place) {
    if (limits.maxLength && charactersIn(text) > *limits.maxLength)
      errors_.tooLong(place.text(), *limits.maxLength);
    if (limits.minLength && charactersIn(text) < *limits.minLength)
      invalid(place, text, fmt::format("should be at least {} chars long", *limits.minLength));
    if (limits.regex && !re2::RE2::PartialMatch(text, *limits.regex))
      invalid(place, text, fmt::format("should match '{}'", limits.pattern));
    if (!hasFormat(text, limits.format)) {
      const auto path = place.text();
      errors_.typeInvalid(path, text,
                          fmt::format("{} in body must be of type {}: {}", path, limits.format,
                                      ShownValue(text).text));
    }
  }

  void checkSize(std::size_t size, const std::optional<std::size_t>& least,
                 const std::optional<std::size_t>& most, const char* what, const Place& place) {
    if (least && size < *least)
      invalid(place, static_cast<std::int64_t>(size),
              fmt::format("should have at least {} {}", *least, what));
    if (most && size > *most) errors_.tooMany(place.text(), size, *most);
  }

  // Errors about the whole object have no path.
  void combination(const Place& place, std::string_view rule) {
    errors_.invalid("<nil>", "", fmt::format("\"{}\" must {}", place.text(), rule));
  }

  FieldErrors problemsOf(const json::value& value, const Schema& schema, const Place& place) {
    FieldErrors out;
    Validator(out, steps_).check(value, schema, place);
    return out;
  }

  struct Alternatives {
    std::size_t valid = 0;
    FieldErrors first;  // the errors of the first of them
  };
  Alternatives tryAll(const json::value& value, const std::vector<const Schema*>& schemas,
                      const Place& place) {
    Alternatives out;
    for (std::size_t i = 0; i < schemas.size(); ++i) {
      auto problems = problemsOf(value, *schemas[i], place);
      if (problems.empty()) ++out.valid;
      if (i == 0) out.first = std::move(problems);
    }
    return out;
  }

  void checkCombinations(const json::value& value, const SchemaLimits& limits, const Place& place) {
    if (!limits.anyOf.empty()) {
      auto any = tryAll(value, limits.anyOf, place);
      if (any.valid == 0) {
        combination(place, "validate at least one schema (anyOf)");
        errors_.append(std::move(any.first));
      }
    }
    if (!limits.oneOf.empty()) {
      auto one = tryAll(value, limits.oneOf, place);
      if (one.valid == 0) {
        combination(place, "validate one and only one schema (oneOf). Found none valid");
        errors_.append(std::move(one.first));
      } else if (one.valid > 1) {
        combination(place, fmt::format("validate one and only one schema (oneOf). Found {} valid "
                                       "alternatives",
                                       one.valid));
      }
    }
    std::size_t valid = 0;
    for (const auto* schema : limits.allOf) {
      auto problems = problemsOf(value, *schema, place);
      if (problems.empty()) ++valid;
      errors_.append(std::move(problems));
    }
    if (valid < limits.allOf.size())
      combination(place, fmt::format("validate all the schemas (allOf){}",
                                     valid == 0 ? ". None validated" : ""));
    if (limits.not_ && problemsOf(value, *limits.not_, place).empty())
      combination(place, "not validate the schema (not)");
  }

  // Equal elements have the same hash, so only few are compared.
  void checkListKind(const json::array& array, const Schema& schema, const Place& place) {
    if (schema.listKind == Schema::ListKind::Atomic) return;
    const bool isMap = schema.listKind == Schema::ListKind::Map;
    const auto same = [&](const json::value& left, const json::value& right) {
      if (!isMap) return left == right;
      return std::ranges::all_of(schema.listKeys, [&](const std::string& key) {
        const auto* a = find(left, key);
        const auto* b = find(right, key);
        return a && b ? *a == *b : a == b;
      });
    };
    const auto hashOf = [&](const json::value& item) {
      if (!isMap) return std::hash<json::value>{}(item);
      std::size_t hash = 0;
      for (const auto& key : schema.listKeys) {
        const auto* value = find(item, key);
        hash = hash * 31 + (value ? std::hash<json::value>{}(*value) : 0);
      }
      return hash;
    };
    std::unordered_map<std::size_t, std::vector<std::size_t>> seen;
    for (std::size_t i = 0; i < array.size(); ++i) {
      auto& candidates = seen[hashOf(array[i])];
      if (!step(1 + candidates.size())) return;
      if (std::ranges::any_of(candidates,
                              [&](std::size_t j) { return same(array[i], array[j]); })) {
        errors_.duplicate(Place{&place, {}, i}.text(), array[i]);
      } else {
        candidates.push_back(i);
      }
    }
  }

  FieldErrors& errors_;
  std::size_t& steps_;
};

}  // namespace

void validateCustom(const json::value& object, const Schema& schema, FieldErrors& errors) {
  std::size_t steps = kMaxValidationSteps;
  Validator(errors, steps).check(object, schema, {});
  // Also if all checked parts are valid: the skipped parts might be invalid.
  if (steps == 0)
    errors.forbidden("<nil>", fmt::format("the validation takes more than {} steps; make the "
                                          "object or the schema's alternatives smaller",
                                          kMaxValidationSteps));
}

}  // namespace koord::apiserver
