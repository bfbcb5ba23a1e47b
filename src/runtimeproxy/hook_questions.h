#pragma once

// The questions that hook servers are asked about a pod or a container, whatever the runtime speaks. Their
// answers are merged into what is known as they come (merge.h). Why the call to the runtime is to fail,
// if it is.

#include "runtimeproxy/dispatcher.h"
#include "runtimeproxy/store.h"

namespace koord::runtimeproxy {

// Where the runtime takes resources of a sandbox, answers about them count, too.
enum class PodResources { Fixed, Changeable };

Task<std::optional<std::string>> askAboutPod(Dispatcher& dispatcher, HookType type, PodRecord& pod,
                                             PodResources resources, SteadyTime deadline);
Task<std::optional<std::string>> askAboutContainer(Dispatcher& dispatcher, HookType type,
                                                   ContainerRecord& container, SteadyTime deadline);

}  // namespace koord::runtimeproxy
