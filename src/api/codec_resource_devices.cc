#include "api/codec_impl.h"
#include "api/describe_devices.h"

KOORD_OBJECT_CODEC(koord::api::DeviceClass)
KOORD_OBJECT_CODEC(koord::api::ResourceSlice)
KOORD_OBJECT_CODEC(koord::api::DeviceTaintRule)
