#pragma once

// The CEL types of a custom resource's schema, with the bounds on sizes that cost estimates need.
//
// A rule can read what the schema describes: a field without a schema, or below
// x-kubernetes-preserve-unknown-fields, has no type and cannot be read. The bounds follow from
// maxLength, maxItems and maxProperties, else from the size of the largest request, as in
// Kubernetes, so that the same rules are refused as too expensive.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/schema/schema.h"
#include "apiserver/rules/list_kind.h"
#include "cel/json_object.h"

namespace koord::apiserver {

inline constexpr std::int64_t kMaxRequestBytes = 3 << 20;

struct DeclaredType {
  cel::Type type;
  std::int64_t minBytes = 0;  // of its JSON
  // The most characters, bytes, elements or entries; 0 if the value has none of these.
  std::uint64_t maxElements = 0;
  const DeclaredType* element = nullptr;  // of a list, or values of a map
  std::map<std::string, const DeclaredType*, std::less<>> fields = {};  // by the name in CEL
};

// Owns the types of one schema. Not thread-safe while it grows; the types are immutable.
class DeclaredTypes {
 public:
  // With the schema of metadata, expressions can read everything in a resource, of built-in kinds,
  // too, and values without a type are dyn. Without it, they can read what the rules of custom
  // resources can.
  explicit DeclaredTypes(const api::Schema* objectMeta = nullptr) : objectMeta_(objectMeta) {}

  // nullptr if expressions cannot read values of the schema. A resource's root, and an embedded
  // resource, have apiVersion, kind, metadata.name and metadata.generateName.
  const DeclaredType* declare(const api::Schema& schema, bool isResource);

 private:
  const DeclaredType* declareObject(const api::Schema& schema, bool isResource);
  const DeclaredType* declareText(const api::Schema& schema);
  cel::JsonObjectType& addObject() {
    return *objects_.emplace_back(std::make_unique<cel::JsonObjectType>("object"));
  }
  const DeclaredType* add(DeclaredType type) { return &types_.emplace_back(std::move(type)); }
  const DeclaredType* text();
  const DeclaredType* declareBuiltin(const api::Schema& schema);
  cel::Type listType(const api::Schema& schema, const cel::Type& element);

  const api::Schema* objectMeta_;
  std::deque<DeclaredType> types_;
  std::vector<std::unique_ptr<cel::JsonObjectType>> objects_;
  std::vector<std::unique_ptr<SchemaListKind>> listKinds_;
};

}  // namespace koord::apiserver
