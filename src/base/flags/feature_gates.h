#pragma once

// FeatureGates: --feature-gates=A=true,B=false, as Kubernetes components have it. Knows every gate
// of the original, so that existing command lines keep working; withoutEffect() lists the gates
// that have no effect here.
//
// AllAlpha and AllBeta set all gates of their stage that the text does not name.

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
  bool present = false;  // this program implements it
};

class FeatureGates {
 public:
  // Adds AllAlpha and AllBeta.
  explicit FeatureGates(std::vector<FeatureGate> gates);

  // Applies `text` on top of earlier settings. Ignores blanks around names and values; values are
  // Go's spellings of true and false. Changes nothing if it fails.
  Result<> set(std::string_view text);

  // The requested value, or the default.
  bool requested(std::string_view name) const;
  // True if the gate is requested and present. False for an unknown name.
  bool enabled(std::string_view name) const;
  // "A=true" for each gate that is set to another value than its default, without effect. AllAlpha
  // and AllBeta stand for the gates of their stage.
  std::vector<std::string> withoutEffect() const;
  // Gates that are on, by default or by request, and not present.
  std::vector<std::string> missingRequested() const;

  const std::map<std::string, FeatureGate, std::less<>>& known() const { return gates_; }
  std::map<std::string, bool> all() const;
  // One line a gate, "Name=true|false (ALPHA - default=false)", for the gates that are present.
  std::string help() const;
  // "A=true,B=false": the gates that were set.
  std::string text() const;

 private:
  std::map<std::string, FeatureGate, std::less<>> gates_;
  std::map<std::string, bool, std::less<>> set_;
};

}  // namespace koord::flags
