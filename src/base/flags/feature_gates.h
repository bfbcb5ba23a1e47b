#pragma once

// FeatureGates: --feature-gates=A=true,B=false, as Kubernetes components have it. Every gate of the
// original is known, so that existing command lines keep working; gates that have no
// effect here can be listed (withoutEffect).
//
// AllAlpha and AllBeta set all gates of their stage that are not named themselves.

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace koord::flags {

struct FeatureGate {
  std::string name;
  std::string stage;  // "ALPHA", "BETA", "DEPRECATED"; "" = generally available
  bool byDefault = false;
  bool present = false;  // something here depends on it
};

class FeatureGates {
 public:
  // AllAlpha and AllBeta come by themselves.
  explicit FeatureGates(std::vector<FeatureGate> gates);

  // On top of what was set before; blanks around names and values do not count, and values are Go's
  // spellings of true and false. Nothing changes when it fails.
  Result<> set(std::string_view text);

  // As asked for.
  bool asked(std::string_view name) const;
  // As asked for, and there. A name that is not known is off.
  bool enabled(std::string_view name) const;
  // "A=true" for what was set to something other than the default, and changes nothing. AllAlpha
  // and AllBeta stand for the gates of their stage.
  std::vector<std::string> withoutEffect() const;
  // Gates that are on by default, or were asked for, and are not there.
  std::vector<std::string> missingRequested() const;

  const std::map<std::string, FeatureGate, std::less<>>& known() const { return gates_; }
  std::map<std::string, bool> all() const;
  // One line a gate, "Name=true|false (ALPHA - default=false)", those that are there only.
  std::string help() const;
  // "A=true,B=false": what was set.
  std::string text() const;

 private:
  std::map<std::string, FeatureGate, std::less<>> gates_;
  std::map<std::string, bool, std::less<>> set_;
};

}  // namespace koord::flags
