#pragma once

// Small things that the files of HostNode share.

#include "cluster/hostnode/podspec/host_pod.h"
#include "cluster/hostnode/probes/prober.h"
#include "cluster/hostnode/runtime.h"
#include "kube/events.h"

namespace koord::cluster {

inline bool alive(const RuntimeContainer& container) {
  return container.phase != RuntimeContainer::Phase::Exited;
}

inline Duration graceOf(const api::Pod& pod) {
  constexpr std::int64_t kDefaultSeconds = 30;
  return std::chrono::seconds(pod.spec.terminationGracePeriodSeconds.value_or(kDefaultSeconds));
}

// A container of a pod, as what an event is about.
inline api::ObjectReference containerOf(const api::Pod& pod, const std::string& container) {
  auto reference = kube::referenceTo(api::Pod::kType, pod.metadata);
  reference.fieldPath = "spec.containers{" + container + "}";
  return reference;
}

inline Task<Result<CommandEnd>> runInContainer(Runtime& runtime, std::string id,
                                               std::vector<std::string> command, Duration timeout) {
  auto running = runtime.exec(std::move(id), std::move(command), timeout);
  auto end = co_await running;
  if (!end) co_return fail(std::move(end.error()));
  co_return CommandEnd{end->exitCode, std::move(end->output)};
}

}  // namespace koord::cluster
