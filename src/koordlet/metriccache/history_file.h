#pragma once

// The node's history as a file, so that reports over half an hour continue after a restart. Series
// of pods are not in it, because their readers use the last few minutes only.

#include <string>

#include "base/result.h"
#include "koordlet/metriccache/metric_cache.h"

namespace koord::koordlet {

// Replaces the file, which takes about 100 KiB.
Result<> saveHistory(const MetricCache& cache, const std::string& path);
// Loads the file into a cache without samples. Skips samples in the future and samples older than
// the cache's horizon. Fails if the file is missing or damaged; then nothing is loaded.
Result<> loadHistory(MetricCache& cache, const std::string& path, WallTime now);

}  // namespace koord::koordlet
