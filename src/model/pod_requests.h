#pragma once

// What a pod asks for: the one formula that every component uses, over containers, init containers,
// sidecars, the pod's own resources and its overhead.
//
//   total = max(sum of containers and sidecars, the most that init containers need while they run
//   in order beside the sidecars started before them); amounts given for the whole pod (cpu,
//   memory, hugepages-*) replace it; overhead comes on top.

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "api/pod.h"

namespace koord::model {

struct PodRequestOptions {
  // During an in-place resize, a container counts with the most of what is asked, granted and in
  // force (of the latter two, when the resize is impossible on the node).
  bool useStatus = false;
  // The same for amounts of the whole pod; they change in place only where the cluster allows it.
  bool usePodStatus = false;
  // As kube-scheduler: what a container's status reports counts although its spec does not name it.
  // Kubelet reports CPU shares as a request in force even if koordlet set them
  // for batch CPU.
  bool countUnasked = false;
  bool excludeOverhead = false;
  bool skipPodLevel = false;
  // Amounts for containers whose requests lack the name. A request of 0 stays 0. Requests only.
  const api::ResourceList* missing = nullptr;
};

api::ResourceList podRequests(const api::Pod& pod, const PodRequestOptions& options = {});
// The same shape over limits: a container without a limit adds nothing. Overhead goes on names with
// a limit other than 0.
api::ResourceList podLimits(const api::Pod& pod, const PodRequestOptions& options = {});

// One resource, by the spec alone, for callers who go by other amounts than requests or limits.
// Neither overhead nor amounts of the whole pod are in it.
using ContainerAmount = std::function<Quantity(const api::Container&)>;
// Of containers and sidecars, all that runs for as long as the pod.
Quantity sumOfRunning(const api::PodSpec& spec, const ContainerAmount& amount);
// The formula above: init containers, too, as far as they need more. `amount` is asked for every
// container, sidecars twice.
Quantity mostOfContainers(const api::PodSpec& spec, const ContainerAmount& amount);

// What its containers and sidecars ask for while the pod runs, which is what the node gets back
// when it leaves. For resources that are no amounts of a whole pod, as batch-* and mid-*.
Quantity runningRequest(const api::PodSpec& spec, std::string_view name);
// What all containers together may take at any time, overhead included. Nothing when one of them,
// init containers and sidecars too, has no limit for it: then the pod has none.
std::optional<Quantity> podLimit(const api::PodSpec& spec, std::string_view name);

// cpu and memory that a container which asks for none is taken to need when nodes are compared:
// 100m and 200 MiB.
const api::ResourceList& nonZeroRequests();

// What the pod takes from its node: rounded up, in thousandths of a core, bytes, or the resource's
// unit.
struct PodTotals {
  std::int64_t milliCpu = 0;
  std::int64_t memory = 0;
  std::int64_t ephemeralStorage = 0;
  api::Map<std::int64_t> scalars;
  std::int64_t nonZeroMilliCpu = 0;  // with nonZeroRequests()
  std::int64_t nonZeroMemory = 0;
  // Something is more than 64 bits can say; its amount is the most that they can.
  bool beyond = false;
};
PodTotals podTotals(const api::Pod& pod);

// An init container that runs for as long as the pod.
bool isSidecar(const api::Container& initContainer);

// Resources that are counted by name: extended ones, hugepages and attachable volumes. Others than
// these and cpu, memory and ephemeral-storage are not counted at all.
bool isScalarResource(std::string_view name);

// By the condition PodResizePending.
bool isResizeInfeasible(const api::Pod& pod);
bool isResizeDeferred(const api::Pod& pod);

}  // namespace koord::model
