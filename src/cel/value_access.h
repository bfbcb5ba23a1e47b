#pragma once

// How values hold what they share. For the implementation of CEL only; hosts use value.h.

#include <compare>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cel/value.h"

namespace koord::cel {

// A value in a list or map: 1, and what is in the value. A list that holds another list twice
// counts it twice: a few levels of such lists have more elements than a host can visit, and yet
// cost little to make. So do copies of a long text. Of JSON, only the first level counts.
std::size_t weightOf(const Value& value);

class HeldText final : public Shared {
 public:
  explicit HeldText(std::string content) : text(std::move(content)) {}
  const std::string text;
};
class HeldValue final : public Shared {
 public:
  explicit HeldValue(Value held) : value(std::move(held)) {}
  const Value value;
};
class HeldType final : public Shared {
 public:
  explicit HeldType(Type held) : type(std::move(held)) {}
  const Type type;
};
class HeldError final : public Shared {
 public:
  explicit HeldError(std::string text) : message(std::move(text)) {}
  const std::string message;
};

class ElementList final : public List {
 public:
  explicit ElementList(std::vector<Value> elements, const ListKind* kind = nullptr)
      : elements_(std::move(elements)), kind_(kind) {
    for (const Value& element : elements_) weight_ += weightOf(element);
  }
  const ListKind* kind() const override { return kind_; }
  std::size_t size() const override { return elements_.size(); }
  std::size_t weight() const override { return weight_; }
  Value at(std::size_t index) const override { return elements_[index]; }
  // Only while no other value shares the list.
  void append(Value element) {
    weight_ += weightOf(element);
    elements_.push_back(std::move(element));
  }

 private:
  std::vector<Value> elements_;
  const ListKind* kind_;
  std::size_t weight_ = 0;
};

// Positions of entries by key.
class MapIndex {
 public:
  using Entry = std::pair<Value, Value>;
  void add(const Value& key, std::size_t position) { positions_.emplace(hash(key), position); }
  std::optional<std::size_t> find(const std::vector<Entry>& entries, const Value& key) const;

 private:
  // Numbers that are equal have the same hash.
  static std::size_t hash(const Value& key);
  std::unordered_multimap<std::size_t, std::size_t> positions_;
};

// A map in the order of insertion. Small maps are searched from the start, larger ones by an index.
class EntryMap final : public Map {
 public:
  std::size_t size() const override { return entries_.size(); }
  std::size_t weight() const override { return weight_; }
  std::optional<Value> find(const Value& key) const override;
  std::pair<Value, Value> entry(std::size_t index) const override { return entries_[index]; }
  // False if the map has the key already. Only while no other value shares the map.
  bool insert(Value key, Value value);

 private:
  static constexpr std::size_t kLinear = 8;
  std::optional<std::size_t> position(const Value& key) const;
  std::vector<MapIndex::Entry> entries_;
  MapIndex index_;
  std::size_t weight_ = 0;
};

struct ValueAccess {
  static Value shared(Kind kind, const void* pointer, const Shared* owner, bool owned) {
    Value result;
    result.kind_ = kind;
    result.word_.pointer = pointer;
    result.tail_.owner = owner;
    result.owned_ = owned;
    return result;
  }
  static Value text(Kind kind, std::string content) {
    if (content.size() > kMaxText) return Value::error("text is too long");
    const auto* held = new HeldText(std::move(content));
    Value result = shared(kind, nullptr, held, true);
    result.word_.text = held->text.data();
    result.size_ = static_cast<std::uint32_t>(held->text.size());
    return result;
  }
  // A part of the text of `whole`, which shares its memory.
  static Value part(const Value& whole, std::size_t begin, std::size_t size) {
    Value result = whole;
    result.word_.text += begin;
    result.size_ = static_cast<std::uint32_t>(size);
    return result;
  }
  static Value json(Kind kind, const void* container, const Type* type) {
    Value result;
    result.kind_ = kind;
    result.form_ = Value::Form::Json;
    result.word_.pointer = container;
    result.tail_.meta = type;
    return result;
  }
  // A list whose declared type has a kind.
  static Value keyed(const koord::json::array& array, const Type& type) {
    Value result = json(Kind::List, &array, &type);
    result.form_ = Value::Form::Keyed;
    return result;
  }
  // nullptr of lists without a kind.
  static const ListKind* listKind(const Value& list) {
    if (list.form_ == Value::Form::Json) return nullptr;
    if (list.form_ == Value::Form::Keyed)
      return static_cast<const Type*>(list.tail_.meta)->listKind();
    return pointer<List>(list)->kind();
  }
  // The same value, which does not count as a reference: `value` outlives the result.
  static Value borrowed(const Value& value) {
    Value result;
    result.kind_ = value.kind_;
    result.form_ = value.form_;
    result.size_ = value.size_;
    result.word_ = value.word_;
    result.tail_ = value.tail_;
    return result;
  }
  template <class T>
  static const T* pointer(const Value& value) {
    return static_cast<const T*>(value.word_.pointer);
  }
  static const koord::json::array& array(const Value& value) {
    return *pointer<koord::json::array>(value);
  }
  static const koord::json::object& members(const Value& value) {
    return *pointer<koord::json::object>(value);
  }
  // The type of elements or of values; nullptr if they have no declared type.
  static const Type* jsonType(const Value& value) {
    const auto* type = static_cast<const Type*>(value.tail_.meta);
    return value.form_ == Value::Form::Keyed ? &type->parameters()[0] : type;
  }
  static bool isCreated(const Value& value) { return value.form_ == Value::Form::Created; }
  static bool isJson(const Value& value) {
    return value.form_ == Value::Form::Json || value.form_ == Value::Form::Keyed;
  }
  // The list or map, or an Error if it has too many elements.
  static Value bounded(Value container);
  static Value fromJson(const koord::json::value& json, const Type* type);
  // The list, to be changed in place, if `value` alone refers to it; nullptr if it is shared.
  static ElementList* ownList(const Value& value);
  static EntryMap* ownMap(const Value& value);
  static bool isOwn(const Value& value);

  static constexpr std::size_t kMaxText = 16U << 20;  // bytes
  // Of a list or map that an expression makes, with those of lists and maps in it. Some bytes of
  // text count as one.
  static constexpr std::size_t kMaxElements = 1'000'000;
  static constexpr std::size_t kBytesPerElement = 16;
};

inline bool isMapKey(const Value& key) {
  return key.is(Kind::String) || key.is(Kind::Int) || key.is(Kind::Uint) || key.is(Kind::Bool);
}

// Of two values that are numbers; unordered if one is NaN.
std::partial_ordering compareNumbers(const Value& a, const Value& b);

}  // namespace koord::cel
