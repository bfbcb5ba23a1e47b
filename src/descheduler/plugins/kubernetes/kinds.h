#pragma once

#include "descheduler/framework/registry.h"

namespace koord::descheduler {

// The ten plugins of the Kubernetes descheduler, beside DefaultEvictor.
void addKubernetesPlugins(Registry& registry);

}  // namespace koord::descheduler
