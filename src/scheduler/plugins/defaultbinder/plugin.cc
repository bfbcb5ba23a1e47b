#include "scheduler/plugins/defaultbinder/plugin.h"

#include "kube/client.h"

namespace koord::scheduler {

Task<Status> DefaultBinder::bind(CycleState& state, PodPtr pod, std::string nodeName) {
  kube::Api* api = handle_.api();
  if (!api) co_return Status::error("no API server to bind with");
  auto call = kube::bindPod(*api, api::keyOf(pod->pod->metadata), pod->uid(), nodeName,
                            state.annotations());
  const Result<> bound = co_await call;
  if (!bound) co_return Status::of(bound.error());
  co_return Status{};
}

}  // namespace koord::scheduler
