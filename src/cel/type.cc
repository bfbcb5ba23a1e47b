#include "cel/type.h"

#include <array>

#include "cel/value.h"

namespace koord::cel {

struct Type::Node {
  TypeKind kind;
  std::string name;
  std::vector<Type> parameters = {};
  const ObjectType* object = nullptr;
  std::size_t size = 1;
  bool isGeneric = false;
  const ListKind* listKind = nullptr;
};

Type Type::make(TypeKind kind, std::string name, std::vector<Type> parameters) {
  std::size_t size = 1;
  bool isGeneric = kind == TypeKind::Parameter;
  for (const Type& parameter : parameters) {
    // Parameters may share nodes: each level may double the size.
    if (__builtin_add_overflow(size, parameter.size(), &size)) size = SIZE_MAX;
    isGeneric = isGeneric || parameter.isGeneric();
  }
  return Type(std::make_shared<const Node>(
      Node{kind, std::move(name), std::move(parameters), nullptr, size, isGeneric}));
}

// Types without parameters are made once.
#define KOORD_CEL_TYPE(function, kind, name)                  \
  Type Type::function() {                                     \
    static const Type kType = make(TypeKind::kind, name, {}); \
    return kType;                                             \
  }
KOORD_CEL_TYPE(null, Null, "null_type")
KOORD_CEL_TYPE(boolean, Bool, "bool")
KOORD_CEL_TYPE(integer, Int, "int")
KOORD_CEL_TYPE(unsignedInteger, Uint, "uint")
KOORD_CEL_TYPE(real, Double, "double")
KOORD_CEL_TYPE(string, String, "string")
KOORD_CEL_TYPE(bytes, Bytes, "bytes")
KOORD_CEL_TYPE(timestamp, Timestamp, "google.protobuf.Timestamp")
KOORD_CEL_TYPE(duration, Duration, "google.protobuf.Duration")
#undef KOORD_CEL_TYPE

Type::Type() {
  static const std::shared_ptr<const Node> kDyn =
      std::make_shared<const Node>(Node{TypeKind::Dyn, "dyn"});
  node_ = kDyn;
}

Type Type::list(Type element) {
  return make(TypeKind::List, "list", {std::move(element)});
}
Type Type::list(Type element, const ListKind& kind) {
  const Type plain = list(std::move(element));
  Node node = *plain.node_;
  node.listKind = &kind;
  return Type(std::make_shared<const Node>(std::move(node)));
}
Type Type::map(Type key, Type value) {
  return make(TypeKind::Map, "map", {std::move(key), std::move(value)});
}
Type Type::type(Type of) {
  return make(TypeKind::Type, "type", {std::move(of)});
}
Type Type::wrapper(Type of) {
  return make(TypeKind::Wrapper, "wrapper", {std::move(of)});
}
Type Type::optional(Type of) {
  return make(TypeKind::Opaque, "optional_type", {std::move(of)});
}
Type Type::opaque(std::string name, std::vector<Type> parameters) {
  return make(TypeKind::Opaque, std::move(name), std::move(parameters));
}
Type Type::parameter(std::string name) {
  return make(TypeKind::Parameter, std::move(name));
}
Type Type::object(const ObjectType& object) {
  return Type(std::make_shared<const Node>(
      Node{TypeKind::Object, std::string(object.name()), {}, &object}));
}

TypeKind Type::kind() const {
  return node_->kind;
}
std::string_view Type::name() const {
  return node_->name;
}
std::span<const Type> Type::parameters() const {
  return node_->parameters;
}
const ObjectType* Type::objectType() const {
  return node_->object;
}
const ListKind* Type::listKind() const {
  return node_->listKind;
}
std::size_t Type::size() const {
  return node_->size;
}
bool Type::isGeneric() const {
  return node_->isGeneric;
}
bool Type::isOptional() const {
  return node_->kind == TypeKind::Opaque && node_->name == "optional_type";
}

std::string Type::toString() const {
  if (node_->kind == TypeKind::Timestamp) return "timestamp";
  if (node_->kind == TypeKind::Duration) return "duration";
  if (node_->kind == TypeKind::Null) return "null";
  std::string text = node_->name;
  if (node_->kind == TypeKind::Type && node_->parameters[0].isDyn()) return text;
  for (std::size_t i = 0; i < node_->parameters.size(); ++i) {
    text += i == 0 ? "(" : ", ";
    text += node_->parameters[i].toString();
  }
  if (!node_->parameters.empty()) text += ")";
  return text;
}

bool Type::operator==(const Type& other) const {
  if (node_ == other.node_) return true;
  return node_->kind == other.node_->kind && node_->name == other.node_->name &&
         node_->parameters == other.node_->parameters;
}

}  // namespace koord::cel
