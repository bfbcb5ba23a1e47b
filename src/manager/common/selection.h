#pragma once

// Flags that switch things on and off by name: lists of names ("*", "name", "-name") and feature
// gates.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace koord::manager {

// The first entry that is the name or the name after a minus decides; otherwise "*" does.
bool isSelected(const std::vector<std::string>& list, std::string_view name);

class FeatureGates {
 public:
  FeatureGates();

  // "Name=true,Other=false"; an unknown name or another value is an error.
  Result<> set(std::string_view text);
  bool enabled(std::string_view name) const;
  const std::map<std::string, bool, std::less<>>& all() const { return gates_; }
  // Every gate with its default, for --help.
  std::string help() const;

 private:
  std::map<std::string, bool, std::less<>> gates_;
};

}  // namespace koord::manager
