#pragma once

// Values of CEL: what expressions read and what they compute.
//
// A Value has 24 bytes. Scalars are stored in it; strings, lists, maps and objects are either
// shared (a reference count keeps them alive) or borrowed: the Value points into memory of the
// host. Borrowing is what makes an evaluation free of allocations: JSON trees, objects of the host
// and constants of a program are read in place. A borrowed value is valid while its owner is: the
// activation's objects and the Program outlive the result of an evaluation.
//
// A Value of kind Error is the result of a failed step within an evaluation. Functions of libraries
// return and receive them; Program::evaluate turns an error that is left at the end into an Error.
//
// Reference counts are atomic: values may be copied and destroyed on any thread. A value is
// immutable.

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "cel/type.h"

namespace koord::cel {

enum class Kind : std::uint8_t {
  Null,
  Bool,
  Int,
  Uint,
  Double,
  String,  // UTF-8
  Bytes,
  Timestamp,
  Duration,
  List,
  Map,
  Object,    // fields of an ObjectType
  Opaque,    // quantity, IP address, URL: a host's value without fields
  Optional,  // a value or none
  Type,
  Error
};

// Base of everything that values share.
class Shared {
 public:
  Shared() = default;
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  virtual ~Shared();
  void retain() const { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  friend struct ValueAccess;
  mutable std::atomic<std::uint32_t> references_{1};
};

class CreatedObject;
class List;
class Map;
class Opaque;
class Value;

// A point in time from 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999999999Z.
struct Timestamp {
  std::int64_t seconds = 0;       // since the Unix epoch
  std::uint32_t nanoseconds = 0;  // 0 to 999,999,999
  auto operator<=>(const Timestamp&) const = default;
};

class Value {
 public:
  Value() = default;  // null
  Value(const Value& other) noexcept { copyFrom(other); }
  Value(Value&& other) noexcept { moveFrom(other); }
  Value& operator=(const Value& other) noexcept {
    if (this != &other) {
      drop();
      copyFrom(other);
    }
    return *this;
  }
  Value& operator=(Value&& other) noexcept {
    if (this != &other) {
      drop();
      moveFrom(other);
    }
    return *this;
  }
  ~Value() { drop(); }

  static Value null() { return {}; }
  static Value boolean(bool value);
  static Value integer(std::int64_t value);
  static Value unsignedInteger(std::uint64_t value);
  static Value real(double value);
  static Value timestamp(Timestamp value);
  static Value duration(std::int64_t nanoseconds);
  static Value string(std::string text);
  static Value bytes(std::string content);
  // Borrowed: the text outlives the value.
  static Value stringView(std::string_view text);
  static Value bytesView(std::string_view content);
  // An Error if the list is too long, with the texts, lists and maps in it.
  static Value list(std::vector<Value> elements);
  // Takes over one reference to a new List, Map, Opaque or CreatedObject. An Error if it has too
  // many elements.
  static Value adopt(const CreatedObject* object);
  static Value adopt(const List* list);
  static Value adopt(const Map* map);
  static Value adopt(const Opaque* opaque);
  // Borrowed: the object outlives the value.
  static Value borrow(const List& list);
  static Value borrow(const Map& map);
  static Value borrow(const Opaque& opaque);
  // An object of a host, read through its ObjectType. Both outlive the value.
  static Value object(const ObjectType& type, const void* object);
  // JSON, read in place: numbers are int if they are whole and written without fraction, else
  // double. `type` is the declared type of the value, if there is one: it says that 7 is a double,
  // or that a string is a timestamp. A string that cannot be converted becomes an Error value.
  // `json` (and ObjectTypes in `type`) outlive the value.
  static Value json(const koord::json::value& json);
  static Value json(const koord::json::value& json, const Type& type);
  static Value optional(Value value);
  static Value none();  // optional.none()
  static Value type(Type type);
  static Value error(std::string message);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool isError() const { return kind_ == Kind::Error; }
  bool isTrue() const { return kind_ == Kind::Bool && word_.boolean; }
  bool isNumber() const { return kind_ >= Kind::Int && kind_ <= Kind::Double; }

  // Each requires its kind.
  bool asBool() const { return word_.boolean; }
  std::int64_t asInt() const { return word_.integer; }
  std::uint64_t asUint() const { return word_.natural; }
  double asDouble() const { return word_.real; }
  std::string_view text() const { return {word_.text, size_}; }  // String, Bytes
  Timestamp asTimestamp() const { return {word_.integer, size_}; }
  std::int64_t asDuration() const { return word_.integer; }  // nanoseconds
  Type asType() const;
  const Opaque& asOpaque() const;
  const std::string& errorMessage() const;

  // Lists. at() requires index < size.
  std::size_t listSize() const;
  Value listAt(std::size_t index) const;
  // Maps. Keys are equal by number: 1, 1u and 1.0 are the same key. entryAt() requires index <
  // size; the order is that of insertion.
  std::size_t mapSize() const;
  std::optional<Value> mapFind(const Value& key) const;
  bool mapContains(const Value& key) const;
  std::pair<Value, Value> entryAt(std::size_t index) const;
  // Objects.
  const ObjectType& objectType() const;
  // Of a created object: its CreatedObject.
  const void* objectPointer() const { return word_.pointer; }
  // Optionals: nullptr if it is none.
  const Value* optionalValue() const;

  // The type during evaluation: "list", not "list(int)".
  Type runtimeType() const;
  // CEL's ==, without errors: values of different kinds are unequal, numbers compare by number, NaN
  // is unequal to itself.
  bool equals(const Value& other) const;
  // As JSON: uint64 and int64 as numbers, bytes in base64, timestamps and durations as strings.
  // Invalid if a value has no JSON form (types, NaN, opaque values without text) or a map key is
  // not a string, a number or a bool.
  Result<koord::json::value> toJson() const;
  // For messages and tests: {"a": [1, 2u, b"x"]}.
  std::string toString() const;

 private:
  friend struct ValueAccess;
  enum class Form : std::uint8_t { Native, Json, Keyed, Created };
  union Word {
    bool boolean;
    std::int64_t integer = 0;
    std::uint64_t natural;
    double real;
    const char* text;
    const void* pointer;
  };
  union Tail {
    const Shared* owner = nullptr;
    const void* meta;
  };

  void copyFrom(const Value& other) noexcept {
    kind_ = other.kind_;
    form_ = other.form_;
    owned_ = other.owned_;
    size_ = other.size_;
    word_ = other.word_;
    tail_ = other.tail_;
    if (owned_) tail_.owner->retain();
  }
  void moveFrom(Value& other) noexcept {
    kind_ = other.kind_;
    form_ = other.form_;
    owned_ = other.owned_;
    size_ = other.size_;
    word_ = other.word_;
    tail_ = other.tail_;
    other.owned_ = false;
    other.kind_ = Kind::Null;
  }
  void drop() noexcept {
    if (owned_) tail_.owner->release();
    owned_ = false;
  }

  Kind kind_ = Kind::Null;
  Form form_ = Form::Native;
  bool owned_ = false;      // tail_.owner counts references
  std::uint32_t size_ = 0;  // of text in bytes; nanoseconds of a timestamp
  Word word_;
  Tail tail_;
};

// How lists compare and join that are sets, or maps by keys of their elements. The left operand
// decides: it is equal to a list with the same elements in any order, and joined with a list it
// keeps its order, takes over elements with keys of its own in their places, and appends the
// others. Implementations are immutable.
class ListKind {
 public:
  virtual ~ListKind();
  // Elements with the same key are the same element of the list.
  virtual std::string keyOf(const Value& element) const = 0;
  // True: elements with the same key are equal, and joining keeps the first.
  virtual bool isSet() const = 0;
};

// A list that the host computes. Implementations are immutable.
class List : public Shared {
 public:
  virtual const ListKind* kind() const { return nullptr; }
  virtual std::size_t size() const = 0;
  // The elements, with what is in them: what a comparison reads.
  virtual std::size_t weight() const { return size(); }
  virtual Value at(std::size_t index) const = 0;  // index < size()
};

// A map that the host computes. Implementations are immutable.
class Map : public Shared {
 public:
  virtual std::size_t size() const = 0;
  virtual std::size_t weight() const { return size(); }
  // nullopt if there is no such key and no default.
  virtual std::optional<Value> find(const Value& key) const = 0;
  // What `in` tells: true if there is such a key. Defaults do not count.
  virtual bool contains(const Value& key) const { return find(key).has_value(); }
  virtual std::pair<Value, Value> entry(std::size_t index) const = 0;  // index < size()
};

// A value with a type name and functions, and nothing else: quantities, addresses, semantic
// versions.
class Opaque : public Shared {
 public:
  virtual const Type& type() const = 0;
  // `other` has the same type.
  virtual bool equals(const Opaque& other) const = 0;
  // The size that cost tracking uses; 1 for all values that do not grow.
  virtual std::size_t costSize() const { return 1; }
  virtual std::string toString() const = 0;
};

// An object that an expression made: Type{field: value}. Immutable. Its type outlives it.
class CreatedObject : public Shared {
 public:
  explicit CreatedObject(const ObjectType& type) : type_(type) {}
  const ObjectType& type() const { return type_; }
  virtual std::size_t weight() const = 0;  // its fields, with what is in them

 private:
  const ObjectType& type_;
};

// The fields of a kind of object that a host has: fields are looked up once, when an expression is
// compiled, and read by number. Implementations are immutable and outlive programs and values.
class ObjectType {
 public:
  struct Field {
    int number = 0;  // -1: only named() knows the field
    Type type;
  };
  virtual ~ObjectType();
  // The name that expressions see: "kubernetes.DRADevice".
  virtual std::string_view name() const = 0;
  // nullopt if there is no such field.
  virtual std::optional<Field> field(std::string_view name) const = 0;
  // The value of a field of an object; an Error value if the field is absent and has no default.
  virtual Value get(const void* object, int field) const = 0;
  // has(object.field).
  virtual bool has(const void* object, int field) const = 0;
  // The value of a field with the number -1; nullopt if the object does not have it.
  virtual std::optional<Value> named(const void* object, std::string_view field) const;
  // By default, objects are equal if they are the same.
  virtual bool equals(const void* a, const void* b) const { return a == b; }
  // The type of Type{field: value}, if it is not this one: a protobuf message such as Int64Value is
  // a wrapper(int).
  virtual std::optional<Type> typeOfCreated() const { return std::nullopt; }
  // Type{field: value}. By default, objects of the type cannot be written in expressions: an Error
  // value.
  virtual Value create(std::span<const std::pair<std::string_view, Value>> fields) const;
  // Invalid by default.
  virtual Result<koord::json::value> toJson(const void* object) const;
};

}  // namespace koord::cel
