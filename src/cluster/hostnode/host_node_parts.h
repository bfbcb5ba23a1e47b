#pragma once

// Helpers that the files of HostNode share.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "cluster/hostnode/podspec/host_pod.h"
#include "cluster/hostnode/probes/prober.h"
#include "cluster/hostnode/runtime.h"
#include "kube/events.h"

namespace koord::cluster {

inline bool alive(const RuntimeContainer& container) {
  return container.phase != RuntimeContainer::Phase::Exited;
}

// Accepts any 64-bit number and limits the result to a valid time.
inline Duration graceTime(std::int64_t seconds) {
  constexpr std::int64_t kMostSeconds = std::int64_t{1} << 31;
  return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, kMostSeconds));
}

inline Duration graceOf(const api::Pod& pod) {
  constexpr std::int64_t kDefaultSeconds = 30;
  return graceTime(pod.spec.terminationGracePeriodSeconds.value_or(kDefaultSeconds));
}

// The containers to stop next: sidecars stop after the other containers, the last sidecar first.
std::vector<RuntimeContainer> nextToStop(const api::Pod& pod,
                                         const std::vector<RuntimeContainer>& containers);

// A container of a pod, as the object of an event.
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
