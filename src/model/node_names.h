#pragma once

// Names of what koordlet, koord-manager and koord-scheduler tell each other about nodes' CPUs and devices: labels and
// annotations of Nodes, Devices and NodeResourceTopologies, and resources. Those that more than nodes are about are in
// well_known.h.

#include <string_view>

namespace koord::model {

// Ratios of CPUs: who sets them, and what the node had before its room was multiplied.
inline constexpr std::string_view kLabelCpuNormalizationEnabled =
    "node.koordinator.sh/cpu-normalization-enabled";
inline constexpr std::string_view kAnnotationAmplificationRatio =
    "node.koordinator.sh/resource-amplification-ratio";
inline constexpr std::string_view kAnnotationRawAllocatable = "node.koordinator.sh/raw-allocatable";
inline constexpr std::string_view kAnnotationCpuBasicInfo = "node.koordinator.sh/cpu-basic-info";

// Devices.
inline constexpr std::string_view kLabelGpuVendor = "node.koordinator.sh/gpu-vendor";
inline constexpr std::string_view kLabelGpuModel = "node.koordinator.sh/gpu-model";
inline constexpr std::string_view kLabelGpuDriverVersion = "node.koordinator.sh/gpu-driver-version";
inline constexpr std::string_view kRdma = "koordinator.sh/rdma";

}  // namespace koord::model
