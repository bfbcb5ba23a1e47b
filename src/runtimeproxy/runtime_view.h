#pragma once

// What the runtime itself says of its pods and containers: the store is filled from it at start, and
// asked again for what a list does not tell (the cgroup, resources, the environment) or for what was
// made while this process was not there.
//
// Resources come from ContainerStatus and, where the runtime leaves them out there (containerd 1.6),
// from the OCI specification in its verbose part.

#include <string>

#include "base/task.h"
#include "runtimeproxy/store.h"
#include "runtimeproxy/unary_caller.h"

namespace koord::runtimeproxy {

class RuntimeView {
 public:
  RuntimeView(UnaryCaller& caller, std::string socket)
      : caller_(caller), socket_(std::move(socket)) {}

  // "containerd 1.6.20"
  Task<Result<std::string>> version();
  // Puts all pods and containers into the store, as listed.
  Task<Result<>> listInto(Store& store);

  // The error's code is NotFound when the runtime does not know it.
  Task<Result<PodPtr>> pod(std::string id);
  // Where the store does not know the sandbox, that is asked for, too.
  Task<Result<ContainerPtr>> container(std::string id, const Store& store);

 private:
  Future<net::GrpcReply> call(const char* method, std::string message);

  UnaryCaller& caller_;
  std::string socket_;
};

// From the OCI specification of a container, as the verbose status has it: what is set there.
void readRuntimeSpec(std::string_view info, runtimehook::ContainerResourceHookRequest& container);
// The cgroup parent from the verbose status of a sandbox; "" when it does not tell.
std::string cgroupParentIn(std::string_view info);

}  // namespace koord::runtimeproxy
