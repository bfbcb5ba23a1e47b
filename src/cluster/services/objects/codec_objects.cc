// The JSON mapping of objects.h.

#include "api/codec_impl.h"
#include "api/describe_meta.h"
#include "cluster/services/objects/objects.h"

namespace koord::cluster::services {

BOOST_DESCRIBE_STRUCT(ServicePort, (), (name, protocol, port, targetPort, nodePort, appProtocol))
BOOST_DESCRIBE_STRUCT(ServiceSpec, (),
                      (ports, selector, clusterIP, type, externalName, sessionAffinity,
                       loadBalancerClass, publishNotReadyAddresses))
BOOST_DESCRIBE_STRUCT(LoadBalancerIngress, (), (ip, ipMode))
BOOST_DESCRIBE_STRUCT(LoadBalancerStatus, (), (ingress))
BOOST_DESCRIBE_STRUCT(ServiceStatus, (), (loadBalancer))
BOOST_DESCRIBE_STRUCT(Service, (), (metadata, spec, status))
BOOST_DESCRIBE_STRUCT(EndpointConditions, (), (ready, serving, terminating))
BOOST_DESCRIBE_STRUCT(TargetRef, (), (kind, namespace_, name, uid))
BOOST_DESCRIBE_STRUCT(Endpoint, (), (addresses, conditions, hostname, targetRef, nodeName))
BOOST_DESCRIBE_STRUCT(EndpointPort, (), (name, protocol, port, appProtocol))
BOOST_DESCRIBE_STRUCT(EndpointSlice, (), (metadata, addressType, endpoints, ports))
BOOST_DESCRIBE_STRUCT(EndpointAddress, (), (ip, hostname, nodeName, targetRef))
BOOST_DESCRIBE_STRUCT(EndpointSubset, (), (addresses, notReadyAddresses, ports))
BOOST_DESCRIBE_STRUCT(Endpoints, (), (metadata, subsets))
BOOST_DESCRIBE_STRUCT(PodNameSpec, (), (hostname, subdomain))
BOOST_DESCRIBE_STRUCT(PodName, (), (metadata, spec))

}  // namespace koord::cluster::services

KOORD_CODEC(koord::cluster::services::Service)
KOORD_CODEC(koord::cluster::services::EndpointSlice)
KOORD_CODEC(koord::cluster::services::Endpoints)
KOORD_CODEC(koord::cluster::services::PodName)
template koord::json::value koord::api::encodeObject<koord::cluster::services::EndpointSlice>(
    const koord::cluster::services::EndpointSlice&);
template koord::json::value koord::api::encodeObject<koord::cluster::services::Endpoints>(
    const koord::cluster::services::Endpoints&);
