#pragma once

// The history of the node as a file, so that reports over half an hour do not begin anew with every
// restart. Pods are not in it: nobody looks further back than some minutes there.

#include <string>

#include "base/result.h"
#include "koordlet/metriccache/metric_cache.h"

namespace koord::koordlet {

// Replaces the file; about 100 KiB.
Result<> saveHistory(const MetricCache& cache, const std::string& path);
// Into a cache without samples. What lies in the future or is too old for the cache is left out. An
// error when the file is missing or damaged; then nothing was loaded.
Result<> loadHistory(MetricCache& cache, const std::string& path, WallTime now);

}  // namespace koord::koordlet
