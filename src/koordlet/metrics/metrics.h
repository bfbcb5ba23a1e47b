#pragma once

// koordlet's Prometheus metrics, with upstream's names, types and labels. Internal metrics are
// about koordlet itself, external metrics about the node's resources and pods. Series with the
// label node are recorded only after setNode().

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpuset.h"
#include "base/executor.h"

namespace prometheus {
class Collectable;
}

namespace koord::koordlet {

class Metrics {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void setNode(const std::string& name);
  void started(const std::string& nodeName, WallTime time);

  void nodeUsage(double cores, double bytes);
  void beSuppress(const std::string& type, double cores);  // type: cpuset, cfsQuota
  void beSuppressLsUsed(double cores);
  void beSuppressBeUsed(double cores);
  void podEvicted(const std::string& reason, const std::string& podNamespace,
                  const std::string& pod);
  // Not in upstream: why an eviction did not happen.
  void podEvictionFailed(const std::string& reason);
  void nodeCpuInfo(bool ok);
  void nodeNumaInfo(bool ok);
  void nodeStorageInfo(bool ok);
  void resourceUpdate(std::string_view type, bool ok, Duration took);
  // One call of a hook before the runtime creates or changes a pod or container.
  void runtimeHook(const std::string& hook, std::string_view stage, bool ok, Duration took);
  // One pass of the reconciler over the values of one hook for one file on one level (kubeqos, pod,
  // container).
  void hookReconciled(std::string_view level, std::string_view resource, bool ok, Duration took);
  // Not in upstream: the connection to the container runtime by NRI, and the runtime's calls.
  void nriConnected(bool connected);
  void nriCalled(std::string_view method, bool ok);
  void kubeletRequest(const std::string& path, int code, Duration took);
  void hostApplication(const std::string& name, const std::string& resource,
                       const std::string& priorityClass, const std::string& qos, double value);
  void resetHostApplications();
  // With the gate NodeMetricPromMetrics: the usage reported in NodeMetric, of the system or the
  // node; of one NUMA node, or of the whole node if nullopt.
  void reportedUsage(bool system, std::optional<int> numaNode, const std::string& resource,
                     const std::string& unit, double value);
  void resetReportedUsage();

  struct Predicted {  // cores and bytes
    double reclaimableCores, reclaimableBytes, peakCores, peakBytes;
  };
  void predicted(const std::string& predictor, const Predicted& predicted);
  // The predicted reclaimable resources of prod pods; zeros if not known.
  void prodReclaimable(bool known, double cores, double bytes);

  // Not in upstream: the CPU normalisation ratio, and whether the Node's annotation is valid.
  void cpuRatio(double ratio, bool valid);
  // The CPUs that pods share. With `members`, each CPU is also a series.
  void sharePools(const CpuSet& shared, const CpuSet& bestEffort, bool members);
  struct ContainerName {
    std::string podUid, podName, podNamespace, container;
  };
  void oomScore(const ContainerName& container, int score);
  // Not in upstream: koordlet pauses its writes of a value that another program changes back.
  void countConflict(const std::string& type);

  // How long tasks waited, as the kernel's average; `resource` is cpu, mem or io.
  struct PressureSeries {
    std::string resource, precision, degree;  // avg10, avg60, avg300; some, full
    bool cpuFullSupported = false;
    double value = 0;
  };
  struct Subject {  // a container, or a pod if the container's fields are empty
    std::string podUid, podName, podNamespace, containerId, containerName;
  };
  void pressure(const Subject& subject, const PressureSeries& series);
  void resetPressure();
  // Not in upstream: containers that suffer from their neighbours, and the cause.
  void interference(const Subject& container, const std::string& cause, double value,
                    double normal);
  void resetInterference();
  // Values of a QoS class's resctrl group in one cache: bytes, and bytes per second of that type.
  void cacheOccupancy(const std::string& qos, const std::string& cache, double bytes);
  void memoryBandwidth(const std::string& qos, const std::string& cache, const std::string& type,
                       double rate);
  void resetMonitoring();
  // CPU burst: a container's CFS burst, and its CFS quota while CPU burst has raised it.
  void scaledBurst(const Subject& container, double us);
  void scaledQuota(const Subject& container, double us);
  void resetScaledQuotas();
  void coreSchedCookie(const Subject& container, const std::string& group, std::uint64_t cookie);
  void resetCoreSchedCookies();
  void coreSchedManaged(const std::string& group, bool ok);
  void cpi(const Subject& container, double cycles, double instructions);
  void resetCpi();

  void nodeAllocatable(const std::string& resource, const std::string& unit, double value);
  struct ContainerResource {
    std::string resource, podUid, podName, podNamespace, containerId, containerName;
    double value = 0;
  };
  // Replaces all series; series that are not in the lists are removed. A series takes a kilobyte,
  // so they exist only while they are read.
  void containerResources(const std::vector<ContainerResource>& requests,
                          const std::vector<ContainerResource>& limits);

  // Drops series without an update for five minutes, where upstream does. Call about once a minute.
  void collectGarbage(WallTime now);

  std::string internalText() const;
  std::string externalText() const;
  // The external metrics themselves.
  const prometheus::Collectable& external() const;
  std::string text() const { return internalText() + externalText(); }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::koordlet
