#pragma once

// Defaults of pods and pod templates; used by defaults.cc.

#include "base/json.h"

namespace koord::apiserver {

void setPodSpecDefaults(json::object& spec);
// Only of pods that are created, not of templates: requests that are missing equal the limits.
void setPodRequestDefaults(json::object& spec);
void setPodDefaults(json::object& pod);
// Of a volume of a pod or the spec of a PersistentVolume: where its data is.
void setVolumeSourceDefaults(json::object& volume);

}  // namespace koord::apiserver
