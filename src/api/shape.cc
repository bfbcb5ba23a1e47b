#include "api/shape.h"

#include "api/shape_impl.h"

namespace koord::api::shapes {

Shape plain(Shape::Kind kind) {
  Shape shape;
  shape.kind = kind;
  return shape;
}

void addMember(Shape& shape, std::string_view name, const void* object, const void* member,
               const Shape& of) {
  const auto offset = static_cast<const char*>(member) - static_cast<const char*>(object);
  shape.members.push_back({name, static_cast<std::uint32_t>(offset), &of});
}

}  // namespace koord::api::shapes
