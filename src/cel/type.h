#pragma once

// Types of CEL expressions: what a host declares for its variables and what the type checker
// computes.
//
// A Type is a handle to an immutable node, cheap to copy and safe to share between threads. Types
// compare by structure: list(int) equals any other list(int).

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace koord::cel {

class ListKind;
class ObjectType;

enum class TypeKind : std::uint8_t {
  Dyn,  // any value; decided during evaluation
  Null,
  Bool,
  Int,
  Uint,
  Double,
  String,
  Bytes,
  Timestamp,
  Duration,
  List,      // one parameter
  Map,       // two parameters: key, value
  Type,      // type(T): the type of a type value
  Wrapper,   // google.protobuf.Int64Value and so on: the parameter or null
  Object,    // a host's object with fields
  Opaque,    // abstract type with a name and parameters: optional_type(T), net.IP
  Parameter  // a type variable in the signature of a function
};

class Type {
 public:
  Type();  // dyn
  static Type dyn() { return {}; }
  static Type null();
  static Type boolean();
  static Type integer();
  static Type unsignedInteger();
  static Type real();  // CEL's double
  static Type string();
  static Type bytes();
  static Type timestamp();
  static Type duration();
  static Type list(Type element);
  // A list in JSON that compares and joins by `kind`, which outlives every use of the type.
  // Expressions do not tell its type from that of other lists.
  static Type list(Type element, const ListKind& kind);
  static Type map(Type key, Type value);
  static Type type(Type of);
  static Type wrapper(Type of);
  static Type optional(Type of);  // optional_type(of)
  static Type opaque(std::string name, std::vector<Type> parameters = {});
  static Type parameter(std::string name);
  // `object` outlives every use of the type.
  static Type object(const ObjectType& object);

  TypeKind kind() const;
  // The name as CEL writes it without parameters: "int", "list", "google.protobuf.Timestamp".
  std::string_view name() const;
  std::span<const Type> parameters() const;
  const ObjectType* objectType() const;  // nullptr if the kind is not Object
  const ListKind* listKind() const;      // nullptr if it is not such a list
  bool isDyn() const { return kind() == TypeKind::Dyn; }
  bool isOptional() const;
  // The nodes of the type written out: 3 for map(string, int). Counted when the type is made.
  std::size_t size() const;
  // True if a Parameter is in it.
  bool isGeneric() const;

  // "list(map(string, int))"; wrappers as "wrapper(int)".
  std::string toString() const;
  bool operator==(const Type& other) const;

  struct Node;

 private:
  explicit Type(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  static Type make(TypeKind kind, std::string name, std::vector<Type> parameters = {});
  std::shared_ptr<const Node> node_;
};

}  // namespace koord::cel
