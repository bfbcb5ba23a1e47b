#pragma once

// What the workload auditor is told by flags (--workload-auditor-...).

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
  std::vector<AuditLabel> labels;  // what that says, besides `priority`
  // What takes longer, or happens more often, is an alert.
  Duration victimReschedule = std::chrono::seconds(10);
  Duration victimDeletion = std::chrono::seconds(30);
  std::int64_t victimDeletingRetries = 3;
  Duration eventInterval = std::chrono::minutes(5);
};

// "metricLabel=podLabelKey,...". As upstream does, pairs without a name, a key or the = between them are
// left out; an error where a name is none that a metric can have, or comes twice.
Result<std::vector<AuditLabel>> parseAuditLabels(std::string_view text);

}  // namespace koord::scheduler
