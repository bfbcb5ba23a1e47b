#include "api/any_object.h"
#include "api/codec_impl.h"
#include "api/describe_meta.h"

namespace koord::api {

BOOST_DESCRIBE_STRUCT(AnyObject, (), (metadata))

}  // namespace koord::api

KOORD_FIELDS(koord::api::ObjectMeta)
KOORD_FIELDS(koord::api::ListMeta)
KOORD_FIELDS(koord::api::ObjectReference)
KOORD_FIELDS(koord::api::LabelSelector)
KOORD_FIELDS(koord::api::Condition)
KOORD_MEMBER(koord::api::ObjectMeta)
KOORD_MEMBER(std::optional<koord::api::LabelSelector>)
KOORD_MEMBER(koord::api::List<koord::api::Condition>)

template <>
const koord::api::Shape* koord::api::shapeOf<koord::api::Status>() {
  return &shapes::shape<Status>();
}

KOORD_CODEC(koord::api::ObjectMeta)
KOORD_OBJECT_CODEC(koord::api::AnyObject)
KOORD_CODEC(koord::api::LabelSelector)
KOORD_CODEC(koord::api::Status)
KOORD_CODEC(koord::api::ResourceList)
KOORD_CODEC(koord::api::StringMap)
