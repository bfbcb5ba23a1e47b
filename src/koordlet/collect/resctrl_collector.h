#pragma once

// Last-level cache occupancy and memory bandwidth of the QoS classes' resctrl groups (gate
// ResctrlCollector with --enable-resctrl-collector), as metrics per class and cache. Upstream
// exports the kernel's byte counters as they are; here the bandwidth is in bytes per second.

#include "koordlet/collect/rate.h"
#include "koordlet/metrics/metrics.h"
#include "koordlet/system/host.h"

namespace koord::koordlet {

class ResctrlCollector {
 public:
  ResctrlCollector(const Host& host, const Clock& clock, Metrics& metrics, Duration interval)
      : host_(host), clock_(clock), metrics_(metrics), rates_(interval * 20) {}
  // One round. Groups and caches that do not exist are skipped.
  void collect();

 private:
  void collectCache(const std::string& group, const std::string& directory);

  const Host& host_;
  const Clock& clock_;
  Metrics& metrics_;
  RateKeeper rates_;
};

}  // namespace koord::koordlet
