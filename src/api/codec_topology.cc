#include "api/codec_impl.h"
#include "api/describe_meta.h"
#include "api/topology.h"

namespace koord::api {

BOOST_DESCRIBE_STRUCT(ZoneResource, (), (name, capacity, allocatable, available))
BOOST_DESCRIBE_STRUCT(TopologyZone, (), (name, type, resources))
BOOST_DESCRIBE_STRUCT(NodeResourceTopology, (), (metadata, topologyPolicies, zones))

}  // namespace koord::api

KOORD_OBJECT_CODEC(koord::api::NodeResourceTopology)
