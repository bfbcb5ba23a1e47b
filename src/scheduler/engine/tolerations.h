#pragma once

// Which taints a pod tolerates.

#include <string_view>
#include <vector>

#include "api/core.h"

namespace koord::scheduler {

bool tolerates(const api::Toleration& toleration, const api::Taint& taint);
bool tolerates(const std::vector<api::Toleration>& tolerations, const api::Taint& taint);
// Whether every NoSchedule and NoExecute taint is tolerated.
bool toleratesAll(const std::vector<api::Toleration>& tolerations, const std::vector<api::Taint>& taints);

}  // namespace koord::scheduler
