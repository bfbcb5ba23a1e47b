#pragma once

// The JSON shape of pod.h; included by the codec files only.

#include "api/core.h"
#include "api/describe_meta.h"
#include "api/pod.h"

namespace koord::api {

BOOST_DESCRIBE_STRUCT(ResourceClaimUse, (), (name, request))
BOOST_DESCRIBE_STRUCT(ResourceRequirements, (), (limits, requests, claims))
BOOST_DESCRIBE_STRUCT(ContainerPort, (), (name, hostPort, containerPort, protocol, hostIP))
BOOST_DESCRIBE_STRUCT(ObjectFieldSelector, (), (fieldPath))
BOOST_DESCRIBE_STRUCT(EnvVarSource, (), (fieldRef))
BOOST_DESCRIBE_STRUCT(EnvVar, (), (name, value, valueFrom))
BOOST_DESCRIBE_STRUCT(ContainerRestartRule, (), (action))
BOOST_DESCRIBE_STRUCT(Container, (),
                      (name, image, command, args, workingDir, ports, env, resources, restartPolicy,
                       restartPolicyRules))
BOOST_DESCRIBE_STRUCT(NodeSelectorRequirement, (), (key, operator_, values))
BOOST_DESCRIBE_STRUCT(NodeSelectorTerm, (), (matchExpressions, matchFields))
BOOST_DESCRIBE_STRUCT(NodeSelector, (), (nodeSelectorTerms))
BOOST_DESCRIBE_STRUCT(PreferredSchedulingTerm, (), (weight, preference))
BOOST_DESCRIBE_STRUCT(NodeAffinity, (),
                      (requiredDuringSchedulingIgnoredDuringExecution,
                       preferredDuringSchedulingIgnoredDuringExecution))
BOOST_DESCRIBE_STRUCT(PodAffinityTerm, (),
                      (labelSelector, namespaces, topologyKey, namespaceSelector, matchLabelKeys,
                       mismatchLabelKeys))
BOOST_DESCRIBE_STRUCT(WeightedPodAffinityTerm, (), (weight, podAffinityTerm))
BOOST_DESCRIBE_STRUCT(PodAffinity, (),
                      (requiredDuringSchedulingIgnoredDuringExecution,
                       preferredDuringSchedulingIgnoredDuringExecution))
BOOST_DESCRIBE_STRUCT(Affinity, (), (nodeAffinity, podAffinity, podAntiAffinity))
BOOST_DESCRIBE_STRUCT(Toleration, (), (key, operator_, value, effect, tolerationSeconds))
BOOST_DESCRIBE_STRUCT(Taint, (), (key, value, effect, timeAdded))
BOOST_DESCRIBE_STRUCT(TopologySpreadConstraint, (),
                      (maxSkew, topologyKey, whenUnsatisfiable, labelSelector, minDomains,
                       nodeAffinityPolicy, nodeTaintsPolicy, matchLabelKeys))
BOOST_DESCRIBE_STRUCT(PodSchedulingGate, (), (name))
BOOST_DESCRIBE_STRUCT(PodSchedulingGroup, (), (podGroupName))
BOOST_DESCRIBE_STRUCT(PersistentVolumeClaimVolumeSource, (), (claimName, readOnly))
BOOST_DESCRIBE_STRUCT(Volume, (),
                      (name, persistentVolumeClaim, ephemeral, gcePersistentDisk,
                       awsElasticBlockStore, iscsi, rbd, image))
BOOST_DESCRIBE_STRUCT(PodResourceClaim, (), (name, resourceClaimName, resourceClaimTemplateName))
BOOST_DESCRIBE_STRUCT(PodSpec, (),
                      (volumes, initContainers, containers, restartPolicy,
                       terminationGracePeriodSeconds, activeDeadlineSeconds, nodeSelector, nodeName,
                       hostNetwork, hostUsers, affinity, schedulerName, tolerations,
                       priorityClassName, priority, preemptionPolicy, overhead, runtimeClassName,
                       topologySpreadConstraints, schedulingGates, schedulingGroup, resources,
                       resourceClaims))
BOOST_DESCRIBE_STRUCT(PodCondition, (),
                      (type, status, observedGeneration, lastProbeTime, lastTransitionTime, reason,
                       message))
BOOST_DESCRIBE_STRUCT(ContainerStateWaiting, (), (reason, message))
BOOST_DESCRIBE_STRUCT(ContainerStateRunning, (), (startedAt))
BOOST_DESCRIBE_STRUCT(ContainerStateTerminated, (),
                      (exitCode, signal, reason, message, startedAt, finishedAt, containerID))
BOOST_DESCRIBE_STRUCT(ContainerState, (), (waiting, running, terminated))
BOOST_DESCRIBE_STRUCT(ContainerStatus, (),
                      (name, state, lastState, ready, restartCount, image, imageID, containerID,
                       started, allocatedResources, resources))
BOOST_DESCRIBE_STRUCT(PodResourceClaimStatus, (), (name, resourceClaimName))
BOOST_DESCRIBE_STRUCT(ContainerExtendedResourceRequest, (),
                      (containerName, resourceName, requestName))
BOOST_DESCRIBE_STRUCT(PodExtendedResourceClaimStatus, (), (requestMappings, resourceClaimName))
BOOST_DESCRIBE_STRUCT(PodIP, (), (ip))
BOOST_DESCRIBE_STRUCT(PodStatus, (),
                      (observedGeneration, phase, conditions, message, reason, nominatedNodeName,
                       hostIP, podIP, podIPs, startTime, initContainerStatuses, containerStatuses,
                       qosClass, resize, allocatedResources, resources, resourceClaimStatuses,
                       extendedResourceClaimStatus))
BOOST_DESCRIBE_STRUCT(Pod, (), (metadata, spec, status))
BOOST_DESCRIBE_STRUCT(PodTemplateSpec, (), (metadata, spec))
BOOST_DESCRIBE_STRUCT(Binding, (), (metadata, target))

}  // namespace koord::api

KOORD_EXTERN_FIELDS(koord::api::ResourceRequirements)
KOORD_EXTERN_FIELDS(koord::api::NodeSelector)
KOORD_EXTERN_FIELDS(koord::api::NodeSelectorTerm)
KOORD_EXTERN_FIELDS(koord::api::Taint)
KOORD_EXTERN_FIELDS(koord::api::PodSpec)
KOORD_EXTERN_FIELDS(koord::api::PodTemplateSpec)
