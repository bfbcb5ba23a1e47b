#pragma once

// Merges a hook server's answer into the record of a pod or container, and the record into the
// request to the runtime. Pure functions.
//
// Resources cannot express "not set": 0 and "" may mean "leave it" or "set it". Hook servers should
// return the request's resources with their changes, and such an answer is taken literally: its
// cpuset even if it is empty, its OOM score even if it is 0. An answer that lacks an amount of the
// request (no period where the request has one) was not made that way; its empty fields count as
// not set. Upstream would clear the cpuset and the OOM score of the container.

#include "runtime_cri.pb.h"
#include "runtime_hook.pb.h"

namespace koord::runtimeproxy {

using Resources = runtimehook::LinuxContainerResources;

// Merges a hook server's answer about resources.
void mergeAnswer(const Resources& answer, Resources& known);
// Merges kubelet's update: the fields that are set.
void mergeUpdate(const Resources& update, Resources& known);

void merge(const runtimehook::PodSandboxHookResponse& answer,
           runtimehook::PodSandboxHookRequest& known);
void merge(const runtimehook::ContainerResourceHookResponse& answer,
           runtimehook::ContainerResourceHookRequest& known);

// Merges the changes of one of several concurrent calls about a container: fields that differ
// between `before` and `after` get the values of `after`, all others stay.
void mergeChanges(const runtimehook::ContainerResourceHookRequest& before,
                  const runtimehook::ContainerResourceHookRequest& after,
                  runtimehook::ContainerResourceHookRequest& known);

void apply(const runtimehook::PodSandboxHookRequest& known, cri::RunPodSandboxRequest& request);
// Variables keep their positions; new ones follow, sorted.
void apply(const runtimehook::ContainerResourceHookRequest& known, bool withEnvironment,
           cri::CreateContainerRequest& request);

// The record of a pod or container from the request that creates it.
runtimehook::PodSandboxHookRequest podOf(const cri::PodSandboxConfig& config,
                                         const std::string& runtimeHandler);
runtimehook::ContainerResourceHookRequest containerOf(const cri::CreateContainerRequest& request);

}  // namespace koord::runtimeproxy
