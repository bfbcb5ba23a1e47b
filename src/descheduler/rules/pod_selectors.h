#pragma once

// podSelectors: [{name, selector}]: selects pods that match any of them. An empty list selects
// every pod.

#include <string>
#include <vector>

#include "api/selector.h"
#include "base/fields.h"
#include "descheduler/framework/pod.h"

namespace koord::descheduler {

struct PodSelectors {
  std::vector<api::Selector> any;
  json::value document;  // as given; null if empty

  // Rejects most pods by their facts alone.
  bool matches(const NodePods::Entry& entry) const;
  bool matches(const api::StringMap& labels) const;
  static PodSelectors read(Fields& args);
};

// A LabelSelector in arguments; nullopt if absent.
std::optional<api::Selector> readArgsSelector(Fields& args, std::string_view field);

}  // namespace koord::descheduler
