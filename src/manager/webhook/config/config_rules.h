#pragma once

// Bounds of the fields of the ConfigMap slo-controller-config, as in upstream's validator: a
// violation is reported under the field's Go path, in the validator's words.

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"

namespace koord::manager {

struct FieldRule {
  std::string_view path;    // "cpuQOS.groupIdentity" in the strategy's JSON
  std::string_view goPath;  // "CPUQOS.CPUQOS.GroupIdentity"
  double least;
  double most;
  bool above = false;               // strictly more than `least`
  std::string_view more = {};       // JSON name of a sibling field that this must be more than
  std::string_view less = {};       // likewise, less than
  std::string_view neighbour = {};  // Go name of that sibling
};

std::span<const FieldRule> colocationRules();
std::span<const FieldRule> thresholdRules();
std::span<const FieldRule> qosRules();  // of one class
std::span<const FieldRule> burstRules();
std::span<const FieldRule> systemRules();

// Go path -> violation, for every field of the strategy that breaks its rule.
using Violations = std::map<std::string, std::string>;
void findViolations(const json::value& strategy, std::span<const FieldRule> rules,
                    const std::string& goPrefix, Violations& into);

}  // namespace koord::manager
