#pragma once

// Known differences: outputs where upstream is wrong and we are not. A rule names the outputs, the
// condition and the reason, and says what the right value is; our output must be exactly that.
//
//   {"name": "...", "reason": "...", "file": "quantity", "fields": ["value"],
//    "when": {"op": "parse", "in": {"matches": "^-"}}, "expect": {"oracle": "saturated"}}
//
// `when` (all must hold): a member of the case equals a JSON value, or {"matches": regex}, or
// {"absent": true}. `expect` is one of {"literal": value}, {"field": other member of the case},
// {"oracle": name of an oracle of the file's checker}.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "golden/golden.h"

namespace koord::golden {

class KnownDifferences {
 public:
  struct Right {
    const std::string* rule;
    json::value value;
  };

  // The document's form is checked here; its oracles when a checker is at hand.
  static Result<KnownDifferences> parse(std::string_view text);
  // An error when a rule for the checker's file refers to an oracle that it lacks.
  Result<> validateFor(const Checker& checker) const;

  // The right value for an output of the case, if a rule says that it differs from the recorded
  // one.
  std::optional<Right> rightValue(const Checker& checker, const json::object& testCase,
                                  std::string_view field) const;

 private:
  struct Rule {
    std::string name;
    std::string file;
    std::vector<std::string> fields;
    json::object when;
    json::object expect;
  };
  std::vector<Rule> rules_;
};

}  // namespace koord::golden
