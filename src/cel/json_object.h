#pragma once

// Objects in JSON whose fields are declared, as the schema of a custom resource declares them.

#include <string>
#include <unordered_map>
#include <vector>

#include "cel/value.h"

namespace koord::cel {

// Objects are json::values that are objects (json::object inside). A field that is absent is an
// error to read, and false for has(). Fields are added before the type is used.
class JsonObjectType : public ObjectType {
 public:
  explicit JsonObjectType(std::string name) : name_(std::move(name)) {}
  // `name` as expressions write it, `key` as JSON has it.
  void add(std::string name, Type type, std::string key = {});

  std::string_view name() const override { return name_; }
  std::optional<Field> field(std::string_view name) const override;
  Value get(const void* object, int field) const override;
  bool has(const void* object, int field) const override;
  // Fields compare as their types say: 7 and 7.0 of a double are equal.
  bool equals(const void* a, const void* b) const override;
  Result<koord::json::value> toJson(const void* object) const override;

 private:
  struct Declared {
    std::string key;
    Type type;
  };
  std::string name_;
  std::vector<Declared> fields_;
  std::unordered_map<std::string, int> numbers_;  // by the name in expressions
  std::unordered_map<std::string, int> types_;    // by the key
};

// The members of an object or map in JSON that the value reads in place; nullptr of other values.
const koord::json::object* jsonMembers(const Value& value);

}  // namespace koord::cel
