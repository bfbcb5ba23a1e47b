#pragma once

// Objects that expressions make without a schema, as mutating admission policies write them:
// Object{spec: Object.spec{replicas: 3}}. A type accepts every field name, with values of any type;
// what is made with it is checked later, by the host.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cel/value.h"

namespace koord::cel {

// Object types by name that no library and no variable declares. find() is called while an
// expression is compiled.
class TypeResolver {
 public:
  virtual ~TypeResolver() = default;
  // nullptr if there is no such type. The same name has the same type.
  virtual const ObjectType* find(std::string_view name) = 0;
};

// What Type{field: value} of a DynamicType or RecordType makes.
class FieldsObject final : public CreatedObject {
 public:
  using Fields = std::map<std::string, Value, std::less<>>;
  FieldsObject(const ObjectType& type, Fields fields);
  std::size_t weight() const override { return weight_; }
  const Fields& fields() const { return fields_; }
  const Value* find(std::string_view name) const;

 private:
  Fields fields_;
  std::size_t weight_ = 0;
};

// The object of a value that a DynamicType or RecordType has made; nullptr of other values.
const FieldsObject* fieldsOf(const Value& value);

// Where the type of an object in the value does not follow from its place: the value of the field
// "spec" of an Object must be an Object.spec. Lists and maps between them have no names. At most
// 20.
std::vector<std::string> misnamedTypes(const Value& value);

// A type whose objects have any fields.
class DynamicType final : public ObjectType {
 public:
  explicit DynamicType(std::string name) : name_(std::move(name)) {}
  std::string_view name() const override { return name_; }
  std::optional<Field> field(std::string_view) const override { return Field{-1, Type::dyn()}; }
  Value get(const void*, int) const override { return Value::error("no such field"); }
  bool has(const void*, int) const override { return false; }
  std::optional<Value> named(const void* object, std::string_view field) const override;
  bool equals(const void* a, const void* b) const override;
  Value create(std::span<const std::pair<std::string_view, Value>> fields) const override;
  Result<koord::json::value> toJson(const void* object) const override;

 private:
  std::string name_;
};

// A type whose objects have these fields, each of which an expression may leave out. A text that
// was left out is "".
class RecordType final : public ObjectType {
 public:
  RecordType(std::string name, std::vector<std::pair<std::string, Type>> fields)
      : name_(std::move(name)), fields_(std::move(fields)) {}
  std::string_view name() const override { return name_; }
  std::optional<Field> field(std::string_view name) const override;
  Value get(const void* object, int field) const override;
  // False of an empty text.
  bool has(const void* object, int field) const override;
  bool equals(const void* a, const void* b) const override;
  Value create(std::span<const std::pair<std::string_view, Value>> fields) const override;

 private:
  std::string name_;
  std::vector<std::pair<std::string, Type>> fields_;
};

// The types "Object" and "Object." with a path of field names behind it. Owns them, so it grows
// with the names that are asked for: one resolver serves the expressions of one policy. Not
// thread-safe.
class DynamicTypes final : public TypeResolver {
 public:
  const ObjectType* find(std::string_view name) override;

 private:
  std::map<std::string, std::unique_ptr<DynamicType>, std::less<>> types_;
};

}  // namespace koord::cel
