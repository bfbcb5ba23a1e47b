#pragma once

#include "descheduler/framework/registry.h"

namespace koord::descheduler {

// Adds the ten plugins of the Kubernetes descheduler, without DefaultEvictor.
void addKubernetesPlugins(Registry& registry);

}  // namespace koord::descheduler
