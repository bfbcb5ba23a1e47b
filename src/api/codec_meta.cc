#include "api/codec_impl.h"
#include "api/describe_meta.h"

KOORD_CODEC(koord::api::ObjectMeta)
KOORD_CODEC(koord::api::LabelSelector)
KOORD_CODEC(koord::api::Status)
KOORD_CODEC(koord::api::ResourceList)
KOORD_CODEC(koord::api::StringMap)
