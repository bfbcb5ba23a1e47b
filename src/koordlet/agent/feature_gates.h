#pragma once

// koordlet's feature gates, with upstream's names and defaults. A gate that is on by default for a
// feature that this version does not have is accepted and reported as off at start.

#include <string_view>

#include "base/flags/feature_gates.h"

namespace koord::koordlet {

class FeatureGates : public flags::FeatureGates {
 public:
  FeatureGates();
  // The defaults, changed by a text like "A=true,B=false".
  static Result<FeatureGates> parse(std::string_view text);
};

}  // namespace koord::koordlet
