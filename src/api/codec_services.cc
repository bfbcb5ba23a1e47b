#include "api/codec_impl.h"
#include "api/describe_meta.h"
#include "api/services.h"

namespace koord::api {

BOOST_DESCRIBE_STRUCT(ServiceSpec, (), (selector))
BOOST_DESCRIBE_STRUCT(Service, (), (metadata, spec))
BOOST_DESCRIBE_STRUCT(ReplicationControllerSelection, (), (metadata, spec))
BOOST_DESCRIBE_STRUCT(SelectionSpec, (), (selector))
BOOST_DESCRIBE_STRUCT(ReplicaSetSelection, (), (metadata, spec))
BOOST_DESCRIBE_STRUCT(StatefulSetSelection, (), (metadata, spec))

}  // namespace koord::api

KOORD_OBJECT_CODEC(koord::api::Service)
KOORD_OBJECT_CODEC(koord::api::ReplicationControllerSelection)
KOORD_OBJECT_CODEC(koord::api::ReplicaSetSelection)
KOORD_OBJECT_CODEC(koord::api::StatefulSetSelection)
