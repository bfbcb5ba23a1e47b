#pragma once

// Makes shapes (shape.h) from descriptions; only codec_impl.h includes it.

#include <boost/describe.hpp>
#include <boost/mp11.hpp>
#include <optional>
#include <type_traits>
#include <vector>

#include "api/boxed.h"
#include "api/shape.h"

namespace koord::api::shapes {

Shape plain(Shape::Kind kind);
void addMember(Shape& shape, std::string_view name, const void* object, const void* member,
               const Shape& of);

template <class T>
const Shape& shape();

template <class T>
struct Maker {
  static Shape make() {
    static const T sample{};
    Shape out = plain(Shape::Kind::Struct);
    using Members = boost::describe::describe_members<T, boost::describe::mod_public>;
    boost::mp11::mp_for_each<Members>([&](auto descriptor) {
      using D = decltype(descriptor);
      std::string_view name = D::name;
      if (name.ends_with('_')) name.remove_suffix(1);
      const auto& member = sample.*D::pointer;
      addMember(out, name, &sample, &member, shape<std::remove_cvref_t<decltype(member)>>());
    });
    return out;
  }
};

template <class T, Shape::Kind kind>
struct Plain {
  static Shape make() { return plain(kind); }
};
template <>
struct Maker<bool> : Plain<bool, Shape::Kind::Boolean> {};
template <>
struct Maker<std::int32_t> : Plain<std::int32_t, Shape::Kind::Int32> {};
template <>
struct Maker<std::int64_t> : Plain<std::int64_t, Shape::Kind::Int64> {};
template <>
struct Maker<std::string> : Plain<std::string, Shape::Kind::String> {};
template <>
struct Maker<Text> : Plain<Text, Shape::Kind::Text> {};
template <>
struct Maker<Quantity> : Plain<Quantity, Shape::Kind::Quantity> {};
template <>
struct Maker<WallTime> : Plain<WallTime, Shape::Kind::Time> {};
template <>
struct Maker<MicroTime> : Plain<MicroTime, Shape::Kind::MicroTime> {};
template <>
struct Maker<IntOrString> : Plain<IntOrString, Shape::Kind::IntOrString> {};
template <>
struct Maker<json::value> : Plain<json::value, Shape::Kind::Json> {};

template <class C, class T>
struct OptionalMaker {
  static Shape make() {
    Shape out = plain(Shape::Kind::Optional);
    out.item = &shape<T>();
    out.add = [](void* container, std::string_view) -> void* {
      C& optional = *static_cast<C*>(container);
      return optional.has_value() ? &*optional : &optional.emplace();
    };
    out.each = [](const void* container, void* context, Shape::Visitor visit) {
      const C& optional = *static_cast<const C*>(container);
      if (optional.has_value()) visit(context, {}, &*optional);
    };
    return out;
  }
};
template <class T>
struct Maker<std::optional<T>> : OptionalMaker<std::optional<T>, T> {};
template <class T>
struct Maker<Boxed<T>> : OptionalMaker<Boxed<T>, T> {};

template <class C, class T>
struct ListMaker {
  static Shape make() {
    Shape out = plain(Shape::Kind::List);
    out.item = &shape<T>();
    out.add = [](void* container, std::string_view) -> void* {
      return &static_cast<C*>(container)->emplace_back();
    };
    out.reserve = [](void* container, std::size_t count) {
      C& list = *static_cast<C*>(container);
      if (list.empty()) list.reserve(count);
    };
    out.each = [](const void* container, void* context, Shape::Visitor visit) {
      for (const T& item : *static_cast<const C*>(container)) visit(context, {}, &item);
    };
    return out;
  }
};
template <class T>
struct Maker<std::vector<T>> : ListMaker<std::vector<T>, T> {};
template <class T>
struct Maker<List<T>> : ListMaker<List<T>, T> {};

template <class T>
struct Maker<Map<T>> {
  static Shape make() {
    Shape out = plain(Shape::Kind::Map);
    out.item = &shape<T>();
    out.add = [](void* container, std::string_view key) -> void* {
      return &static_cast<Map<T>*>(container)->try_emplace(std::string(key)).first->second;
    };
    out.reserve = [](void* container, std::size_t count) {
      auto& map = *static_cast<Map<T>*>(container);
      if (map.empty()) map.reserve(count);
    };
    out.each = [](const void* container, void* context, Shape::Visitor visit) {
      for (const auto& [key, value] : *static_cast<const Map<T>*>(container))
        visit(context, key, &value);
    };
    return out;
  }
};

template <class T>
const Shape& shape() {
  static const Shape made = Maker<T>::make();
  return made;
}

}  // namespace koord::api::shapes

namespace koord::api {

template <class T>
const Shape* shapeOf() {
  if constexpr (isBuiltin(T::kType)) {
    return &shapes::shape<T>();
  } else {
    return nullptr;
  }
}

}  // namespace koord::api
