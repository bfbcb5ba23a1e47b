#pragma once

// Who keeps pods that share a GPU apart, as the label koordinator.sh/gpu-isolation-provider says
// it, on pods and on Devices.

#include <string_view>

#include "api/meta.h"
#include "model/well_known.h"

namespace koord::model {

inline constexpr std::string_view kHamiCore = "HAMi-core";

// "" if the labels name none. Upstream's manuals write hami-core, its source HAMi-core: both are
// the latter.
inline std::string_view gpuIsolationProvider(const api::StringMap& labels) {
  const std::string* provider = api::findIn(labels, kLabelGpuIsolationProvider);
  if (!provider) return {};
  return *provider == "hami-core" ? kHamiCore : std::string_view(*provider);
}

}  // namespace koord::model
