#pragma once

// Labels and annotations that only koord-manager reads or writes; the others are in
// model/well_known.h.

#include <string_view>

namespace koord::manager {

// Elastic quotas.
inline constexpr std::string_view kLabelQuotaForceUpdate =
    "quota.scheduling.koordinator.sh/allow-force-update";
inline constexpr std::string_view kAnnotationQuotaAdmission =
    "quota.scheduling.koordinator.sh/admission";
inline constexpr std::string_view kAnnotationQuotaStrictKeys =
    "quota.scheduling.koordinator.sh/max-strict-check-resource-keys";
inline constexpr std::string_view kLabelQuotaProfile = "quota.scheduling.koordinator.sh/profile";
inline constexpr std::string_view kAnnotationQuotaResourceKeys =
    "quota.scheduling.koordinator.sh/resource-keys";

// Pods.
inline constexpr std::string_view kLabelSkipEnhancedValidation =
    "pod.koordinator.sh/skip-enhanced-validation";

// Colocation profiles.
inline constexpr std::string_view kLabelControllerManaged =
    "config.koordinator.sh/controller-managed";

// Recommendations: what was learnt, for the process that leads next.
inline constexpr std::string_view kAnnotationCheckpoint = "analysis.koordinator.sh/checkpoint";

// Nodes.
inline constexpr std::string_view kLabelCpuNormalizationEnabled =
    "node.koordinator.sh/cpu-normalization-enabled";
inline constexpr std::string_view kAnnotationAmplificationRatio =
    "node.koordinator.sh/resource-amplification-ratio";
inline constexpr std::string_view kAnnotationRawAllocatable = "node.koordinator.sh/raw-allocatable";
inline constexpr std::string_view kLabelGpuVendor = "node.koordinator.sh/gpu-vendor";
inline constexpr std::string_view kLabelGpuModel = "node.koordinator.sh/gpu-model";
inline constexpr std::string_view kLabelGpuDriverVersion = "node.koordinator.sh/gpu-driver-version";
// NodeResourceTopologies.
inline constexpr std::string_view kAnnotationCpuBasicInfo = "node.koordinator.sh/cpu-basic-info";

// Resources.
inline constexpr std::string_view kRdma = "koordinator.sh/rdma";

}  // namespace koord::manager
