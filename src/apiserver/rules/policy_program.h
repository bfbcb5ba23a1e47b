#pragma once

// The expressions of a ValidatingAdmissionPolicy, compiled: validations, their messages, and values
// for the audit log. policy_expressions.h describes what they read.
//
// Costs: the validations of a policy share a budget with their messages; audit annotations have one
// of their own. Threads: immutable, may be shared.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/rules/policy_expressions.h"
#include "base/json.h"

namespace koord::apiserver {

class PolicyProgram {
 public:
  using Inputs = PolicyInputs;
  // A validation that failed, or could not be evaluated.
  struct Denial {
    std::size_t index = 0;  // of spec.validations
    std::string message;
    std::string reason;  // of a Status: "Invalid"
    bool isError = false;
  };
  struct Annotation {
    std::string key, value;
  };
  struct Findings {
    std::vector<Denial> denials;
    std::vector<Annotation> annotations;
    std::vector<std::string> annotationErrors;
  };

  // `spec` is the policy's. What cannot be compiled is in problems().
  static std::shared_ptr<const PolicyProgram> compile(const json::value& spec);
  ~PolicyProgram();

  // "spec.validations[0].expression: Invalid value: ...".
  const std::vector<std::string>& problems() const;

  // An evaluation in steps of one expression each, so that a caller can do other work between two
  // of them. The program and what the inputs refer to outlive it.
  class Evaluation {
   public:
    Evaluation(const PolicyProgram& program, const Inputs& inputs);
    ~Evaluation();
    // Evaluates the next expression, or all match conditions. Returns false if no step is left.
    bool step();
    std::uint64_t cost() const { return cost_; }  // of the last step
    // Nothing if a match condition is false. After an error in a match condition, or if the policy
    // cannot be compiled, it is the only denial. Requires that no step is left.
    Findings takeFindings();

   private:
    struct Work;
    std::unique_ptr<Work> work_;
    std::uint64_t cost_ = 0;
  };
  // All steps.
  Findings evaluate(const Inputs& inputs) const;

 private:
  struct State;
  explicit PolicyProgram(std::unique_ptr<const State> state);
  std::unique_ptr<const State> state_;
};

}  // namespace koord::apiserver
