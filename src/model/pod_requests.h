#pragma once

// The requests of a pod: the one formula that every component uses, over containers, init
// containers, sidecars, pod-level resources and overhead.
//
//   total = max(sum of containers and sidecars, the maximum of the init containers, each with the
//   sidecars that were started before it); pod-level amounts (cpu, memory, hugepages-*) replace it;
//   overhead is added.

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "api/pod.h"

namespace koord::model {

struct PodRequestOptions {
  // During an in-place resize, a container counts with the maximum of its requested, allocated and
  // actual resources (of the latter two, if the node cannot resize it).
  bool useStatus = false;
  // The same for pod-level amounts; they are resized in place only in clusters with that feature.
  bool usePodStatus = false;
  // As kube-scheduler: resources in a container's status count although its spec does not name
  // them. Kubelet reports CPU shares as actual requests even if koordlet set them for batch CPU.
  bool countUnasked = false;
  bool excludeOverhead = false;
  bool skipPodLevel = false;
  // Amounts for containers whose requests lack the resource. A request of 0 stays 0. Requests only.
  const api::ResourceList* missing = nullptr;
};

api::ResourceList podRequests(const api::Pod& pod, const PodRequestOptions& options = {});
// The same formula over limits: a container without a limit adds nothing. Overhead is added to
// resources with a limit other than 0.
api::ResourceList podLimits(const api::Pod& pod, const PodRequestOptions& options = {});

// One resource, from the spec alone, for callers that use other amounts than requests or limits.
// Excludes overhead and pod-level amounts.
using ContainerAmount = std::function<Quantity(const api::Container&)>;
// The sum over containers and sidecars, which run as long as the pod.
Quantity sumOfRunning(const api::PodSpec& spec, const ContainerAmount& amount);
// The formula above, including init containers. Calls `amount` for every container, for sidecars
// twice.
Quantity mostOfContainers(const api::PodSpec& spec, const ContainerAmount& amount);

// The sum of requests of containers and sidecars: the amount that the node regains when the pod
// ends. For resources without pod-level amounts, such as batch-* and mid-*.
Quantity runningRequest(const api::PodSpec& spec, std::string_view name);
// The maximum that all containers together may use, including overhead. nullopt if a container,
// init container or sidecar has no limit: then the pod has none.
std::optional<Quantity> podLimit(const api::PodSpec& spec, std::string_view name);

// The cpu and memory that a container without requests counts with in node scores: 100m and 200
// MiB.
const api::ResourceList& nonZeroRequests();

// The resources that a pod uses of its node, rounded up: milli-cores, bytes, or units of the
// resource.
struct PodTotals {
  std::int64_t milliCpu = 0;
  std::int64_t memory = 0;
  std::int64_t ephemeralStorage = 0;
  api::Map<std::int64_t> scalars;
  std::int64_t nonZeroMilliCpu = 0;  // with nonZeroRequests()
  std::int64_t nonZeroMemory = 0;
  // True if an amount exceeds 64 bits; it is then the maximum.
  bool beyond = false;
};
PodTotals podTotals(const api::Pod& pod);

// True for an init container that runs as long as the pod.
bool isSidecar(const api::Container& initContainer);

// True for resources that are counted by name: extended resources, hugepages and attachable
// volumes. Other resources except cpu, memory and ephemeral-storage are not counted.
bool isScalarResource(std::string_view name);

// True if the condition PodResizePending says so.
bool isResizeInfeasible(const api::Pod& pod);
bool isResizeDeferred(const api::Pod& pod);

}  // namespace koord::model
