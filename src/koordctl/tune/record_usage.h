#pragma once

// `koordctl tune record`: follows the NodeMetrics of a cluster and appends what pods use to a file
// (usage_record.h).

#include <string>

#include "base/executor.h"

namespace koord::koordctl {

struct RecordUsageFlags {
  std::string kubeconfig;
  Duration time = std::chrono::hours(24);  // 0 = until a signal
};

// Returns the exit status: 0 also after a signal, 2 if it failed or nothing was recorded. A file
// that exists is continued.
int recordUsage(const RecordUsageFlags& flags, const std::string& file);

}  // namespace koord::koordctl
