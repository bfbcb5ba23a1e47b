#pragma once

// Flags that enable and disable controllers and features by name: lists of names ("*", "name",
// "-name") and feature gates.

#include <string>
#include <string_view>
#include <vector>

#include "base/flags/feature_gates.h"

namespace koord::manager {

// The first entry that is the name or "-" and the name decides; otherwise "*" does.
bool isSelected(const std::vector<std::string>& list, std::string_view name);

// With upstream's names and defaults.
class FeatureGates : public flags::FeatureGates {
 public:
  FeatureGates();
};

}  // namespace koord::manager
