#pragma once

// Reads pods and containers from the runtime: fills the store at start, and later reads the fields
// that a list lacks (the cgroup, resources, the environment), or objects that were created while
// this process did not run.
//
// Resources come from ContainerStatus or, if the runtime omits them there (containerd 1.6), from
// the OCI specification in its verbose part.

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

  // NotFound if the runtime does not know it.
  Task<Result<PodPtr>> pod(std::string id);
  // If the store does not have the sandbox, reads that, too.
  Task<Result<ContainerPtr>> container(std::string id, const Store& store);

 private:
  Future<net::GrpcReply> call(const char* method, std::string message);

  UnaryCaller& caller_;
  std::string socket_;
};

// Fills the record from the container's OCI specification in the verbose status.
void readRuntimeSpec(std::string_view info, runtimehook::ContainerResourceHookRequest& container);
// The cgroup parent from the verbose status of a sandbox; "" if absent.
std::string cgroupParentIn(std::string_view info);

}  // namespace koord::runtimeproxy
