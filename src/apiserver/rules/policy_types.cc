#include "apiserver/rules/policy_types.h"

#include <fmt/format.h>

#include "apiserver/objects/edit.h"
#include "apiserver/rules/declared_type.h"
#include "apiserver/rules/policy_expressions.h"
#include "base/split.h"

namespace koord::apiserver {
namespace {

std::optional<cel::Type> typeOf(DeclaredTypes& types, const api::Schema* schema) {
  const DeclaredType* type = schema ? types.declare(*schema, true) : nullptr;
  return type ? std::optional(type->type) : std::nullopt;
}

// What an expression is warned of, one text a kind.
struct Warnings {
  std::string fieldRef, expression, text;
};

std::vector<Warnings> expressionsOf(const json::value& spec) {
  std::vector<Warnings> all;
  const auto* validations = arrayAt(spec, "validations");
  for (std::size_t i = 0; validations && i < validations->size(); ++i)
    for (const char* field : {"expression", "messageExpression"})
      if (const auto text = textAt((*validations)[i], field); !trim(text).empty())
        all.push_back({fmt::format("spec.validations[{}].{}", i, field), std::string(text), ""});
  return all;
}

}  // namespace

json::array expressionWarnings(const json::value& spec, const std::vector<PolicyKind>& kinds,
                               const api::Schema* params, const api::Schema& objectMeta) {
  std::vector<Warnings> all = expressionsOf(spec);
  for (const PolicyKind& kind : kinds) {
    DeclaredTypes types(&objectMeta);
    const auto object = typeOf(types, kind.schema);
    if (!object) continue;
    const PolicyExpressions policy(spec, nullptr, object, typeOf(types, params));
    if (!policy.environment()) continue;
    for (Warnings& one : all) {
      const auto program =
          compilePolicyExpression(policy.environment()->full(), one.expression, {});
      if (program) continue;
      constexpr std::string_view kPrefix = "compilation failed: ";
      one.text += fmt::format("{}{}: {}\n", one.text.empty() ? "" : "\n", kind.name,
                              std::string_view(program.error().message).substr(kPrefix.size()));
    }
  }
  json::array warnings;
  for (const Warnings& one : all)
    if (!one.text.empty()) warnings.push_back({{"fieldRef", one.fieldRef}, {"warning", one.text}});
  return warnings;
}

}  // namespace koord::apiserver
