#pragma once

// What the classes' resctrl groups have in the last-level caches and move to and from memory (gate ResctrlCollector
// with --enable-resctrl-collector): metrics per class and cache. Upstream exports the kernel's byte counters as they
// are; here they are bytes per second.

#include "koordlet/collect/rate.h"
#include "koordlet/metrics/metrics.h"
#include "koordlet/system/host.h"

namespace koord::koordlet {

class ResctrlCollector {
 public:
  ResctrlCollector(const Host& host, const Clock& clock, Metrics& metrics, Duration interval)
      : host_(host), clock_(clock), metrics_(metrics), rates_(interval * 20) {}
  // One round. Groups and caches that are not there are left out.
  void collect();

 private:
  void collectCache(const std::string& group, const std::string& directory);

  const Host& host_;
  const Clock& clock_;
  Metrics& metrics_;
  RateKeeper rates_;
};

}  // namespace koord::koordlet
