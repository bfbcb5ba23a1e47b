#pragma once

// Names that Koordinator and Kubernetes give to labels, annotations, resources and fixed objects:
// the one place where they are spelled. kLabel... are label keys, kAnnotation... annotation keys.

#include <string_view>

namespace koord::model {

// Pods: QoS and priority.
inline constexpr std::string_view kLabelQos = "koordinator.sh/qosClass";
inline constexpr std::string_view kLabelSubPriority = "koordinator.sh/priority";
inline constexpr std::string_view kLabelPriorityClass = "koordinator.sh/priority-class";

// Pods: resources and what the node does with them.
inline constexpr std::string_view kAnnotationExtendedResourceSpec =
    "node.koordinator.sh/extended-resource-spec";
inline constexpr std::string_view kAnnotationResourceSpec =
    "scheduling.koordinator.sh/resource-spec";
inline constexpr std::string_view kAnnotationResourceStatus =
    "scheduling.koordinator.sh/resource-status";
inline constexpr std::string_view kAnnotationCpuBurst = "koordinator.sh/cpuBurst";
inline constexpr std::string_view kAnnotationMemoryQos = "koordinator.sh/memoryQOS";
inline constexpr std::string_view kLabelEvictionEnabled = "koordinator.sh/eviction-enabled";
inline constexpr std::string_view kAnnotationEvictionPriority = "koordinator.sh/eviction-priority";
inline constexpr std::string_view kAnnotationEvictionCost =
    "scheduling.koordinator.sh/eviction-cost";
inline constexpr std::string_view kAnnotationReservePod = "scheduling.koordinator.sh/reserve-pod";
inline constexpr std::string_view kLabelMutatingUpdate = "pod.koordinator.sh/mutating-update";
// The pod stands for one that a kubelet runs from a file.
inline constexpr std::string_view kAnnotationMirrorPod = "kubernetes.io/config.mirror";

// Pods: how they are scheduled.
inline constexpr std::string_view kAnnotationSchedulingHint =
    "internal.scheduling.koordinator.sh/scheduling-hint";
inline constexpr std::string_view kAnnotationSchedulingHintDeprecated =
    "scheduling.koordinator.sh/scheduling-hint";
inline constexpr std::string_view kLabelSchedulerName = "scheduling.koordinator.sh/scheduler-name";
inline constexpr std::string_view kAnnotationOriginalSchedulerName =
    "internal.scheduling.koordinator.sh/original-scheduler-name";
inline constexpr std::string_view kLabelPreemptionPolicy =
    "scheduling.koordinator.sh/preemption-policy";
inline constexpr std::string_view kAnnotationReplaceResources =
    "pod.koordinator.sh/replace-resources";
inline constexpr std::string_view kAnnotationDeviceAllocated =
    "scheduling.koordinator.sh/device-allocated";

// Nodes.
inline constexpr std::string_view kAnnotationColocationStrategy =
    "node.koordinator.sh/colocation-strategy";
inline constexpr std::string_view kLabelCpuReclaimRatio = "node.koordinator.sh/cpu-reclaim-ratio";
inline constexpr std::string_view kLabelMemoryReclaimRatio =
    "node.koordinator.sh/memory-reclaim-ratio";
inline constexpr std::string_view kLabelMidStaticCpuReservedRatio =
    "node.koordinator.sh/mid-static-cpu-reserved-ratio";
inline constexpr std::string_view kLabelMidStaticMemoryReservedRatio =
    "node.koordinator.sh/mid-static-memory-reserved-ratio";
inline constexpr std::string_view kAnnotationNetworkBandwidth =
    "node.koordinator.sh/network-bandwidth";
inline constexpr std::string_view kAnnotationNodeReservation = "node.koordinator.sh/reservation";
inline constexpr std::string_view kAnnotationOriginExtendedAllocatable =
    "node.koordinator.sh/originExtendedAllocatable";
inline constexpr std::string_view kAnnotationThirdPartyAllocations =
    "node.koordinator.sh/thirdPartyAllocations";

// ClusterColocationProfiles and namespaces.
inline constexpr std::string_view kAnnotationSkipUpdateResources =
    "config.koordinator.sh/skip-update-resources";
inline constexpr std::string_view kLabelControlPlane = "control-plane";

// Resources.
inline constexpr std::string_view kCpu = "cpu";
inline constexpr std::string_view kMemory = "memory";
inline constexpr std::string_view kBatchCpu = "kubernetes.io/batch-cpu";        // milli-cores
inline constexpr std::string_view kBatchMemory = "kubernetes.io/batch-memory";  // bytes
inline constexpr std::string_view kMidCpu = "kubernetes.io/mid-cpu";            // milli-cores
inline constexpr std::string_view kMidMemory = "kubernetes.io/mid-memory";      // bytes
inline constexpr std::string_view kGpu = "koordinator.sh/gpu";
inline constexpr std::string_view kGpuCore = "koordinator.sh/gpu-core";
inline constexpr std::string_view kGpuMemory = "koordinator.sh/gpu-memory";
inline constexpr std::string_view kGpuMemoryRatio = "koordinator.sh/gpu-memory-ratio";
inline constexpr std::string_view kGpuShared = "koordinator.sh/gpu.shared";

// Fixed objects.
inline constexpr std::string_view kSystemNamespace = "koordinator-system";
inline constexpr std::string_view kSloConfigMap = "slo-controller-config";

}  // namespace koord::model
