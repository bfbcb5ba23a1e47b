#include "cel/dynamic_object.h"

#include <fmt/format.h>

#include <algorithm>

#include "cel/value_access.h"

namespace koord::cel {

namespace {

using Given = std::span<const std::pair<std::string_view, Value>>;

const FieldsObject& objectAt(const void* object) {
  return *static_cast<const FieldsObject*>(static_cast<const CreatedObject*>(object));
}

// Of a field that is given twice, the last value counts.
Value made(const ObjectType& type, Given given) {
  FieldsObject::Fields fields;
  for (const auto& [name, value] : given) fields.insert_or_assign(std::string(name), value);
  return Value::adopt(static_cast<const CreatedObject*>(new FieldsObject(type, std::move(fields))));
}

bool sameFields(const FieldsObject& a, const FieldsObject& b) {
  return std::ranges::equal(a.fields(), b.fields(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.equals(y.second);
  });
}

}  // namespace

FieldsObject::FieldsObject(const ObjectType& type, Fields fields)
    : CreatedObject(type), fields_(std::move(fields)) {
  for (const auto& [name, value] : fields_) weight_ += 1 + weightOf(value);
}

const Value* FieldsObject::find(std::string_view name) const {
  const auto found = fields_.find(name);
  return found == fields_.end() ? nullptr : &found->second;
}

const FieldsObject* fieldsOf(const Value& value) {
  if (!value.is(Kind::Object) || !ValueAccess::isCreated(value)) return nullptr;
  return dynamic_cast<const FieldsObject*>(ValueAccess::pointer<CreatedObject>(value));
}

namespace {

constexpr std::size_t kMaxMisnamed = 20;

void findMisnamed(const Value& value, const std::string& name, std::vector<std::string>& found) {
  if (found.size() >= kMaxMisnamed) return;
  if (const FieldsObject* object = fieldsOf(value)) {
    if (object->type().name() != name)
      found.push_back(
          fmt::format("unexpected type name \"{}\", expected \"{}\", which matches field name path "
                      "from root Object type",
                      object->type().name(), name));
    for (const auto& [field, member] : object->fields())
      findMisnamed(member, fmt::format("{}.{}", name, field), found);
  } else if (ValueAccess::isJson(value)) {
    return;  // what the host gives has no such objects
  } else if (value.is(Kind::List)) {
    for (std::size_t i = 0; i < value.listSize(); ++i) findMisnamed(value.listAt(i), name, found);
  } else if (value.is(Kind::Map)) {
    for (std::size_t i = 0; i < value.mapSize(); ++i)
      findMisnamed(value.entryAt(i).second, name, found);
  }
}

}  // namespace

std::vector<std::string> misnamedTypes(const Value& value) {
  std::vector<std::string> found;
  const FieldsObject* object = fieldsOf(value);
  if (object) findMisnamed(value, std::string(object->type().name()), found);
  return found;
}

std::optional<Value> DynamicType::named(const void* object, std::string_view field) const {
  const Value* value = objectAt(object).find(field);
  return value ? std::optional(*value) : std::nullopt;
}

bool DynamicType::equals(const void* a, const void* b) const {
  return sameFields(objectAt(a), objectAt(b));
}

Value DynamicType::create(Given fields) const {
  return made(*this, fields);
}

Result<koord::json::value> DynamicType::toJson(const void* object) const {
  koord::json::object out;
  for (const auto& [name, value] : objectAt(object).fields()) {
    auto member = value.toJson();
    if (!member) return fail(std::move(member).error().within("field \"" + name + "\""));
    out.insert_or_assign(name, *std::move(member));
  }
  return out;
}

std::optional<ObjectType::Field> RecordType::field(std::string_view name) const {
  const auto found = std::ranges::find(fields_, name, &std::pair<std::string, Type>::first);
  if (found == fields_.end()) return std::nullopt;
  return Field{static_cast<int>(found - fields_.begin()), found->second};
}

Value RecordType::get(const void* object, int field) const {
  const auto& [name, type] = fields_[static_cast<std::size_t>(field)];
  if (const Value* value = objectAt(object).find(name)) return *value;
  return type.kind() == TypeKind::String ? Value::stringView("") : Value();
}

bool RecordType::has(const void* object, int field) const {
  const Value* value = objectAt(object).find(fields_[static_cast<std::size_t>(field)].first);
  return value && !(value->is(Kind::String) && value->text().empty());
}

bool RecordType::equals(const void* a, const void* b) const {
  return sameFields(objectAt(a), objectAt(b));
}

Value RecordType::create(Given given) const {
  for (const auto& [name, value] : given) {
    const auto declared = field(name);
    if (!declared) return Value::error(fmt::format("no such field '{}'", name));
    if (declared->type.kind() == TypeKind::String && !value.is(Kind::String))
      return Value::error(fmt::format("unexpected type {} for {} '{}' field",
                                      value.runtimeType().toString(), name_, name));
  }
  return made(*this, given);
}

const ObjectType* DynamicTypes::find(std::string_view name) {
  if (name != "Object" && !name.starts_with("Object.")) return nullptr;
  const auto found = types_.find(name);
  if (found != types_.end()) return found->second.get();
  auto type = std::make_unique<DynamicType>(std::string(name));
  return types_.emplace(std::string(name), std::move(type)).first->second.get();
}

}  // namespace koord::cel
