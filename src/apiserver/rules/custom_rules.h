#pragma once

// The validation rules of custom resources: x-kubernetes-validations in the schema of a
// CustomResourceDefinition, which are CEL expressions over a value ("self") and the value that it
// replaces ("oldSelf").
//
// A rule belongs to a part of the schema and is evaluated for each value there. A rule that reads
// oldSelf is evaluated only if there is an old value: fields correspond by name, elements of lists
// of type map by their keys, other elements to nothing. A rule that does not read oldSelf and fails
// for a value that did not change is ignored, so that objects older than the rule can still be
// updated.
//
// Rules are compiled once per definition. Each evaluation has a cost limit, and so have all
// evaluations for one object together: an object that costs more is invalid.
//
// Cost: O(size of the object) and the rules' own. Threads: immutable, may be shared.

#include <memory>
#include <string>
#include <vector>

#include "api/schema/schema.h"
#include "base/json.h"

namespace koord::apiserver {

class CustomRules {
 public:
  // nullptr if the schema has no rules. The schema must outlive the result.
  static std::shared_ptr<const CustomRules> compile(const api::Schema& root);
  ~CustomRules();

  // What is wrong with the rules: "openAPIV3Schema.x-kubernetes-validations[0].rule: Invalid value:
  // ...". A definition with problems may be stored already; its invalid rules then make every
  // object invalid.
  const std::vector<std::string>& problems() const;
  // The errors of the object: "spec.replicas: Invalid value: 5: ...". `before` is null for a new
  // object.
  std::vector<std::string> check(const json::value& object, const json::value* before) const;

 private:
  struct State;
  explicit CustomRules(std::unique_ptr<const State> state);
  std::unique_ptr<const State> state_;
};

}  // namespace koord::apiserver
