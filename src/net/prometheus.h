#pragma once

// Helpers for Prometheus metrics: families registered in a registry, bucket bounds, and the text
// that is served (serving.h).

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>

#include "base/executor.h"

namespace koord::net {

// A family lives as long as its registry. The same name returns the same family.
prometheus::Family<prometheus::Counter>& counterFamily(prometheus::Registry& registry,
                                                       const std::string& name,
                                                       const std::string& help);
prometheus::Family<prometheus::Gauge>& gaugeFamily(prometheus::Registry& registry,
                                                   const std::string& name,
                                                   const std::string& help);
prometheus::Family<prometheus::Histogram>& histogramFamily(prometheus::Registry& registry,
                                                           const std::string& name,
                                                           const std::string& help);

// first, first * factor, ...
prometheus::Histogram::BucketBoundaries exponentialBuckets(double first, double factor, int count);

inline double inSeconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}
inline double inMilliseconds(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

// A number as Go's exporters write it. Bucket bounds are labels, so the same bound must be the same
// text everywhere: "0.001", "1e-05", "2.097152e+06", "+Inf".
std::string prometheusNumber(double value);

// Exposition text of a registry.
std::string prometheusText(const prometheus::Collectable& registry);

}  // namespace koord::net
