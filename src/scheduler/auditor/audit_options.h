#pragma once

// The flags of the workload auditor (--workload-auditor-...).

#include <string>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "base/result.h"

namespace koord::scheduler {

// A label of the auditor's metrics that shows a label of pods.
struct AuditLabel {
  std::string name;
  std::string podLabel;
  bool operator==(const AuditLabel&) const = default;
};

struct AuditOptions {
  bool enabled = false;
  std::string labelsText;
  std::vector<AuditLabel> labels;  // parsed from labelsText, without `priority`
  // Longer durations, or more retries, raise an alert.
  Duration victimReschedule = std::chrono::seconds(10);
  Duration victimDeletion = std::chrono::seconds(30);
  std::int64_t victimDeletingRetries = 3;
  Duration eventInterval = std::chrono::minutes(5);
};

// "metricLabel=podLabelKey,...". As upstream, pairs without a name, a key or the = are skipped. An
// error if a name is not a valid metric label or occurs twice.
Result<std::vector<AuditLabel>> parseAuditLabels(std::string_view text);

}  // namespace koord::scheduler
