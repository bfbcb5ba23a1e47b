#include "api/codec_impl.h"
#include "api/core.h"
#include "api/describe_meta.h"
#include "api/describe_pod.h"

namespace koord::api {

BOOST_DESCRIBE_STRUCT(NodeSpec, (), (podCIDR, providerID, unschedulable, taints))
BOOST_DESCRIBE_STRUCT(NodeCondition, (),
                      (type, status, lastHeartbeatTime, lastTransitionTime, reason, message))
BOOST_DESCRIBE_STRUCT(NodeAddress, (), (type, address))
BOOST_DESCRIBE_STRUCT(DaemonEndpoint, (), (Port))
BOOST_DESCRIBE_STRUCT(NodeDaemonEndpoints, (), (kubeletEndpoint))
BOOST_DESCRIBE_STRUCT(NodeSystemInfo, (),
                      (machineID, systemUUID, bootID, kernelVersion, osImage,
                       containerRuntimeVersion, kubeletVersion, kubeProxyVersion, operatingSystem,
                       architecture))
BOOST_DESCRIBE_STRUCT(ContainerImage, (), (names, sizeBytes))
BOOST_DESCRIBE_STRUCT(NodeStatus, (),
                      (capacity, allocatable, phase, conditions, addresses, daemonEndpoints,
                       nodeInfo, images, declaredFeatures))
BOOST_DESCRIBE_STRUCT(Node, (), (metadata, spec, status))
BOOST_DESCRIBE_STRUCT(NamespaceSpec, (), (finalizers))
BOOST_DESCRIBE_STRUCT(NamespaceStatus, (), (phase, conditions))
BOOST_DESCRIBE_STRUCT(Namespace, (), (metadata, spec, status))
BOOST_DESCRIBE_STRUCT(ConfigMap, (), (metadata, data, binaryData))
BOOST_DESCRIBE_STRUCT(Secret, (), (metadata, type, data))
BOOST_DESCRIBE_STRUCT(EventSource, (), (component, host))
BOOST_DESCRIBE_STRUCT(EventSeries, (), (count, lastObservedTime))
BOOST_DESCRIBE_STRUCT(Event, (),
                      (metadata, involvedObject, reason, message, source, firstTimestamp,
                       lastTimestamp, count, type, eventTime, series, action, related,
                       reportingComponent, reportingInstance))
BOOST_DESCRIBE_STRUCT(LeaseSpec, (),
                      (holderIdentity, leaseDurationSeconds, acquireTime, renewTime,
                       leaseTransitions))
BOOST_DESCRIBE_STRUCT(Lease, (), (metadata, spec))
BOOST_DESCRIBE_STRUCT(PriorityClass, (),
                      (metadata, value, globalDefault, description, preemptionPolicy))
BOOST_DESCRIBE_STRUCT(PodDisruptionBudgetSpec, (),
                      (minAvailable, selector, maxUnavailable, unhealthyPodEvictionPolicy))
BOOST_DESCRIBE_STRUCT(PodDisruptionBudgetStatus, (),
                      (observedGeneration, disruptedPods, disruptionsAllowed, currentHealthy,
                       desiredHealthy, expectedPods, conditions))
BOOST_DESCRIBE_STRUCT(PodDisruptionBudget, (), (metadata, spec, status))

}  // namespace koord::api

KOORD_OBJECT_CODEC(koord::api::Node)
KOORD_CODEC(koord::api::NodeStatus)
KOORD_OBJECT_CODEC(koord::api::Namespace)
KOORD_OBJECT_CODEC(koord::api::ConfigMap)
KOORD_OBJECT_CODEC(koord::api::Secret)
KOORD_OBJECT_CODEC(koord::api::Event)
KOORD_OBJECT_CODEC(koord::api::Lease)
KOORD_OBJECT_CODEC(koord::api::PriorityClass)
KOORD_OBJECT_CODEC(koord::api::PodDisruptionBudget)
