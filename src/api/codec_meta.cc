#include "api/codec_impl.h"
#include "api/describe_meta.h"

template <>
const koord::api::Shape* koord::api::shapeOf<koord::api::Status>() {
  return &shapes::shape<Status>();
}

KOORD_CODEC(koord::api::ObjectMeta)
KOORD_CODEC(koord::api::LabelSelector)
KOORD_CODEC(koord::api::Status)
KOORD_CODEC(koord::api::ResourceList)
KOORD_CODEC(koord::api::StringMap)
