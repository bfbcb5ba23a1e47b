#pragma once

// koordlet's feature gates: names and defaults of upstream. A gate that is on by default for
// something that this version does not have is accepted and reported as off at start.

#include <string_view>

#include "base/flags/feature_gates.h"

namespace koord::koordlet {

class FeatureGates : public flags::FeatureGates {
 public:
  FeatureGates();
  // "A=true,B=false" over the defaults.
  static Result<FeatureGates> parse(std::string_view text);
};

}  // namespace koord::koordlet
