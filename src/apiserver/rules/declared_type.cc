#include "apiserver/rules/declared_type.h"

#include <algorithm>

#include "apiserver/rules/field_name.h"

namespace koord::apiserver {

using api::Schema;

namespace {

// Kubernetes counts no elements of values that are not text, lists or maps.
constexpr std::uint64_t kNoElements = 0;
constexpr std::int64_t kMinText = 2;       // ""
constexpr std::uint64_t kMaxName = 253;    // characters of a resource's name
constexpr std::int64_t kMinNumber = 1;     // 0
constexpr std::int64_t kMinBoolean = 4;    // true
constexpr std::int64_t kMinContainer = 2;  // [] or {}
constexpr std::int64_t kMinDuration = 3;
constexpr std::int64_t kMaxDuration = 32;
constexpr std::int64_t kDate = 12;         // "2006-01-02" with quotes
constexpr std::int64_t kMinDateTime = 21;  // up to seconds
constexpr std::int64_t kMaxDateTime = 32;

const api::SchemaLimits& limitsOf(const Schema& schema) {
  static const api::SchemaLimits none;
  return schema.limits ? *schema.limits : none;
}

}  // namespace

const DeclaredType* DeclaredTypes::text() {
  return add({cel::Type::string(), kMinText, kMaxRequestBytes - 2});
}

cel::Type DeclaredTypes::listType(const Schema& schema, const cel::Type& element) {
  using ListKind = Schema::ListKind;
  if (schema.listKind == ListKind::Atomic ||
      (schema.listKind == ListKind::Map && schema.listKeys.empty()))
    return cel::Type::list(element);
  auto keys = schema.listKind == ListKind::Map ? schema.listKeys : std::vector<std::string>();
  const auto& kind = *listKinds_.emplace_back(std::make_unique<SchemaListKind>(std::move(keys)));
  return cel::Type::list(element, kind);
}

const DeclaredType* DeclaredTypes::declareText(const Schema& schema) {
  const api::SchemaLimits& limits = limitsOf(schema);
  const std::string& format = limits.format;
  const auto most =
      limits.maxLength ? std::uint64_t{*limits.maxLength} : std::uint64_t{kMaxRequestBytes - 2};
  if (format == "byte") return add({cel::Type::bytes(), kMinText, most});
  if (format == "duration") return add({cel::Type::duration(), kMinDuration, kMaxDuration});
  if (format == "date") return add({cel::Type::timestamp(), kDate, kDate});
  if (format == "date-time") return add({cel::Type::timestamp(), kMinDateTime, kMaxDateTime});
  // A character has up to four bytes.
  if (limits.maxLength) return add({cel::Type::string(), kMinText, most * 4});
  if (limits.allowed.empty()) return text();
  std::uint64_t longest = 0;
  for (const json::value& value : limits.allowed)
    if (value.is_string()) longest = std::max<std::uint64_t>(longest, value.get_string().size());
  return add({cel::Type::string(), kMinText, longest});
}

const DeclaredType* DeclaredTypes::declareObject(const Schema& schema, bool isResource) {
  DeclaredType out;
  out.minBytes = kMinContainer;
  out.maxElements = kNoElements;
  cel::JsonObjectType& object = addObject();
  const auto member = [&](const std::string& key, const DeclaredType* type) {
    const auto name = celFieldName(key);
    if (!type || !name) return;
    object.add(*name, type->type, key);
    out.fields.emplace(*name, type);
  };
  if (isResource && objectMeta_) {
    member("metadata", declare(*objectMeta_, false));
    for (const char* key : {"apiVersion", "kind"}) member(key, text());
  } else if (isResource) {
    cel::JsonObjectType& metadata = addObject();
    DeclaredType declared;
    declared.minBytes = kMinContainer;
    declared.maxElements = kNoElements;
    for (const char* key : {"name", "generateName"}) {
      const DeclaredType* type = add({cel::Type::string(), kMinText, kMaxName * 4});
      metadata.add(key, type->type, key);
      declared.fields.emplace(key, type);
    }
    declared.type = cel::Type::object(metadata);
    member("metadata", add(std::move(declared)));
    for (const char* key : {"apiVersion", "kind"}) member(key, text());
  }
  for (const api::SchemaField& field : schema.fields) {
    if (!field.type || (isResource && out.fields.contains(field.name))) continue;
    const DeclaredType* type = declare(*field.type, field.type->embedded);
    member(field.name, type);
    if (type && field.required && !limitsOf(*field.type).default_)
      out.minBytes += static_cast<std::int64_t>(field.name.size()) + type->minBytes + 4;
  }
  out.type = cel::Type::object(object);
  return add(std::move(out));
}

// Types that do not occur in definitions of custom resources, and values of unknown types.
const DeclaredType* DeclaredTypes::declareBuiltin(const Schema& schema) {
  if (!objectMeta_) return nullptr;
  switch (schema.type) {
    case Schema::Type::Quantity:
    case Schema::Type::Duration:
      return text();
    case Schema::Type::Time:
    case Schema::Type::MicroTime:
      return add({cel::Type::timestamp(), kMinDateTime, kMaxDateTime});
    case Schema::Type::Bytes:
      return add({cel::Type::bytes(), kMinText, kMaxRequestBytes - 2});
    default:
      return add({cel::Type::dyn(), 1, kMaxRequestBytes - 2});
  }
}

const DeclaredType* DeclaredTypes::declare(const Schema& schema, bool isResource) {
  using Type = Schema::Type;
  const api::SchemaLimits& limits = limitsOf(schema);
  switch (schema.type) {
    case Type::IntOrString:
      return add({cel::Type::dyn(), 1,
                  limits.maxLength ? std::uint64_t{*limits.maxLength} * 4
                                   : std::uint64_t{kMaxRequestBytes - 2}});
    case Type::Integer:
      return add({cel::Type::integer(), kMinNumber, kNoElements});
    case Type::Number:
      return add({cel::Type::real(), kMinNumber, kNoElements});
    case Type::Boolean:
      return add({cel::Type::boolean(), kMinBoolean, kNoElements});
    case Type::String:
      return declareText(schema);
    case Type::Object:
      return declareObject(schema, isResource);
    case Type::List:
    case Type::Map: {
      const DeclaredType* element = schema.items  ? declare(*schema.items, schema.items->embedded)
                                    : objectMeta_ ? add({cel::Type::dyn(), 1, kMaxRequestBytes - 2})
                                                  : nullptr;
      if (!element) return nullptr;
      const bool isList = schema.type == Type::List;
      const auto& most = isList ? limits.maxItems : limits.maxProperties;
      // Between elements is a comma; an entry has a key of at least two quotes and a colon, too.
      const std::int64_t each = element->minBytes + (isList ? 1 : 6);
      return add(
          {isList ? listType(schema, element->type)
                  : cel::Type::map(cel::Type::string(), element->type),
           kMinContainer,
           most ? std::uint64_t{*most} : static_cast<std::uint64_t>((kMaxRequestBytes - 2) / each),
           element});
    }
    default:
      return declareBuiltin(schema);
  }
}

}  // namespace koord::apiserver
