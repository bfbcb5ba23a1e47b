#pragma once

// koordlet's Prometheus metrics, under upstream's names, types and labels: internal ones are about
// koordlet itself, external ones about the node's resources and pods. Series with the label node
// are recorded only once the Node object is known.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpuset.h"
#include "base/executor.h"

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
  // A hook that was called as the runtime was about to make or change something.
  void runtimeHook(const std::string& hook, std::string_view stage, bool ok, Duration took);
  // The values that one hook wanted in one file of one level (kubeqos, pod, container), as the reconciler applied
  // them in one pass.
  void hookReconciled(std::string_view level, std::string_view resource, bool ok, Duration took);
  // Not in upstream: koordlet as a plugin of the container runtime, and what the runtime calls.
  void nriConnected(bool connected);
  void nriCalled(std::string_view method, bool ok);
  void kubeletRequest(const std::string& path, int code, Duration took);
  void hostApplication(const std::string& name, const std::string& resource,
                       const std::string& priorityClass, const std::string& qos, double value);
  void resetHostApplications();
  // With the gate NodeMetricPromMetrics: what was reported in NodeMetric; of a NUMA node, or of the whole.
  void reportedUsage(bool system, std::optional<int> numaNode, const std::string& resource,
                     const std::string& unit, double value);
  void resetReportedUsage();

  struct Predicted {  // cores and bytes
    double reclaimableCores, reclaimableBytes, peakCores, peakBytes;
  };
  void predicted(const std::string& predictor, const Predicted& predicted);
  // What prod pods will not need; zeros where it could not be said.
  void prodReclaimable(bool known, double cores, double bytes);

  // Not in upstream: the CPU normalisation ratio in force, and whether the Node's annotation can be read.
  void cpuRatio(double ratio, bool valid);
  // CPUs that pods share; with `members`, each CPU is a series.
  void sharePools(const CpuSet& shared, const CpuSet& bestEffort, bool members);
  struct ContainerName {
    std::string podUid, podName, podNamespace, container;
  };
  void oomScore(const ContainerName& container, int score);
  // Not in upstream: values that somebody else kept changing back, left alone for a while.
  void fight(const std::string& type);

  // How long tasks waited, as the kernel averages it; `resource` is cpu, mem or io.
  struct PressureSeries {
    std::string resource, precision, degree;  // avg10, avg60, avg300; some, full
    bool cpuFullSupported = false;
    double value = 0;
  };
  struct Subject {  // of a container; without one, of a pod
    std::string podUid, podName, podNamespace, containerId, containerName;
  };
  void pressure(const Subject& subject, const PressureSeries& series);
  void resetPressure();
  // Not in upstream: containers that suffer from their neighbours, and what of.
  void interference(const Subject& container, const std::string& cause, double value,
                    double normal);
  void resetInterference();
  // Of a class's resctrl group in one cache: bytes, and bytes per second of that type.
  void cacheOccupancy(const std::string& qos, const std::string& cache, double bytes);
  void memoryBandwidth(const std::string& qos, const std::string& cache, const std::string& type,
                       double rate);
  void resetMonitoring();
  // CPU burst: what a container may save up, and its quota while that is above its own.
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
  // All of them anew: what is not in the lists is gone. A kilobyte each, so they are here only while they are read.
  void containerResources(const std::vector<ContainerResource>& requests,
                          const std::vector<ContainerResource>& limits);

  // Drops what was not updated for five minutes, where upstream does. Call about once a minute.
  void collectGarbage(WallTime now);

  std::string internalText() const;
  std::string externalText() const;
  std::string text() const { return internalText() + externalText(); }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::koordlet
