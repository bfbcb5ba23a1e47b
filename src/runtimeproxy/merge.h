#pragma once

// How an answer of a hook server changes what is known of a pod or container, and how that changes
// the request to the runtime. Pure functions.
//
// Resources have no word for "not set": 0 and "" may mean "leave it" or "make it so". Hook servers
// are asked to send back what they got with their changes in it, and such an answer is taken by its
// word: its cpuset even when it is empty, its OOM score even when it is 0. An answer that lacks
// something the question had (no period where there was one) was not made that way; in it, what is
// empty is not set. Upstream would clear the cpuset and the OOM score of the container.

#include "runtime_cri.pb.h"
#include "runtime_hook.pb.h"

namespace koord::runtimeproxy {

using Resources = runtimehook::LinuxContainerResources;

// A hook server's answer about resources.
void mergeAnswer(const Resources& answer, Resources& known);
// What kubelet asks to update: what is set in it.
void mergeUpdate(const Resources& update, Resources& known);

void merge(const runtimehook::PodSandboxHookResponse& answer,
           runtimehook::PodSandboxHookRequest& known);
void merge(const runtimehook::ContainerResourceHookResponse& answer,
           runtimehook::ContainerResourceHookRequest& known);

// What one of several calls about a container that are under way at the same time has changed: the
// fields that differ between `before` and `after` become those of `after`, and all others stay.
void mergeChanges(const runtimehook::ContainerResourceHookRequest& before,
                  const runtimehook::ContainerResourceHookRequest& after,
                  runtimehook::ContainerResourceHookRequest& known);

void apply(const runtimehook::PodSandboxHookRequest& known, cri::RunPodSandboxRequest& request);
// Variables keep their places; new ones come after them, sorted.
void apply(const runtimehook::ContainerResourceHookRequest& known, bool withEnvironment,
           cri::CreateContainerRequest& request);

// What the proxy knows of a pod from the request that makes it.
runtimehook::PodSandboxHookRequest podOf(const cri::PodSandboxConfig& config,
                                         const std::string& runtimeHandler);
runtimehook::ContainerResourceHookRequest containerOf(const cri::CreateContainerRequest& request);

}  // namespace koord::runtimeproxy
