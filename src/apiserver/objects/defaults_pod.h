#pragma once

// Defaults of pods and pod templates; used by defaults.cc.

#include "base/json.h"

namespace koord::apiserver {

void setPodSpecDefaults(json::object& spec);
// For created pods only, not for templates: missing requests equal the limits.
void setPodRequestDefaults(json::object& spec);
void setPodDefaults(json::object& pod);
// For a volume of a pod or the spec of a PersistentVolume: the source of its data.
void setVolumeSourceDefaults(json::object& volume);

}  // namespace koord::apiserver
