#include "api/codec_impl.h"
#include "api/describe_meta.h"
#include "api/podgroup.h"

namespace koord::api {

BOOST_DESCRIBE_STRUCT(PodGroupSpec, (), (minMember, minResources, scheduleTimeoutSeconds))
BOOST_DESCRIBE_STRUCT(PodGroupStatus, (),
                      (phase, occupiedBy, scheduled, running, succeeded, failed, scheduleStartTime))
BOOST_DESCRIBE_STRUCT(PodGroup, (), (metadata, spec, status))

BOOST_DESCRIBE_STRUCT(GangSchedulingPolicy, (), (minCount))
BOOST_DESCRIBE_STRUCT(PodGroupSchedulingPolicy, (), (basic, gang))
BOOST_DESCRIBE_STRUCT(PodGroupTopologyConstraint, (), (key))
BOOST_DESCRIBE_STRUCT(PodGroupSchedulingConstraints, (), (topology))
BOOST_DESCRIBE_STRUCT(WorkloadPodGroupSpec, (), (schedulingPolicy, schedulingConstraints))
BOOST_DESCRIBE_STRUCT(WorkloadPodGroupStatus, (), (conditions))
BOOST_DESCRIBE_STRUCT(WorkloadPodGroup, (), (metadata, spec, status))

}  // namespace koord::api

KOORD_OBJECT_CODEC(koord::api::PodGroup)
KOORD_OBJECT_CODEC(koord::api::WorkloadPodGroup)
KOORD_CODEC(koord::api::WorkloadPodGroupStatus)
KOORD_CODEC(koord::api::PodGroupStatus)
