#pragma once

// Types of JSON objects as data: their fields, the types of values, and how lists merge. One table
// describes the built-in kinds (builtin.h); the schemas of custom resources compile to the same
// form. Patches, validation, pruning, defaulting and OpenAPI documents all work from it.

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace re2 {
class RE2;
}

namespace koord::api {

struct Schema;

// An element of x-kubernetes-validations: a CEL expression that must be true of the value, "self".
struct SchemaRule {
  std::string rule, message, messageExpression;
  std::string reason;     // FieldValueInvalid and so on; "" = FieldValueInvalid
  std::string fieldPath;  // ".spec.replicas": the field that errors name, below the value
  std::optional<bool> optionalOldSelf;
};

// Constraints that only custom resources state.
struct SchemaLimits {
  std::vector<json::value> allowed;  // enum
  std::optional<double> minimum, maximum, multipleOf;
  bool exclusiveMinimum = false, exclusiveMaximum = false;
  std::optional<std::size_t> minLength, maxLength, minItems, maxItems, minProperties, maxProperties;
  bool uniqueItems = false;
  std::string pattern;
  std::shared_ptr<const re2::RE2> regex;  // of pattern
  std::string format;
  std::optional<json::value> default_;
  std::vector<SchemaRule> rules;
  std::vector<const Schema*> allOf, anyOf, oneOf;
  const Schema* not_ = nullptr;
};

struct SchemaField {
  std::string name;
  const Schema* type = nullptr;
  bool required = false;
  // Strategic merge: lists that merge element by element, by this key ("" for plain values) ...
  bool merge = false;
  std::string mergeKey;
  // ... and objects of which a patch may name the fields that stay.
  bool retainKeys = false;
  bool replace = false;  // objects that are replaced as a whole
  // The place in protobuf messages: numbers from the outside in, empty if unknown.
  std::vector<std::uint32_t> wire;
  // True if absent and zero differ. Built-in objects that are not pointers are always present.
  bool pointer = false;
  // For built-in structs: written even if it is empty, as Go does without "omitempty".
  bool kept = false;

  // True if the API returns a zero for a field that the client omits. Omitting a required text or
  // list is an error instead, because its zero would be an error.
  bool zeroWhenMissing() const;
};

struct Schema {
  enum class Type {
    Any,
    Object,
    Map,
    List,
    String,
    Integer,
    Number,
    Boolean,
    Quantity,
    IntOrString,
    Time,
    MicroTime,
    Duration,
    Bytes,
  };
  enum class ListKind { Atomic, Set, Map };

  Type type = Type::Any;
  std::string name;                  // of a built-in struct, for documents and messages
  std::vector<SchemaField> fields;   // Object; sorted by name
  std::vector<std::uint32_t> zeros;  // Object: which of the fields are zeroWhenMissing()
  const Schema* items = nullptr;     // the elements of List and Map; null when they can be anything
  // Server-side apply: who owns a list (its elements by these keys, or all of it) or an object.
  ListKind listKind = ListKind::Atomic;
  std::vector<std::string> listKeys;
  bool atomic = false;
  bool raw = false;              // Any: JSON text, in protobuf too
  bool preserveUnknown = false;  // Object: fields that are not listed stay
  bool nullable = false;
  bool embedded = false;  // a whole Kubernetes object: has apiVersion, kind and metadata
  std::string description;
  std::unique_ptr<const SchemaLimits> limits;

  const SchemaField* field(std::string_view fieldName) const;
};

// Owns schemas that refer to each other.
class SchemaSet {
 public:
  Schema& add() { return schemas_.emplace_back(); }
  Schema& addNamed(std::string name);
  const Schema* find(std::string_view name) const;
  const std::map<std::string, Schema*, std::less<>>& named() const { return named_; }

 private:
  std::deque<Schema> schemas_;
  std::map<std::string, Schema*, std::less<>> named_;
};

struct FieldProblem {
  std::string path;  // "spec.containers[0].image"
  std::string message;
};

// The first value of the wrong type: "expected a string, got 5". Ignores fields that the schema
// lacks.
std::optional<FieldProblem> checkTypes(const json::value& value, const Schema& schema);
// The paths of fields that the schema lacks.
std::vector<std::string> unknownFields(const json::value& value, const Schema& schema);

}  // namespace koord::api
