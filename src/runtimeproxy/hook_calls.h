#pragma once

// Hook calls about a pod or a container, for both runtime protocols. Each answer is merged into the
// record as it arrives (merge.h). They return the error for the call to the runtime, nullopt if it
// may proceed.

#include "runtimeproxy/dispatcher.h"
#include "runtimeproxy/store.h"

namespace koord::runtimeproxy {

// Changeable: the runtime takes resources of a sandbox, so answers about them are merged, too.
enum class PodResources { Fixed, Changeable };

Task<std::optional<std::string>> callPodHooks(Dispatcher& dispatcher, HookType type, PodRecord& pod,
                                              PodResources resources, SteadyTime deadline);
Task<std::optional<std::string>> callContainerHooks(Dispatcher& dispatcher, HookType type,
                                                    ContainerRecord& container,
                                                    SteadyTime deadline);

}  // namespace koord::runtimeproxy
