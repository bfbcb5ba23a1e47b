#pragma once

// The generic half of codec.h, included by codec_<group>.cc only: it is heavy to compile.

#include <algorithm>
#include <boost/describe.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/mp11.hpp>
#include <concepts>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "api/boxed.h"
#include "api/codec.h"
#include "api/meta.h"
#include "api/shape_impl.h"
#include "base/time.h"

// How it works: Boost.Describe lists the members of a struct. fieldsOf() makes a constant table of
// them: the name and the functions that read and write the member. Plain functions (codec_impl.cc)
// walk the table, so the compiler generates little code for each struct. Lists and maps are
// templates; texts and numbers have overloads.
//
// Reading keeps no state on success. On the first error it notes what is wrong, and each level on
// the way out prepends its own name (Context::failure), so the path costs nothing until it is
// needed.
//
// Reading a struct walks the members of the JSON object, not those of the struct, because API
// objects are sparse: a Pod has some hundred possible fields, of which about a dozen are set.
// Members are found by comparing names, lengths first, which is faster than hashing for the sizes
// that occur.
//
// Writing omits what Go's omitempty omits, so an object that is read and written again has the same
// text, except for fields that our structs do not have. Those are lost; therefore writes to the API
// are patches.

namespace koord::api::codec {

// Where and why reading failed. Each level prepends its own name to the path.
struct Failure {
  std::string path;
  std::string message;

  bool in(std::string_view field);
  bool atIndex(std::size_t i);
  bool atKey(std::string_view key);
};

struct Context {
  Reading reading;
  Failure failure;

  bool fail(std::string message);
  bool expected(std::string_view what, const json::value& got);
};

Error errorOf(Failure failure);
// A member of a struct.
struct Field {
  std::string_view name;  // in JSON
  bool (*read)(Context& ctx, const json::value& in, void* object);
  // Adds the member to `out` unless it is empty.
  void (*write)(const void* object, json::object& out);
};

bool readFields(Context& ctx, const json::value& in, void* object, std::span<const Field> fields);
json::value writeFields(const void* object, std::span<const Field> fields);
// Writes apiVersion and kind, then the fields.
json::value writeObject(const ResourceType& type, const void* object,
                        std::span<const Field> fields);
// Omits a struct without content unless keepEmpty is true (the struct is set on purpose).
void addField(std::string_view name, json::value value, bool keepEmpty, json::object& out);
bool readInteger(Context& ctx, const json::value& in, std::int64_t low, std::int64_t high,
                 std::int64_t& out);

// null clears lists, maps and optionals; other types keep their default.
bool read(Context& ctx, const json::value& in, json::value& out);
bool read(Context& ctx, const json::value& in, bool& out);
bool read(Context& ctx, const json::value& in, double& out);
bool read(Context& ctx, const json::value& in, std::string& out);
bool read(Context& ctx, const json::value& in, Text& out);
bool read(Context& ctx, const json::value& in, Quantity& out);
bool read(Context& ctx, const json::value& in, WallTime& out);
bool read(Context& ctx, const json::value& in, MicroTime& out);
bool read(Context& ctx, const json::value& in, Duration& out);
bool read(Context& ctx, const json::value& in, IntOrString& out);

json::value write(const json::value& in);
json::value write(const std::string& in);
json::value write(const Text& in);
json::value write(const Quantity& in);
json::value write(const WallTime& in);
json::value write(const MicroTime& in);
json::value write(const Duration& in);
json::value write(const IntOrString& in);

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsVector<List<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<Map<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsOptional<Boxed<T>> : std::true_type {};

template <class T>
using Members = boost::describe::describe_members<T, boost::describe::mod_public>;

// The JSON name of a described member: the C++ name without the underscore that avoids a keyword.
template <class D>
constexpr std::string_view jsonName() {
  std::string_view name = D::name;
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

// The members of a described struct.
template <class T>
std::span<const Field> fieldsOf();

template <class T>
bool read(Context& ctx, const json::value& in, T& out) {
  if (in.is_null()) {
    if constexpr (IsVector<T>::value || IsMap<T>::value || IsOptional<T>::value) out = T{};
    return true;
  } else if constexpr (std::integral<T>) {
    std::int64_t value = 0;
    if (!readInteger(ctx, in, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), value))
      return false;
    out = static_cast<T>(value);
    return true;
  } else if constexpr (IsOptional<T>::value) {
    return read(ctx, in, out.emplace());
  } else if constexpr (IsVector<T>::value) {
    const auto* array = in.if_array();
    if (!array) return ctx.expected("a list", in);
    out.clear();
    out.reserve(array->size());
    for (std::size_t i = 0; i < array->size(); ++i)
      if (!read(ctx, (*array)[i], out.emplace_back())) return ctx.failure.atIndex(i);
    return true;
  } else if constexpr (IsMap<T>::value) {
    const auto* object = in.if_object();
    if (!object) return ctx.expected("an object", in);
    out.clear();
    out.reserve(object->size());
    for (const auto& entry : *object)
      if (!read(ctx, entry.value(), out[std::string_view(entry.key())]))
        return ctx.failure.atKey(entry.key());
    return true;
  } else {
    return readFields(ctx, in, &out, fieldsOf<T>());
  }
}

template <class T>
bool isEmpty(const T& in) {
  if constexpr (std::same_as<T, json::value>) {
    return in.is_null();
  } else if constexpr (std::same_as<T, std::string> || std::same_as<T, Text> ||
                       IsVector<T>::value || IsMap<T>::value) {
    return in.empty();
  } else if constexpr (IsOptional<T>::value) {
    return !in.has_value();
  } else if constexpr (std::is_arithmetic_v<T>) {
    return in == T{};
  } else {
    return false;
  }
}

template <class T>
json::value write(const T& in) {
  if constexpr (std::is_arithmetic_v<T>) {
    return in;
  } else if constexpr (IsOptional<T>::value) {
    return in ? write(*in) : json::value(nullptr);
  } else if constexpr (IsVector<T>::value) {
    json::array array;
    array.reserve(in.size());
    for (const auto& item : in) array.push_back(write(item));
    return array;
  } else if constexpr (IsMap<T>::value) {
    json::object object;
    object.reserve(in.size());
    for (const auto& [key, value] : in) object.emplace(key, write(value));
    return object;
  } else {
    return writeFields(&in, fieldsOf<T>());
  }
}

template <class M>
bool readMember(Context& ctx, const json::value& in, void* member) {
  return read(ctx, in, *static_cast<M*>(member));
}

template <class M>
void writeMember(std::string_view name, const void* member, json::object& out) {
  const M& in = *static_cast<const M*>(member);
  addField(name, write(in), IsOptional<M>::value || std::same_as<M, json::value>, out);
}

template <class T, class D>
using MemberType = std::remove_cvref_t<decltype(std::declval<T&>().*D::pointer)>;

template <class T, class D>
bool readField(Context& ctx, const json::value& in, void* object) {
  return readMember<MemberType<T, D>>(ctx, in, &(static_cast<T*>(object)->*D::pointer));
}

template <class T, class D>
void writeField(const void* object, json::object& out) {
  const auto& member = static_cast<const T*>(object)->*D::pointer;
  if (!isEmpty(member)) writeMember<MemberType<T, D>>(jsonName<D>(), &member, out);
}

template <class T, class List>
struct Fields;
template <class T, template <class...> class List, class... D>
struct Fields<T, List<D...>> {
  static constexpr Field kAll[] = {{jsonName<D>(), &readField<T, D>, &writeField<T, D>}...};
};

template <class T>
std::span<const Field> fieldsOf() {
  return Fields<T, Members<T>>::kAll;
}

}  // namespace koord::api::codec

// For a struct that several codec files use: the file with KOORD_FIELDS instantiates its table.
#define KOORD_EXTERN_FIELDS(T)                                                                \
  extern template std::span<const koord::api::codec::Field> koord::api::codec::fieldsOf<T>(); \
  extern template const koord::api::Shape& koord::api::shapes::shape<T>();
#define KOORD_FIELDS(T)                                                                \
  template std::span<const koord::api::codec::Field> koord::api::codec::fieldsOf<T>(); \
  template const koord::api::Shape& koord::api::shapes::shape<T>();
// The same for a member whose type is not a struct.
#define KOORD_EXTERN_MEMBER(...)                                                                  \
  extern template bool koord::api::codec::readMember<__VA_ARGS__>(                                \
      koord::api::codec::Context&, const koord::json::value&, void*);                             \
  extern template void koord::api::codec::writeMember<__VA_ARGS__>(std::string_view, const void*, \
                                                                   koord::json::object&);
#define KOORD_MEMBER(...)                                                                     \
  template bool koord::api::codec::readMember<__VA_ARGS__>(koord::api::codec::Context&,       \
                                                           const koord::json::value&, void*); \
  template void koord::api::codec::writeMember<__VA_ARGS__>(std::string_view, const void*,    \
                                                            koord::json::object&);

#define KOORD_COMMON_MEMBERS(MEMBER)             \
  MEMBER(bool)                                   \
  MEMBER(std::int32_t)                           \
  MEMBER(std::int64_t)                           \
  MEMBER(std::string)                            \
  MEMBER(koord::api::Text)                       \
  MEMBER(koord::Quantity)                        \
  MEMBER(koord::WallTime)                        \
  MEMBER(koord::Duration)                        \
  MEMBER(koord::api::IntOrString)                \
  MEMBER(koord::json::value)                     \
  MEMBER(std::optional<bool>)                    \
  MEMBER(std::optional<std::int32_t>)            \
  MEMBER(std::optional<std::int64_t>)            \
  MEMBER(std::optional<std::string>)             \
  MEMBER(std::optional<koord::Quantity>)         \
  MEMBER(std::optional<koord::WallTime>)         \
  MEMBER(std::optional<koord::Duration>)         \
  MEMBER(std::optional<koord::api::IntOrString>) \
  MEMBER(koord::api::List<std::string>)          \
  MEMBER(std::vector<std::string>)               \
  MEMBER(koord::api::Map<std::string>)           \
  MEMBER(koord::api::Map<koord::Quantity>)
KOORD_COMMON_MEMBERS(KOORD_EXTERN_MEMBER)

namespace koord::api {

template <class T>
Result<T> decode(const json::value& document, Reading reading) {
  codec::Context ctx{reading, {}};
  T object;
  if (codec::read(ctx, document, object)) return object;
  return std::unexpected(codec::errorOf(std::move(ctx.failure)));
}

template <class T>
json::value encode(const T& object) {
  return codec::write(object);
}

template <class T>
json::value encodeObject(const T& object) {
  return codec::writeObject(T::kType, &object, codec::fieldsOf<T>());
}

}  // namespace koord::api

// Instantiates the codec of a nested struct that other files decode separately.
#define KOORD_CODEC(T)                                                                             \
  template koord::Result<T> koord::api::decode<T>(const koord::json::value&, koord::api::Reading); \
  template koord::json::value koord::api::encode<T>(const T&);
// The same for a kind with a kType.
#define KOORD_OBJECT_CODEC(T)                                        \
  KOORD_CODEC(T)                                                     \
  template koord::json::value koord::api::encodeObject<T>(const T&); \
  template const koord::api::Shape* koord::api::shapeOf<T>();
