#pragma once

// The compiled rules of a schema, as a tree of the parts of the schema that have rules.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/schema/schema.h"
#include "apiserver/rules/declared_type.h"
#include "cel/cost.h"
#include "cel/library/kubernetes_cost.h"

namespace koord::apiserver {

// The bounds of a node's value, for cost estimates. The declared type must outlive the model.
class NodeCosts final : public cel::KubernetesCostModel {
 public:
  explicit NodeCosts(const DeclaredType& self) : self_(self) {}
  std::optional<cel::SizeEstimate> estimateSize(const cel::CostNode& node) const override;

 private:
  const DeclaredType& self_;
};

struct CompiledRule {
  const api::SchemaRule* source = nullptr;
  std::optional<cel::Environment> environment;  // of both programs
  std::optional<cel::Program> program;          // nullopt: `error` says why
  std::optional<cel::Program> message;          // of messageExpression
  std::string error, messageError;
  std::string fieldPath;  // normalized: ".spec.replicas", "[key]"
  bool usesOldSelf = false;
};

struct RuleNode {
  const api::Schema* schema = nullptr;
  const DeclaredType* type = nullptr;
  std::unique_ptr<NodeCosts> costs;
  std::vector<CompiledRule> rules;
  std::unique_ptr<RuleNode> items;  // elements of a list, values of a map
  std::map<std::string, std::unique_ptr<RuleNode>, std::less<>> fields;
  std::vector<std::unique_ptr<RuleNode>> allOf;

  std::string_view typeName() const;  // "object", as in messages
};

// Compiles the rules below the schema, whose CEL types `types` receives. Returns nullptr if there
// are none. `problems` receives what is wrong with the rules, each with its path:
// "openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Invalid value: ...".
std::unique_ptr<RuleNode> compileRules(const api::Schema& root, DeclaredTypes& types,
                                       std::vector<std::string>& problems);

}  // namespace koord::apiserver
