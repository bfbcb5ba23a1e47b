#include "scheduler/auditor/audit_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/log.h"
#include "base/split.h"

namespace koord::scheduler {

namespace {

// Labels that the auditor's metrics always have.
constexpr std::array<std::string_view, 5> kTaken{"priority", "event_type", "outcome", "method",
                                                 "le"};

bool isMetricLabel(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return letter(name.front()) && !name.starts_with("__") &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace

Result<std::vector<AuditLabel>> parseAuditLabels(std::string_view text) {
  std::vector<AuditLabel> labels;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view pair = trim(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    const std::size_t equals = pair.find('=');
    const std::string name(trim(pair.substr(0, equals)));
    const std::string key(equals == std::string_view::npos ? std::string_view{}
                                                           : trim(pair.substr(equals + 1)));
    if (name.empty() || key.empty()) {
      if (!pair.empty())
        log::warn(
            "--workload-auditor-metric-labels: \"{}\" is not a metricLabel=podLabelKey, ignored",
            pair);
      continue;
    }
    if (!isMetricLabel(name))
      return fail(
          ErrorCode::Invalid,
          fmt::format("\"{}\" is not a name of a metric's label: letters, digits and _", name));
    const bool taken = std::ranges::find(kTaken, name) != kTaken.end() ||
                       std::ranges::find(labels, name, &AuditLabel::name) != labels.end();
    if (taken) return fail(ErrorCode::Invalid, fmt::format("duplicate label \"{}\"", name));
    labels.push_back({name, key});
  }
  return labels;
}

}  // namespace koord::scheduler
