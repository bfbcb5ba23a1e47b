#pragma once

// Labels and annotations that only koord-manager reads or writes; the others are in
// model/well_known.h and, for nodes, model/node_names.h.

#include <cstddef>
#include <string_view>

#include "model/node_names.h"

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

inline constexpr std::size_t kLongestLabelValue = 63;

// Pods.
inline constexpr std::string_view kLabelSkipEnhancedValidation =
    "pod.koordinator.sh/skip-enhanced-validation";

// Colocation profiles.
inline constexpr std::string_view kLabelControllerManaged =
    "config.koordinator.sh/controller-managed";

// Recommendations: the saved models, for the next leader.
inline constexpr std::string_view kAnnotationCheckpoint = "analysis.koordinator.sh/checkpoint";

// Nodes.
using model::kAnnotationAmplificationRatio;
using model::kAnnotationCpuBasicInfo;
using model::kAnnotationRawAllocatable;
using model::kLabelCpuNormalizationEnabled;
using model::kLabelGpuDriverVersion;
using model::kLabelGpuModel;
using model::kLabelGpuVendor;
using model::kRdma;

}  // namespace koord::manager
