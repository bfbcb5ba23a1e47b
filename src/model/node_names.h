#pragma once

// Names by which koordlet, koord-manager and koord-scheduler exchange facts about nodes' CPUs and
// devices: labels and annotations of Nodes, Devices and NodeResourceTopologies, and resources.
// Names of other objects are in well_known.h.

#include <string_view>

namespace koord::model {

// CPU ratios: which writer sets them, and the amounts of the node before amplification.
inline constexpr std::string_view kLabelCpuNormalizationEnabled =
    "node.koordinator.sh/cpu-normalization-enabled";
inline constexpr std::string_view kAnnotationAmplificationRatio =
    "node.koordinator.sh/resource-amplification-ratio";
inline constexpr std::string_view kAnnotationRawAllocatable = "node.koordinator.sh/raw-allocatable";
inline constexpr std::string_view kAnnotationCpuBasicInfo = "node.koordinator.sh/cpu-basic-info";

// koordlet's report about CPUs in NodeResourceTopology, in addition to
// node.koordinator.sh/reservation and system-qos-resource.
inline constexpr std::string_view kAnnotationCpuTopology = "node.koordinator.sh/cpu-topology";
inline constexpr std::string_view kAnnotationPodCpuAllocs = "node.koordinator.sh/pod-cpu-allocs";
inline constexpr std::string_view kAnnotationKubeletCpus =
    "kubelet.koordinator.sh/cpu-manager-policy";
inline constexpr std::string_view kAnnotationCpuSharedPools =
    "node.koordinator.sh/cpu-shared-pools";
inline constexpr std::string_view kAnnotationBeCpuSharedPools =
    "node.koordinator.sh/be-cpu-shared-pools";
inline constexpr std::string_view kLabelNumaReservation =
    "node.koordinator.sh/enable-numa-reservation";

// Devices.
inline constexpr std::string_view kLabelGpuVendor = "node.koordinator.sh/gpu-vendor";
inline constexpr std::string_view kLabelGpuModel = "node.koordinator.sh/gpu-model";
inline constexpr std::string_view kLabelGpuDriverVersion = "node.koordinator.sh/gpu-driver-version";
inline constexpr std::string_view kLabelGpuPartitionPolicy =
    "node.koordinator.sh/gpu-partition-policy";
inline constexpr std::string_view kLabelSecondaryWellPlanned =
    "node.koordinator.sh/secondary-device-well-planned";
inline constexpr std::string_view kAnnotationGpuPartitions =
    "scheduling.koordinator.sh/gpu-partitions";
inline constexpr std::string_view kRdma = "koordinator.sh/rdma";
inline constexpr std::string_view kFpga = "koordinator.sh/fpga";
// Whole accelerators as vendors' device plugins offer them, and parts of Ascend NPUs.
inline constexpr std::string_view kNvidiaGpu = "nvidia.com/gpu";
inline constexpr std::string_view kAmdGpu = "amd.com/gpu";
inline constexpr std::string_view kDcuGpu = "dcu.com/gpu";
inline constexpr std::string_view kNpuCore = "huawei.com/npu-core";
inline constexpr std::string_view kNpuCpu = "huawei.com/npu-cpu";
inline constexpr std::string_view kNpuDvpp = "huawei.com/npu-dvpp";

}  // namespace koord::model
