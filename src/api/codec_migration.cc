#include "api/codec_impl.h"
#include "api/describe_meta.h"
#include "api/migration.h"

namespace koord::api {

BOOST_DESCRIBE_STRUCT(MigrateReservationOptions, (), (reservationRef, template_))
BOOST_DESCRIBE_STRUCT(PodMigrationJobSpec, (),
                      (paused, ttl, mode, podRef, reservationOptions, deleteOptions))
BOOST_DESCRIBE_STRUCT(PodMigrationJobCondition, (),
                      (type, status, reason, message, lastProbeTime, lastTransitionTime))
BOOST_DESCRIBE_STRUCT(PodMigrationJobStatus, (),
                      (phase, status, reason, message, conditions, nodeName, podRef))
BOOST_DESCRIBE_STRUCT(PodMigrationJob, (), (metadata, spec, status))
BOOST_DESCRIBE_STRUCT(ScaleSpec, (), (replicas))
BOOST_DESCRIBE_STRUCT(Scale, (), (metadata, spec))

}  // namespace koord::api

KOORD_OBJECT_CODEC(koord::api::PodMigrationJob)
KOORD_CODEC(koord::api::PodMigrationJobStatus)
KOORD_CODEC(koord::api::Scale)
