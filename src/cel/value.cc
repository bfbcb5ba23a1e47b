#include "cel/value.h"

#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "cel/value_access.h"

namespace koord::cel {

Shared::~Shared() = default;
ListKind::~ListKind() = default;
ObjectType::~ObjectType() = default;
Value ObjectType::create(std::span<const std::pair<std::string_view, Value>>) const {
  return Value::error("objects of type " + std::string(name()) + " cannot be constructed");
}

std::optional<Value> ObjectType::named(const void*, std::string_view) const {
  return std::nullopt;
}

Value Value::boolean(bool value) {
  Value result;
  result.kind_ = Kind::Bool;
  result.word_.boolean = value;
  return result;
}
Value Value::integer(std::int64_t value) {
  Value result;
  result.kind_ = Kind::Int;
  result.word_.integer = value;
  return result;
}
Value Value::unsignedInteger(std::uint64_t value) {
  Value result;
  result.kind_ = Kind::Uint;
  result.word_.natural = value;
  return result;
}
Value Value::real(double value) {
  Value result;
  result.kind_ = Kind::Double;
  result.word_.real = value;
  return result;
}
Value Value::timestamp(Timestamp value) {
  Value result;
  result.kind_ = Kind::Timestamp;
  result.word_.integer = value.seconds;
  result.size_ = value.nanoseconds;
  return result;
}
Value Value::duration(std::int64_t nanoseconds) {
  Value result = integer(nanoseconds);
  result.kind_ = Kind::Duration;
  return result;
}

Value Value::string(std::string text) {
  return ValueAccess::text(Kind::String, std::move(text));
}
Value Value::bytes(std::string content) {
  return ValueAccess::text(Kind::Bytes, std::move(content));
}
Value Value::stringView(std::string_view text) {
  Value result;
  result.kind_ = Kind::String;
  result.word_.text = text.data();
  result.size_ = static_cast<std::uint32_t>(text.size());
  return result;
}
Value Value::bytesView(std::string_view content) {
  Value result = stringView(content);
  result.kind_ = Kind::Bytes;
  return result;
}

Value Value::list(std::vector<Value> elements) {
  return adopt(static_cast<const List*>(new ElementList(std::move(elements))));
}
Value Value::adopt(const CreatedObject* object) {
  Value result = ValueAccess::shared(Kind::Object, object, object, true);
  result.form_ = Form::Created;
  return ValueAccess::bounded(std::move(result));
}
Value Value::adopt(const List* list) {
  return ValueAccess::bounded(ValueAccess::shared(Kind::List, list, list, true));
}
Value Value::adopt(const Map* map) {
  return ValueAccess::bounded(ValueAccess::shared(Kind::Map, map, map, true));
}
Value Value::adopt(const Opaque* opaque) {
  return ValueAccess::shared(Kind::Opaque, opaque, opaque, true);
}
Value Value::borrow(const List& list) {
  return ValueAccess::shared(Kind::List, &list, &list, false);
}
Value Value::borrow(const Map& map) {
  return ValueAccess::shared(Kind::Map, &map, &map, false);
}
Value Value::borrow(const Opaque& opaque) {
  return ValueAccess::shared(Kind::Opaque, &opaque, &opaque, false);
}
Value Value::object(const ObjectType& type, const void* object) {
  Value result;
  result.kind_ = Kind::Object;
  result.word_.pointer = object;
  result.tail_.meta = &type;
  return result;
}
Value Value::optional(Value value) {
  const auto* held = new HeldValue(std::move(value));
  return ValueAccess::shared(Kind::Optional, held, held, true);
}
Value Value::none() {
  Value result;
  result.kind_ = Kind::Optional;
  return result;
}
Value Value::type(Type type) {
  const auto* held = new HeldType(std::move(type));
  return ValueAccess::shared(Kind::Type, held, held, true);
}
Value Value::error(std::string message) {
  const auto* held = new HeldError(std::move(message));
  return ValueAccess::shared(Kind::Error, held, held, true);
}

Type Value::asType() const {
  return ValueAccess::pointer<HeldType>(*this)->type;
}
const Opaque& Value::asOpaque() const {
  return *ValueAccess::pointer<Opaque>(*this);
}
const std::string& Value::errorMessage() const {
  return ValueAccess::pointer<HeldError>(*this)->message;
}
const ObjectType& Value::objectType() const {
  if (form_ == Form::Created) return ValueAccess::pointer<CreatedObject>(*this)->type();
  return *static_cast<const ObjectType*>(tail_.meta);
}
const Value* Value::optionalValue() const {
  const auto* held = ValueAccess::pointer<HeldValue>(*this);
  return held ? &held->value : nullptr;
}

std::size_t weightOf(const Value& value) {
  switch (value.kind()) {
    case Kind::List:
      return 1 + (ValueAccess::isJson(value) ? value.listSize()
                                             : ValueAccess::pointer<List>(value)->weight());
    case Kind::Map:
      return 1 + (ValueAccess::isJson(value) ? value.mapSize()
                                             : ValueAccess::pointer<Map>(value)->weight());
    case Kind::Object:
      return 1 + (ValueAccess::isCreated(value)
                      ? ValueAccess::pointer<CreatedObject>(value)->weight()
                      : 0);
    case Kind::String:
    case Kind::Bytes:
      return 1 + value.text().size() / ValueAccess::kBytesPerElement;
    case Kind::Optional:
      return value.optionalValue() ? 1 + weightOf(*value.optionalValue()) : 1;
    default:
      return 1;
  }
}

Value ValueAccess::bounded(Value container) {
  if (weightOf(container) <= kMaxElements) return container;
  if (container.is(Kind::Object)) return Value::error("object is too large");
  return Value::error(container.is(Kind::List) ? "list is too long" : "map is too large");
}

std::size_t Value::listSize() const {
  if (ValueAccess::isJson(*this)) return ValueAccess::array(*this).size();
  return ValueAccess::pointer<List>(*this)->size();
}
Value Value::listAt(std::size_t index) const {
  if (form_ == Form::Native) return ValueAccess::pointer<List>(*this)->at(index);
  return ValueAccess::fromJson(ValueAccess::array(*this)[index], ValueAccess::jsonType(*this));
}
std::size_t Value::mapSize() const {
  if (form_ == Form::Json) return ValueAccess::members(*this).size();
  return ValueAccess::pointer<Map>(*this)->size();
}
std::optional<Value> Value::mapFind(const Value& key) const {
  if (form_ == Form::Native) return ValueAccess::pointer<Map>(*this)->find(key);
  if (key.kind_ != Kind::String) return std::nullopt;
  const auto& members = ValueAccess::members(*this);
  const auto found = members.find(key.text());
  if (found == members.end()) return std::nullopt;
  return ValueAccess::fromJson(found->value(), ValueAccess::jsonType(*this));
}
bool Value::mapContains(const Value& key) const {
  return form_ == Form::Native ? ValueAccess::pointer<Map>(*this)->contains(key)
                               : mapFind(key).has_value();
}
std::pair<Value, Value> Value::entryAt(std::size_t index) const {
  if (form_ == Form::Native) return ValueAccess::pointer<Map>(*this)->entry(index);
  const auto& entry = ValueAccess::members(*this).begin()[index];
  return {stringView({entry.key().data(), entry.key().size()}),
          ValueAccess::fromJson(entry.value(), ValueAccess::jsonType(*this))};
}

Type Value::runtimeType() const {
  switch (kind_) {
    case Kind::Null:
      return Type::null();
    case Kind::Bool:
      return Type::boolean();
    case Kind::Int:
      return Type::integer();
    case Kind::Uint:
      return Type::unsignedInteger();
    case Kind::Double:
      return Type::real();
    case Kind::String:
      return Type::string();
    case Kind::Bytes:
      return Type::bytes();
    case Kind::Timestamp:
      return Type::timestamp();
    case Kind::Duration:
      return Type::duration();
    case Kind::List:
      return Type::list(Type::dyn());
    case Kind::Map:
      return Type::map(Type::dyn(), Type::dyn());
    case Kind::Object:
      return Type::object(objectType());
    case Kind::Opaque:
      return asOpaque().type();
    case Kind::Optional:
      return Type::optional(Type::dyn());
    case Kind::Type:
      return Type::type(Type::dyn());
    case Kind::Error:
      break;
  }
  return Type::dyn();
}

std::partial_ordering compareNumbers(const Value& a, const Value& b) {
  constexpr double kTwo63 = 9223372036854775808.0, kTwo64 = 18446744073709551616.0;
  if (a.kind() == b.kind()) {
    if (a.is(Kind::Int)) return a.asInt() <=> b.asInt();
    if (a.is(Kind::Uint)) return a.asUint() <=> b.asUint();
    return a.asDouble() <=> b.asDouble();
  }
  if (b.is(Kind::Double)) return 0 <=> compareNumbers(b, a);
  if (a.is(Kind::Int)) {  // b is unsigned
    if (a.asInt() < 0) return std::partial_ordering::less;
    return static_cast<std::uint64_t>(a.asInt()) <=> b.asUint();
  }
  if (a.is(Kind::Uint)) return 0 <=> compareNumbers(b, a);
  // A double and an integer compare as doubles, as cel-go does it: large integers lose digits.
  const double real = a.asDouble();
  const bool isSigned = b.is(Kind::Int);
  if (real > (isSigned ? kTwo63 : kTwo64)) return std::partial_ordering::greater;
  if (real < (isSigned ? -kTwo63 : 0.0)) return std::partial_ordering::less;
  return real <=> (isSigned ? static_cast<double>(b.asInt()) : static_cast<double>(b.asUint()));
}

namespace {

// Whether the lists have the same elements, of which a list has each once.
bool sameElements(const Value& a, const Value& b, const ListKind& kind) {
  const std::size_t size = a.listSize();
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < size; ++i) places.insert_or_assign(kind.keyOf(a.listAt(i)), i);
  std::unordered_set<std::string> seen;
  for (std::size_t i = 0; i < size; ++i) {
    const Value element = b.listAt(i);
    std::string key = kind.keyOf(element);
    const auto place = places.find(key);
    if (place == places.end()) return false;
    if (!kind.isSet() && !a.listAt(place->second).equals(element)) return false;
    seen.insert(std::move(key));
  }
  return seen.size() == places.size();
}

bool listsEqual(const Value& a, const Value& b) {
  const std::size_t size = a.listSize();
  if (size != b.listSize()) return false;
  if (const ListKind* kind = ValueAccess::listKind(a)) return sameElements(a, b, *kind);
  for (std::size_t i = 0; i < size; ++i)
    if (!a.listAt(i).equals(b.listAt(i))) return false;
  return true;
}

bool mapsEqual(const Value& a, const Value& b) {
  const std::size_t size = a.mapSize();
  if (size != b.mapSize()) return false;
  for (std::size_t i = 0; i < size; ++i) {
    const auto [key, value] = a.entryAt(i);
    const auto other = b.mapFind(key);
    if (!other || !value.equals(*other)) return false;
  }
  return true;
}

// Types of values are equal by name: list(int) and list(string) are both "list".
bool typesEqual(const Type& a, const Type& b) {
  return a.kind() == b.kind() && a.name() == b.name();
}

}  // namespace

bool Value::equals(const Value& other) const {
  if (kind_ != other.kind_)
    return isNumber() && other.isNumber() && compareNumbers(*this, other) == 0;
  switch (kind_) {
    case Kind::Null:
      return true;
    case Kind::Bool:
      return asBool() == other.asBool();
    case Kind::Int:
    case Kind::Duration:
      return asInt() == other.asInt();
    case Kind::Uint:
      return asUint() == other.asUint();
    case Kind::Double:
      return asDouble() == other.asDouble();
    case Kind::String:
    case Kind::Bytes:
      return text() == other.text();
    case Kind::Timestamp:
      return asTimestamp() == other.asTimestamp();
    case Kind::List:
      return listsEqual(*this, other);
    case Kind::Map:
      return mapsEqual(*this, other);
    case Kind::Object:
      return &objectType() == &other.objectType() &&
             objectType().equals(objectPointer(), other.objectPointer());
    case Kind::Opaque:
      return asOpaque().type() == other.asOpaque().type() && asOpaque().equals(other.asOpaque());
    case Kind::Optional: {
      const Value *a = optionalValue(), *b = other.optionalValue();
      return a && b ? a->equals(*b) : a == b;
    }
    case Kind::Type:
      return typesEqual(asType(), other.asType());
    case Kind::Error:
      break;
  }
  return false;
}

std::optional<std::size_t> MapIndex::find(const std::vector<Entry>& entries,
                                          const Value& key) const {
  const auto bucket = positions_.equal_range(hash(key));
  for (auto at = bucket.first; at != bucket.second; ++at)
    if (entries[at->second].first.equals(key)) return at->second;
  return std::nullopt;
}

std::size_t MapIndex::hash(const Value& key) {
  switch (key.kind()) {
    case Kind::String:
      return std::hash<std::string_view>()(key.text());
    case Kind::Bool:
      return key.asBool() ? 1 : 2;
    case Kind::Int:
      return std::hash<double>()(static_cast<double>(key.asInt()));
    case Kind::Uint:
      return std::hash<double>()(static_cast<double>(key.asUint()));
    case Kind::Double:
      return std::hash<double>()(key.asDouble());
    default:
      return 0;
  }
}

bool EntryMap::insert(Value key, Value value) {
  if (find(key)) return false;
  if (entries_.size() == kLinear)
    for (std::size_t i = 0; i < entries_.size(); ++i) index_.add(entries_[i].first, i);
  if (entries_.size() >= kLinear) index_.add(key, entries_.size());
  weight_ += 1 + weightOf(value);
  entries_.emplace_back(std::move(key), std::move(value));
  return true;
}

std::optional<std::size_t> EntryMap::position(const Value& key) const {
  if (entries_.size() > kLinear) return index_.find(entries_, key);
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].first.equals(key)) return i;
  return std::nullopt;
}

std::optional<Value> EntryMap::find(const Value& key) const {
  const auto at = position(key);
  if (!at) return std::nullopt;
  return entries_[*at].second;
}

}  // namespace koord::cel
