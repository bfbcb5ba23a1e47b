#pragma once

// Flags that switch things on and off by name: lists of names ("*", "name", "-name") and feature
// gates.

#include <string>
#include <string_view>
#include <vector>

#include "base/flags/feature_gates.h"

namespace koord::manager {

// The first entry that is the name or the name after a minus decides; otherwise "*" does.
bool isSelected(const std::vector<std::string>& list, std::string_view name);

// Names and defaults of upstream.
class FeatureGates : public flags::FeatureGates {
 public:
  FeatureGates();
};

}  // namespace koord::manager
