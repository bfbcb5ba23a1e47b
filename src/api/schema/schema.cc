#include "api/schema/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "api/quantity_json.h"
#include "base/time.h"

namespace koord::api {
namespace {

std::string shorten(const json::value& value) {
  std::string text = toJson(value);
  if (text.size() <= 60) return text;
  text.resize(57);
  return text += "...";
}

std::string join(std::string_view path, std::string_view field) {
  return path.empty() ? std::string(field) : fmt::format("{}.{}", path, field);
}

// Fields whose numbers have 64 bits, by name; all others have 32. What does not fit cannot be read
// by any client with types, and neither can a list that has it.
constexpr std::string_view kWide[] = {
    "activeDeadlineSeconds",
    "capacity",
    "deletionGracePeriodSeconds",
    "expirationSeconds",
    "fsGroup",
    "generation",
    "gid",
    "gracePeriodSeconds",
    "int",
    "ints",
    "maxItems",
    "maxLength",
    "maxProperties",
    "minItems",
    "minLength",
    "minProperties",
    "nodeAllocatableUpdatePeriodSeconds",
    "observedGeneration",
    "remainingItemCount",
    "resourceSliceCount",
    "revision",
    "runAsGroup",
    "runAsUser",
    "seconds",
    "size",
    "sizeBytes",
    "start",
    "startingDeadlineSeconds",
    "supplementalGroups",
    "templateGeneration",
    "terminationGracePeriodSeconds",
    "tolerationSeconds",
    "uid",
    "user",
};

class TypeCheck {
 public:
  std::optional<FieldProblem> problem;

  // The path is put together on the way back from a problem only.
  bool check(const json::value& value, const Schema& schema) {
    using Type = Schema::Type;
    if (value.is_null()) return true;  // null is "not given" to the API
    switch (schema.type) {
      case Type::Any:
        return true;
      case Type::Object:
        return checkObject(value, schema);
      case Type::Map: {
        const auto* object = value.if_object();
        if (!object) return expected("an object", value);
        if (!schema.items) return true;
        for (const auto& member : *object)
          if (!check(member.value(), *schema.items))
            return at(fmt::format("[{}]", std::string_view(member.key())));
        return true;
      }
      case Type::List: {
        const auto* array = value.if_array();
        if (!array) return expected("a list", value);
        if (!schema.items) return true;
        for (std::size_t i = 0; i < array->size(); ++i)
          if (!check((*array)[i], *schema.items)) return at(fmt::format("[{}]", i));
        return true;
      }
      case Type::String:
        return value.is_string() || expected("a string", value);
      case Type::Bytes:
        return value.is_string() || expected("base64 text", value);
      case Type::Integer:
        if (value.is_int64()) return true;
        if (value.is_double() && std::abs(value.get_double()) < 0x1p63 &&
            value.get_double() == std::trunc(value.get_double()))
          return true;
        return expected("an integer", value);
      case Type::Number:
        return value.is_number() || expected("a number", value);
      case Type::Boolean:
        return value.is_bool() || expected("true or false", value);
      case Type::IntOrString:
        return value.is_string() || value.is_int64() || expected("an integer or a string", value);
      case Type::Quantity: {
        if (!value.is_string() && !value.is_number())
          return expected("a quantity such as 500m or 2Gi", value);
        auto quantity = readQuantity(value);
        return quantity || wrong(fmt::format("{}: {}", shorten(value), quantity.error().message));
      }
      case Type::Time:
      case Type::MicroTime:
        if (!value.is_string()) return expected("a time such as 2026-01-02T03:04:05Z", value);
        return parseTime(std::string_view(value.get_string())).has_value() ||
               expected("a time such as 2026-01-02T03:04:05Z", value);
      case Type::Duration:
        if (!value.is_string()) return expected("a duration such as 1h30m", value);
        return parseDuration(std::string_view(value.get_string())).has_value() ||
               expected("a duration such as 1h30m", value);
    }
    return true;
  }

 private:
  // Of a number, or a list of numbers.
  bool checkWidth(const json::key_value_pair& member, const Schema& type) {
    using Type = Schema::Type;
    const bool list = type.type == Type::List && type.items && type.items->type == Type::Integer;
    if (!list && type.type != Type::Integer) return true;
    if (std::ranges::find(kWide, std::string_view(member.key())) != std::end(kWide)) return true;
    const auto fits = [&](const json::value& value) {
      const auto number = wholeNumber(value);
      return !number || std::in_range<std::int32_t>(*number) ||
             expected("an integer of 32 bits", value);
    };
    const auto* items = member.value().if_array();
    return items ? std::ranges::all_of(*items, fits) : fits(member.value());
  }
  bool checkObject(const json::value& value, const Schema& schema) {
    const auto* object = value.if_object();
    if (!object) return expected("an object", value);
    for (const auto& member : *object) {
      const auto* field = schema.field(member.key());
      if (!field || !field->type) continue;
      if (!check(member.value(), *field->type) || !checkWidth(member, *field->type))
        return at(member.key());
    }
    return true;
  }
  bool wrong(std::string message) {
    problem = FieldProblem{"", std::move(message)};
    return false;
  }
  bool expected(std::string_view what, const json::value& got) {
    return wrong(fmt::format("expected {}, got {}", what, shorten(got)));
  }
  bool at(std::string_view where) {
    auto& path = problem->path;
    if (!path.empty() && path.front() != '[') path.insert(0, ".");
    path.insert(0, where);
    return false;
  }
};

void collectUnknown(const json::value& value, const Schema& schema, const std::string& path,
                    std::vector<std::string>& out) {
  if (const auto* array = value.if_array();
      array && schema.type == Schema::Type::List && schema.items) {
    for (std::size_t i = 0; i < array->size(); ++i)
      collectUnknown((*array)[i], *schema.items, fmt::format("{}[{}]", path, i), out);
  } else if (const auto* object = value.if_object()) {
    if (schema.type == Schema::Type::Map && schema.items) {
      for (const auto& member : *object)
        collectUnknown(member.value(), *schema.items, join(path, member.key()), out);
    } else if (schema.type == Schema::Type::Object) {
      for (const auto& member : *object) {
        const std::string_view key = member.key();
        const auto* field = schema.field(key);
        if (field) {
          if (field->type) collectUnknown(member.value(), *field->type, join(path, key), out);
        } else if (!schema.preserveUnknown &&
                   !(schema.embedded &&
                     (key == "apiVersion" || key == "kind" || key == "metadata"))) {
          out.push_back(join(path, key));
        }
      }
    }
  }
}

}  // namespace

bool SchemaField::zeroWhenMissing() const {
  if (!type) return false;
  const auto kind = type->type;
  const bool number = kind == Schema::Type::Integer || kind == Schema::Type::Boolean;
  return (required && number) ||
         (kept && (number || kind == Schema::Type::String || kind == Schema::Type::Object));
}

namespace {

// Where a name was found in a schema, by a hash of both. A write of a pod looks up hundreds of
// names, which are nearly always the same. An entry is a guess that field() checks, so collisions
// and schemas at the address of a deleted one do no harm.
class FieldGuesses {
 public:
  std::uint16_t& of(const Schema& schema, std::string_view name) {
    std::uint64_t first = 0, last = name.size();
    if (name.size() >= sizeof first) {
      std::memcpy(&first, name.data(), sizeof first);
      std::memcpy(&last, name.data() + name.size() - sizeof last, sizeof last);
    } else {
      for (const char c : name) first = first << 8 | static_cast<unsigned char>(c);
    }
    constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15ULL;
    const auto hash =
        ((reinterpret_cast<std::uintptr_t>(&schema) >> 4 ^ first) * kMix ^ last) * kMix;
    return guesses_[hash >> (64 - kBits)];
  }

 private:
  static constexpr int kBits = 12;
  std::array<std::uint16_t, std::size_t{1} << kBits> guesses_{};
};

}  // namespace

const SchemaField* Schema::field(std::string_view fieldName) const {
  thread_local FieldGuesses guesses;
  std::uint16_t& guess = guesses.of(*this, fieldName);
  if (guess < fields.size() && fields[guess].name == fieldName) return &fields[guess];
  const auto it = std::ranges::lower_bound(fields, fieldName, {}, &SchemaField::name);
  if (it == fields.end() || it->name != fieldName) return nullptr;
  guess = static_cast<std::uint16_t>(it - fields.begin());
  return &*it;
}

Schema& SchemaSet::addNamed(std::string name) {
  auto& slot = named_[name];
  if (!slot) {
    slot = &add();
    slot->name = std::move(name);
  }
  return *slot;
}

const Schema* SchemaSet::find(std::string_view name) const {
  const auto it = named_.find(name);
  return it == named_.end() ? nullptr : it->second;
}

std::optional<FieldProblem> checkTypes(const json::value& value, const Schema& schema) {
  TypeCheck check;
  check.check(value, schema);
  return std::move(check.problem);
}

std::vector<std::string> unknownFields(const json::value& value, const Schema& schema) {
  std::vector<std::string> out;
  collectUnknown(value, schema, "", out);
  return out;
}

}  // namespace koord::api
