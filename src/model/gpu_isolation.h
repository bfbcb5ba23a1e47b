#pragma once

// The program that isolates pods that share a GPU, as named by the label
// koordinator.sh/gpu-isolation-provider of pods and Devices.

#include <string_view>

#include "api/meta.h"
#include "model/well_known.h"

namespace koord::model {

inline constexpr std::string_view kHamiCore = "HAMi-core";

// "" if the labels do not name a provider. Upstream's manuals write hami-core, its source
// HAMi-core: both are the latter.
inline std::string_view gpuIsolationProvider(const api::StringMap& labels) {
  const std::string* provider = api::findIn(labels, kLabelGpuIsolationProvider);
  if (!provider) return {};
  return *provider == "hami-core" ? kHamiCore : std::string_view(*provider);
}

}  // namespace koord::model
