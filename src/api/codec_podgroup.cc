#include "api/codec_impl.h"
#include "api/describe_meta.h"
#include "api/podgroup.h"

namespace koord::api {

BOOST_DESCRIBE_STRUCT(PodGroupSpec, (), (minMember, minResources, scheduleTimeoutSeconds))
BOOST_DESCRIBE_STRUCT(PodGroupStatus, (),
                      (phase, occupiedBy, scheduled, running, succeeded, failed, scheduleStartTime))
BOOST_DESCRIBE_STRUCT(PodGroup, (), (metadata, spec, status))

}  // namespace koord::api

KOORD_OBJECT_CODEC(koord::api::PodGroup)
KOORD_CODEC(koord::api::PodGroupStatus)
