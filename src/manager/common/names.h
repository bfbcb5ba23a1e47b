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

}  // namespace koord::manager
