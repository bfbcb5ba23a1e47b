#pragma once

// Names that Koordinator and Kubernetes give to labels, annotations, resources and fixed objects;
// defined here only. kLabel... are label keys, kAnnotation... annotation keys.

#include <string_view>

namespace koord::model {

// Pods: QoS and priority.
inline constexpr std::string_view kLabelQos = "koordinator.sh/qosClass";
inline constexpr std::string_view kLabelSubPriority = "koordinator.sh/priority";
inline constexpr std::string_view kLabelPriorityClass = "koordinator.sh/priority-class";

// Pods: resources and node-level settings.
inline constexpr std::string_view kAnnotationExtendedResourceSpec =
    "node.koordinator.sh/extended-resource-spec";
inline constexpr std::string_view kAnnotationResourceSpec =
    "scheduling.koordinator.sh/resource-spec";
inline constexpr std::string_view kAnnotationResourceStatus =
    "scheduling.koordinator.sh/resource-status";
inline constexpr std::string_view kAnnotationCpuBurst = "koordinator.sh/cpuBurst";
inline constexpr std::string_view kAnnotationMemoryQos = "koordinator.sh/memoryQOS";
inline constexpr std::string_view kAnnotationCpuQos = "koordinator.sh/cpuQOS";
inline constexpr std::string_view kAnnotationBlkioQos = "koordinator.sh/blkioQOS";
inline constexpr std::string_view kAnnotationNetworkQos = "koordinator.sh/networkQOS";
inline constexpr std::string_view kAnnotationResctrl = "node.koordinator.sh/resctrl";
inline constexpr std::string_view kAnnotationOomScoreAdj = "koordinator.sh/oom-score-adj";
inline constexpr std::string_view kAnnotationOomScoreAdjSpec = "koordinator.sh/oom-score-adj-spec";
inline constexpr std::string_view kLabelCoreSchedGroup = "koordinator.sh/core-sched-group-id";
inline constexpr std::string_view kLabelCoreSchedPolicy = "koordinator.sh/core-sched-policy";
inline constexpr std::string_view kLabelGpuIsolationProvider =
    "koordinator.sh/gpu-isolation-provider";
inline constexpr std::string_view kLabelEvictionEnabled = "koordinator.sh/eviction-enabled";
inline constexpr std::string_view kAnnotationEvictionPolicy = "koordinator.sh/eviction-policy";
inline constexpr std::string_view kAnnotationEvictionPriority = "koordinator.sh/eviction-priority";
inline constexpr std::string_view kAnnotationEvictionCost =
    "scheduling.koordinator.sh/eviction-cost";
inline constexpr std::string_view kAnnotationReservePod = "scheduling.koordinator.sh/reserve-pod";
inline constexpr std::string_view kLabelMutatingUpdate = "pod.koordinator.sh/mutating-update";
// The pod mirrors a static pod that kubelet runs from a file.
inline constexpr std::string_view kAnnotationMirrorPod = "kubernetes.io/config.mirror";

// Pods: scheduling.
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

// Reservations: on pods that use a reservation.
inline constexpr std::string_view kAnnotationReservationAllocated =
    "scheduling.koordinator.sh/reservation-allocated";
// The annotations with a pod's grants. The scheduler writes them, koordlet and the next scheduler
// process read them.
inline constexpr std::string_view kGrantAnnotations[] = {
    kAnnotationResourceStatus, kAnnotationDeviceAllocated, kAnnotationReservationAllocated};
inline constexpr std::string_view kAnnotationReservationAffinity =
    "scheduling.koordinator.sh/reservation-affinity";
inline constexpr std::string_view kAnnotationExactMatchReservation =
    "scheduling.koordinator.sh/exact-match-reservation";
inline constexpr std::string_view kLabelReservationIgnored =
    "scheduling.koordinator.sh/reservation-ignored";
inline constexpr std::string_view kLabelDisablePreemptible =
    "scheduling.koordinator.sh/disable-preemptible";
// On the Reservation.
inline constexpr std::string_view kLabelReservationOrder =
    "scheduling.koordinator.sh/reservation-order";
inline constexpr std::string_view kLabelPreAllocationRequired =
    "scheduling.koordinator.sh/pre-allocation-required";
inline constexpr std::string_view kAnnotationReservationRestrictedOptions =
    "scheduling.koordinator.sh/reservation-restricted-options";
inline constexpr std::string_view kAnnotationReservationResizeAllocatable =
    "scheduling.koordinator.sh/reservation-resize-allocatable";
// On the in-memory pod that represents a Reservation.
inline constexpr std::string_view kAnnotationReservationName =
    "scheduling.koordinator.sh/reservation-name";
inline constexpr std::string_view kAnnotationReservationNode =
    "scheduling.koordinator.sh/reservation-node";
inline constexpr std::string_view kAnnotationIsPreAllocation =
    "scheduling.koordinator.sh/is-pre-allocation";

// Pods and PodGroups: gangs. If several keys have the same meaning, the first that is present
// counts.
inline constexpr std::string_view kLabelPodGroup = "pod-group.scheduling.sigs.k8s.io";
inline constexpr std::string_view kLabelPodGroupName = "pod-group.scheduling.sigs.k8s.io/name";
inline constexpr std::string_view kAnnotationGangName = "gang.scheduling.koordinator.sh/name";
inline constexpr std::string_view kLabelPodGroupMinAvailable =
    "pod-group.scheduling.sigs.k8s.io/min-available";
inline constexpr std::string_view kAnnotationGangMinAvailable =
    "gang.scheduling.koordinator.sh/min-available";
inline constexpr std::string_view kAnnotationGangMatchPolicy =
    "gang.scheduling.koordinator.sh/match-policy";
inline constexpr std::string_view kAnnotationPodGroupMatchPolicy =
    "pod-group.scheduling.sigs.k8s.io/match-policy";
inline constexpr std::string_view kAnnotationGangWaitingTime =
    "gang.scheduling.koordinator.sh/waiting-time";
inline constexpr std::string_view kAnnotationGangTotalNumber =
    "gang.scheduling.koordinator.sh/total-number";
inline constexpr std::string_view kAnnotationGangMode = "gang.scheduling.koordinator.sh/mode";
inline constexpr std::string_view kAnnotationGangGroups = "gang.scheduling.koordinator.sh/groups";
// Written when pods that were released together are bound.
inline constexpr std::string_view kAnnotationBindGangGroupId =
    "internal.scheduling.koordinator.sh/bind-gang-group-id";
inline constexpr std::string_view kAnnotationBindGangMemberCount =
    "internal.scheduling.koordinator.sh/bind-gang-member-count";
inline constexpr std::string_view kAnnotationBindGangGroupIdDeprecated =
    "scheduling.koordinator.sh/bind-gang-group-id";
inline constexpr std::string_view kAnnotationBindGangMemberCountDeprecated =
    "scheduling.koordinator.sh/bind-gang-member-count";

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
inline constexpr std::string_view kAnnotationCpuNormalizationRatio =
    "node.koordinator.sh/cpu-normalization-ratio";
inline constexpr std::string_view kAnnotationSystemQosResource =
    "node.koordinator.sh/system-qos-resource";
inline constexpr std::string_view kAnnotationNetworkBandwidth =
    "node.koordinator.sh/network-bandwidth";
inline constexpr std::string_view kAnnotationNodeReservation = "node.koordinator.sh/reservation";
inline constexpr std::string_view kAnnotationOriginExtendedAllocatable =
    "node.koordinator.sh/originExtendedAllocatable";
inline constexpr std::string_view kAnnotationThirdPartyAllocations =
    "node.koordinator.sh/thirdPartyAllocations";

// Nodes of `koordctl up`: "host" is this host.
inline constexpr std::string_view kLabelKoordctlNode = "koordctl.koordinator.sh/node";

// ClusterColocationProfiles and namespaces.
inline constexpr std::string_view kAnnotationSkipUpdateResources =
    "config.koordinator.sh/skip-update-resources";
inline constexpr std::string_view kLabelControlPlane = "control-plane";

// Elastic quotas: labels of quotas, of pods, and annotations of quotas.
inline constexpr std::string_view kRootQuota = "koordinator-root-quota";
inline constexpr std::string_view kSystemQuota = "koordinator-system-quota";
inline constexpr std::string_view kDefaultQuota = "koordinator-default-quota";
inline constexpr std::string_view kLabelQuotaIsParent = "quota.scheduling.koordinator.sh/is-parent";
inline constexpr std::string_view kLabelQuotaParent = "quota.scheduling.koordinator.sh/parent";
inline constexpr std::string_view kLabelQuotaLends =
    "quota.scheduling.koordinator.sh/allow-lent-resource";
inline constexpr std::string_view kLabelQuotaTree = "quota.scheduling.koordinator.sh/tree-id";
inline constexpr std::string_view kLabelQuotaIsRoot = "quota.scheduling.koordinator.sh/is-root";
inline constexpr std::string_view kLabelQuotaIgnoreDefaultTree =
    "quota.scheduling.koordinator.sh/ignore-default-tree";
inline constexpr std::string_view kLabelQuotaName = "quota.scheduling.koordinator.sh/name";
inline constexpr std::string_view kLabelPreemptible = "quota.scheduling.koordinator.sh/preemptible";
inline constexpr std::string_view kAnnotationSharedWeight =
    "quota.scheduling.koordinator.sh/shared-weight";
inline constexpr std::string_view kAnnotationQuotaNamespaces =
    "quota.scheduling.koordinator.sh/namespaces";
inline constexpr std::string_view kAnnotationQuotaTotal =
    "quota.scheduling.koordinator.sh/total-resource";
inline constexpr std::string_view kAnnotationQuotaUnschedulable =
    "quota.scheduling.koordinator.sh/unschedulable-resource";
inline constexpr std::string_view kAnnotationQuotaRuntime =
    "quota.scheduling.koordinator.sh/runtime";
inline constexpr std::string_view kAnnotationQuotaRequest =
    "quota.scheduling.koordinator.sh/request";
inline constexpr std::string_view kAnnotationQuotaChildRequest =
    "quota.scheduling.koordinator.sh/child-request";
inline constexpr std::string_view kAnnotationQuotaGuaranteed =
    "quota.scheduling.koordinator.sh/guaranteed";
inline constexpr std::string_view kAnnotationQuotaAllocated =
    "quota.scheduling.koordinator.sh/allocated";
inline constexpr std::string_view kAnnotationNonPreemptibleRequest =
    "quota.scheduling.koordinator.sh/non-preemptible-request";
inline constexpr std::string_view kAnnotationNonPreemptibleUsed =
    "quota.scheduling.koordinator.sh/non-preemptible-used";

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
