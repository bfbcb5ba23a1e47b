#pragma once

// The generic half of codec.h, included by codec_<group>.cc only: it is heavy to compile.

#include <fmt/format.h>

#include <algorithm>
#include <boost/describe.hpp>
#include <boost/json/object.hpp>
#include <boost/mp11.hpp>
#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

#include "api/boxed.h"
#include "api/codec.h"
#include "api/meta.h"
#include "api/quantity_json.h"
#include "api/shape_impl.h"
#include "base/time.h"

// How it works: Boost.Describe lists the members of a struct; read() and write() are chosen by the
// member's type at compile time, and call each other for structs, lists and maps. There is no
// intermediate form and no table to keep in step with a struct.
//
// Reading keeps no state on success. On the first mistake it notes what is wrong, and each level on
// the way out puts its own name in front (Context::failure), so the path costs nothing until it is
// needed.
//
// Reading a struct walks the object's members and not the struct's, since objects of the API are
// sparse: a Pod has some hundred possible fields and a dozen given ones. Members are found by
// comparing names, lengths first, which for the sizes that occur is faster than hashing.
//
// Writing leaves out what Go's omitempty leaves out, so that an object that was read and written
// again is the same text, but for fields that our structs do not have. Those are lost, which is why
// writes to the API are patches.

namespace koord::api::codec {

// Where and why reading failed; each level puts its own name in front of the path.
struct Failure {
  std::string path;
  std::string message;

  bool in(std::string_view field) {
    if (!path.empty() && path.front() != '[') path.insert(0, ".");
    path.insert(0, field);
    return false;
  }
  bool atIndex(std::size_t i) { return in(fmt::format("[{}]", i)); }
  bool atKey(std::string_view key) { return in(fmt::format("[{}]", key)); }
};

struct Context {
  Reading reading;
  Failure failure;

  bool fail(std::string message) {
    failure.message = std::move(message);
    return false;
  }
  bool expected(std::string_view what, const json::value& got) {
    std::string text = toJson(got);
    if (text.size() > 60) {
      text.resize(57);
      text += "...";
    }
    return fail(fmt::format("expected {}, got {}", what, text));
  }
};

// The JSON name of a described member: the C++ name without the underscore that avoids a keyword.
template <class D>
constexpr std::string_view jsonName() {
  std::string_view name = D::name;
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

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

inline bool equalNoCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; };
    return lower(x) == lower(y);
  });
}

inline std::string_view view(const json::string& s) {
  return {s.data(), s.size()};
}

inline bool readInteger(Context& ctx, const json::value& in, std::int64_t low, std::int64_t high,
                        std::int64_t& out) {
  if (in.is_int64()) {
    out = in.get_int64();
  } else if (in.is_uint64()) {
    return ctx.fail(fmt::format("{} is larger than {}", in.get_uint64(), high));
  } else if (in.is_double() && ctx.reading == Reading::Api && std::abs(in.get_double()) < 0x1p63 &&
             in.get_double() == std::trunc(in.get_double())) {
    out = static_cast<std::int64_t>(in.get_double());  // 1e3 and 5.0 are integers to the API
  } else {
    return ctx.expected("an integer", in);
  }
  if (out < low || out > high)
    return ctx.fail(fmt::format("{} is not between {} and {}", out, low, high));
  return true;
}

template <class T>
bool read(Context& ctx, const json::value& in, T& out);

template <class T>
bool readStruct(Context& ctx, const json::value& in, T& out) {
  const auto* object = in.if_object();
  if (!object) return ctx.expected("an object", in);
  bool ok = true;
  for (const auto& entry : *object) {
    const std::string_view key{entry.key().data(), entry.key().size()};
    bool known = false;
    const auto tryField = [&](auto descriptor, bool exact) {
      using D = decltype(descriptor);
      constexpr std::string_view name = jsonName<D>();
      if (known || !ok) return;
      if (exact ? key != name : !equalNoCase(key, name)) return;
      known = true;
      if (!read(ctx, entry.value(), out.*D::pointer)) ok = ctx.failure.in(name);
    };
    boost::mp11::mp_for_each<Members<T>>([&](auto d) { tryField(d, true); });
    if (!known && ctx.reading == Reading::Go)
      boost::mp11::mp_for_each<Members<T>>([&](auto d) { tryField(d, false); });
    if (!known && ctx.reading == Reading::Strict && key != "apiVersion" && key != "kind") {
      ctx.fail("unknown field");
      return ctx.failure.in(key);
    }
    if (!ok) return false;
  }
  return true;
}

// What JSON writes as a string, if not always.
template <class T>
inline constexpr bool kIsText =
    std::same_as<T, std::string> || std::same_as<T, Text> || std::same_as<T, Quantity> ||
    std::same_as<T, WallTime> || std::same_as<T, MicroTime> || std::same_as<T, Duration> ||
    std::same_as<T, IntOrString>;

template <class T>
bool readText(Context& ctx, const json::value& in, T& out) {
  if constexpr (std::same_as<T, std::string> || std::same_as<T, Text>) {
    if (!in.is_string()) return ctx.expected("a string", in);
    out = view(in.get_string());
    return true;
  } else if constexpr (std::same_as<T, Quantity>) {
    if (!in.is_string() && !in.is_number())
      return ctx.expected("a quantity such as 500m or 2Gi", in);
    auto quantity = readQuantity(in);
    if (!quantity) return ctx.fail(std::move(quantity.error().message));
    out = *std::move(quantity);
    return true;
  } else if constexpr (std::same_as<T, WallTime> || std::same_as<T, MicroTime>) {
    if (!in.is_string()) return ctx.expected("a time such as 2026-01-02T03:04:05Z", in);
    const auto time = parseTime(view(in.get_string()));
    if (!time) return ctx.fail(time.error().message);
    if constexpr (std::same_as<T, MicroTime>) {
      out.time = *time;
    } else {
      out = *time;
    }
    return true;
  } else if constexpr (std::same_as<T, Duration>) {
    if (!in.is_string()) return ctx.expected("a duration such as 1h30m", in);
    const auto duration = parseDuration(view(in.get_string()));
    if (!duration) return ctx.fail(duration.error().message);
    out = *duration;
    return true;
  } else {
    static_assert(std::same_as<T, IntOrString>);
    if (in.is_string()) {
      out = IntOrString{0, std::string(view(in.get_string())), true};
      return true;
    }
    std::int64_t value = 0;
    if (!readInteger(ctx, in, std::numeric_limits<std::int32_t>::min(),
                     std::numeric_limits<std::int32_t>::max(), value))
      return false;
    out = IntOrString{static_cast<std::int32_t>(value), {}, false};
    return true;
  }
}

template <class T>
bool read(Context& ctx, const json::value& in, T& out) {
  if constexpr (std::same_as<T, json::value>) {
    out = in;
    return true;
  } else if (in.is_null()) {
    if constexpr (IsVector<T>::value || IsMap<T>::value || IsOptional<T>::value) out = T{};
    return true;
  } else if constexpr (std::same_as<T, bool>) {
    if (!in.is_bool()) return ctx.expected("true or false", in);
    out = in.get_bool();
    return true;
  } else if constexpr (std::integral<T>) {
    std::int64_t value = 0;
    if (!readInteger(ctx, in, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), value))
      return false;
    out = static_cast<T>(value);
    return true;
  } else if constexpr (std::floating_point<T>) {
    const auto number = realNumber(in);
    if (!number) return ctx.expected("a number", in);
    out = static_cast<T>(*number);
    return true;
  } else if constexpr (kIsText<T>) {
    return readText(ctx, in, out);
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
      if (!read(ctx, entry.value(), out[std::string(entry.key())]))
        return ctx.failure.atKey(entry.key());
    return true;
  } else {
    return readStruct(ctx, in, out);
  }
}

template <class T>
json::value write(const T& in);

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
  if constexpr (std::same_as<T, json::value>) {
    return in;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return in;
  } else if constexpr (std::same_as<T, std::string> || std::same_as<T, Text>) {
    return json::string(std::string_view(in));
  } else if constexpr (std::same_as<T, Quantity>) {
    return json::string(in.toString());
  } else if constexpr (std::same_as<T, WallTime>) {
    return json::string(formatTime(in));
  } else if constexpr (std::same_as<T, MicroTime>) {
    return json::string(formatMicroTime(in.time));
  } else if constexpr (std::same_as<T, Duration>) {
    return json::string(formatDuration(in));
  } else if constexpr (std::same_as<T, IntOrString>) {
    if (in.isText) return json::string(in.text);
    return in.number;
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
    json::object object;
    boost::mp11::mp_for_each<Members<T>>([&](auto d) {
      using D = decltype(d);
      const auto& member = in.*D::pointer;
      if (isEmpty(member)) return;
      json::value value = write(member);
      // A struct without content is left out unless it is there on purpose (an optional).
      using M = std::remove_cvref_t<decltype(member)>;
      if constexpr (!IsOptional<M>::value && !std::same_as<M, json::value>) {
        if (value.is_object() && value.get_object().empty()) return;
      }
      constexpr std::string_view name = jsonName<D>();
      object.emplace(json::string_view(name.data(), name.size()), std::move(value));
    });
    return object;
  }
}

}  // namespace koord::api::codec

namespace koord::api {

template <class T>
Result<T> decode(const json::value& document, Reading reading) {
  codec::Context ctx{reading, {}};
  T object;
  if (codec::read(ctx, document, object)) return object;
  if (ctx.failure.path.empty())
    return koord::fail(ErrorCode::BadRequest, std::move(ctx.failure.message));
  return koord::fail(ErrorCode::BadRequest, ctx.failure.path + ": " + ctx.failure.message);
}

template <class T>
json::value encode(const T& object) {
  return codec::write(object);
}

template <class T>
json::value encodeObject(const T& object) {
  json::object whole;
  whole.emplace("apiVersion", apiVersionOf(T::kType));
  whole.emplace("kind", json::string_view(T::kType.kind.data(), T::kType.kind.size()));
  json::value members = codec::write(object);
  for (auto& entry : members.get_object()) whole.emplace(entry.key(), std::move(entry.value()));
  return whole;
}

}  // namespace koord::api

// Makes the codec of a nested struct that other files decode on its own.
#define KOORD_CODEC(T)                                                                             \
  template koord::Result<T> koord::api::decode<T>(const koord::json::value&, koord::api::Reading); \
  template koord::json::value koord::api::encode<T>(const T&);
// The same for a kind with a kType.
#define KOORD_OBJECT_CODEC(T)                                        \
  KOORD_CODEC(T)                                                     \
  template koord::json::value koord::api::encodeObject<T>(const T&); \
  template const koord::api::Shape* koord::api::shapeOf<T>();
