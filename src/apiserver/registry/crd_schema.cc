#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <set>

#include "apiserver/registry/crd.h"
#include "base/utf8.h"

namespace koord::apiserver {
namespace {

using api::Schema;
using api::SchemaLimits;

// The path of a schema: ".properties[spec].items". Becomes text only for an error.
struct SchemaPlace {
  const SchemaPlace* above = nullptr;
  std::string_view part;
  std::string_view member = {};
  std::optional<std::size_t> index = {};

  std::string text() const {
    std::string out = above ? above->text() + "." : "";
    out += part;
    if (!member.empty()) out.append("[").append(utf8Prefix(member, kMaxShown)).append("]");
    if (index) out += fmt::format("[{}]", *index);
    return out;
  }
  static constexpr std::size_t kMaxShown = 256;
};

class Compiler {
 public:
  explicit Compiler(api::SchemaSet& set) : set_(set) {}

  Result<const Schema*> compile(const json::value& in, const SchemaPlace& place) {
    if (!in.is_object()) return fail(ErrorCode::Invalid, place.text() + ": must be an object");
    auto& out = set_.add();
    if (auto typed = setType(out, in, place); !typed) return fail(typed.error());
    out.description = textAt(in, "description");
    out.nullable = flag(in, "nullable");
    out.preserveUnknown = flag(in, "x-kubernetes-preserve-unknown-fields");
    out.embedded = flag(in, "x-kubernetes-embedded-resource");
    setListKind(out, in);
    if (auto done = setChildren(out, in, place); !done) return fail(done.error());
    if (auto done = setLimits(out, in, place); !done) return fail(done.error());
    return &out;
  }

 private:
  static bool flag(const json::value& in, std::string_view name) {
    const auto* member = find(in, name);
    return member && member->is_bool() && member->get_bool();
  }

  static Result<> setType(Schema& out, const json::value& in, const SchemaPlace& place) {
    using Type = Schema::Type;
    const auto type = textAt(in, "type");
    if (flag(in, "x-kubernetes-int-or-string")) {
      out.type = Type::IntOrString;
    } else if (type == "object") {
      out.type = Type::Object;
    } else if (type == "array") {
      out.type = Type::List;
    } else if (type == "string") {
      out.type = Type::String;
    } else if (type == "integer") {
      out.type = Type::Integer;
    } else if (type == "number") {
      out.type = Type::Number;
    } else if (type == "boolean") {
      out.type = Type::Boolean;
    } else if (!type.empty()) {
      return fail(ErrorCode::Invalid,
                  fmt::format("{}.type: Unsupported value: \"{}\"", place.text(), type));
    }
    return {};
  }

  static void setListKind(Schema& out, const json::value& in) {
    const auto kind = textAt(in, "x-kubernetes-list-type");
    if (kind == "set") out.listKind = Schema::ListKind::Set;
    if (kind == "map") out.listKind = Schema::ListKind::Map;
    if (const auto* keys = find(in, "x-kubernetes-list-map-keys"); keys && keys->is_array())
      for (const auto& key : keys->get_array())
        if (key.is_string()) out.listKeys.emplace_back(key.get_string());
    out.atomic = textAt(in, "x-kubernetes-map-type") == "atomic";
  }

  Result<> setChildren(Schema& out, const json::value& in, const SchemaPlace& place) {
    if (const auto* items = find(in, "items")) {
      auto compiled = compile(*items, {&place, "items"});
      if (!compiled) return fail(compiled.error());
      out.items = *compiled;
    }
    if (const auto* extra = find(in, "additionalProperties")) {
      if (extra->is_object()) {
        auto compiled = compile(*extra, {&place, "additionalProperties"});
        if (!compiled) return fail(compiled.error());
        out.type = Schema::Type::Map;
        out.items = *compiled;
      } else if (extra->is_bool() && extra->get_bool()) {
        out.preserveUnknown = true;
      }
    }
    if (const auto* properties = find(in, "properties"); properties && properties->is_object()) {
      for (const auto& member : properties->get_object()) {
        auto compiled = compile(member.value(), {&place, "properties", member.key()});
        if (!compiled) return fail(compiled.error());
        api::SchemaField field;
        field.name = member.key();
        field.type = *compiled;
        out.fields.push_back(std::move(field));
      }
      std::ranges::sort(out.fields, {}, &api::SchemaField::name);
    }
    if (const auto* required = find(in, "required"); required && required->is_array()) {
      std::set<std::string_view> names;
      for (const auto& name : required->get_array())
        if (name.is_string()) names.insert(name.get_string());
      for (auto& field : out.fields) field.required = names.erase(field.name) > 0;
      for (const auto name : names) out.fields.push_back({std::string(name), nullptr, true});
      std::ranges::sort(out.fields, {}, &api::SchemaField::name);
    }
    return {};
  }

  Result<> setLimits(Schema& out, const json::value& in, const SchemaPlace& place) {
    SchemaLimits limits;
    bool any = setNumbers(limits, in);
    limits.uniqueItems = flag(in, "uniqueItems");
    if (const auto* allowed = find(in, "enum"); allowed && allowed->is_array()) {
      for (const auto& value : allowed->get_array()) limits.allowed.push_back(value);
      any = true;
    }
    if (auto set = setPattern(limits, in, place); !set) return set;
    limits.format = textAt(in, "format");
    if (const auto* value = find(in, "default")) limits.default_ = *value;
    if (auto set = setBranches(limits, in, place); !set) return set;
    setRules(limits, in);
    any = any || !limits.rules.empty() || limits.uniqueItems || limits.regex ||
          !limits.format.empty() || limits.default_ || !limits.allOf.empty() ||
          !limits.anyOf.empty() || !limits.oneOf.empty() || limits.not_;
    if (any) out.limits = std::make_unique<const SchemaLimits>(std::move(limits));
    return {};
  }

  // Returns false if there are none.
  static bool setNumbers(SchemaLimits& limits, const json::value& in) {
    bool any = false;
    const auto number = [&](const char* name, std::optional<double>& slot) {
      if (const auto given = realNumber(memberOf(in, name))) {
        slot = given;
        any = true;
      }
    };
    const auto count = [&](const char* name, std::optional<std::size_t>& slot) {
      if (const auto* member = find(in, name);
          member && member->is_int64() && member->get_int64() >= 0) {
        slot = static_cast<std::size_t>(member->get_int64());
        any = true;
      }
    };
    number("minimum", limits.minimum);
    number("maximum", limits.maximum);
    number("multipleOf", limits.multipleOf);
    count("minLength", limits.minLength);
    count("maxLength", limits.maxLength);
    count("minItems", limits.minItems);
    count("maxItems", limits.maxItems);
    count("minProperties", limits.minProperties);
    count("maxProperties", limits.maxProperties);
    limits.exclusiveMinimum = flag(in, "exclusiveMinimum");
    limits.exclusiveMaximum = flag(in, "exclusiveMaximum");
    return any;
  }

  static Result<> setPattern(SchemaLimits& limits, const json::value& in,
                             const SchemaPlace& place) {
    limits.pattern = textAt(in, "pattern");
    if (limits.pattern.empty()) return {};
    // RE2 has Go's syntax and, like it, linear time for every pattern and text.
    re2::RE2::Options options;
    options.set_log_errors(false);
    const auto regex = std::make_shared<const re2::RE2>(limits.pattern, options);
    if (!regex->ok())
      return fail(ErrorCode::Invalid, fmt::format("{}.pattern: Invalid value: \"{}\": {}",
                                                  place.text(), limits.pattern, regex->error()));
    limits.regex = regex;
    return {};
  }

  // Schemas of which all, one, some or none must match.
  Result<> setBranches(SchemaLimits& limits, const json::value& in, const SchemaPlace& place) {
    for (auto [name, slot] : {std::pair{"allOf", &limits.allOf}, std::pair{"anyOf", &limits.anyOf},
                              std::pair{"oneOf", &limits.oneOf}}) {
      const auto* list = find(in, name);
      if (!list || !list->is_array()) continue;
      for (std::size_t i = 0; i < list->get_array().size(); ++i) {
        auto compiled = compile(list->get_array()[i], {&place, name, {}, i});
        if (!compiled) return fail(compiled.error());
        slot->push_back(*compiled);
      }
    }
    if (const auto* inner = find(in, "not")) {
      auto compiled = compile(*inner, {&place, "not"});
      if (!compiled) return fail(compiled.error());
      limits.not_ = *compiled;
    }
    return {};
  }

  static void setRules(SchemaLimits& limits, const json::value& in) {
    const auto* rules = find(in, "x-kubernetes-validations");
    if (!rules || !rules->is_array()) return;
    for (const auto& given : rules->get_array()) {
      api::SchemaRule& rule = limits.rules.emplace_back();
      rule.rule = textAt(given, "rule");
      rule.message = textAt(given, "message");
      rule.messageExpression = textAt(given, "messageExpression");
      rule.reason = textAt(given, "reason");
      rule.fieldPath = textAt(given, "fieldPath");
      if (const auto* optional = find(given, "optionalOldSelf"); optional && optional->is_bool())
        rule.optionalOldSelf = optional->get_bool();
    }
  }

  api::SchemaSet& set_;
};

}  // namespace

Result<const Schema*> compileSchema(api::SchemaSet& set, const json::value& openApi) {
  return Compiler(set).compile(openApi, {nullptr, "openAPIV3Schema"});
}

}  // namespace koord::apiserver
