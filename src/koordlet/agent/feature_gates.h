#pragma once

// koordlet's feature gates: names and defaults of upstream. A gate that is on by default for
// something that this version does not have is accepted and reported as off at start.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace koord::koordlet {

class FeatureGates {
 public:
  // "A=true,B=false" over the defaults. An unknown name or another value is an error.
  static Result<FeatureGates> parse(std::string_view text);
  FeatureGates();

  bool enabled(std::string_view name) const;
  // Gates that are on (by default or by choice) and have nothing behind them here.
  std::vector<std::string> enabledButMissing() const;
  std::map<std::string, bool> all() const;
  static std::string help();  // one line per gate

 private:
  struct Gate {
    std::string_view name;
    bool enabled;
    bool available;
  };
  static const std::vector<Gate>& defaults();
  std::vector<Gate> gates_;
};

}  // namespace koord::koordlet
