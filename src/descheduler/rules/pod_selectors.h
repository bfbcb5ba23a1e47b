#pragma once

// podSelectors: [{name, selector}]: pods that any of them selects; none selects every pod.

#include <string>
#include <vector>

#include "api/selector.h"
#include "base/fields.h"
#include "descheduler/framework/pod.h"

namespace koord::descheduler {

struct PodSelectors {
  std::vector<api::Selector> any;
  json::value document;  // as it was given; null when there is nothing

  // Most pods that no selector selects need not even be looked at.
  bool matches(const NodePods::Entry& entry) const;
  bool matches(const api::StringMap& labels) const;
  static PodSelectors read(Fields& args);
};

// A LabelSelector in arguments; absent: none.
std::optional<api::Selector> readArgsSelector(Fields& args, std::string_view field);

}  // namespace koord::descheduler
