#include "api/codec_impl.h"
#include "api/describe_meta.h"
#include "api/network_topology.h"

namespace koord::api {

BOOST_DESCRIBE_STRUCT(NetworkTopologyLayer, (), (topologyLayer, parentTopologyLayer, labelKey))
BOOST_DESCRIBE_STRUCT(ClusterNetworkTopologySpec, (), (networkTopologySpec))
BOOST_DESCRIBE_STRUCT(ClusterNetworkTopology, (), (metadata, spec, status))

}  // namespace koord::api

KOORD_OBJECT_CODEC(koord::api::ClusterNetworkTopology)
