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

}  // namespace

PolicyTypeCheck::PolicyTypeCheck(const json::value& spec, const api::Schema* params,
                                 const api::Schema& objectMeta)
    : spec_(spec), params_(params), objectMeta_(objectMeta) {
  const auto* validations = arrayAt(spec, "validations");
  for (std::size_t i = 0; validations && i < validations->size(); ++i)
    for (const char* field : {"expression", "messageExpression"})
      if (const auto text = textAt((*validations)[i], field); !trim(text).empty())
        expressions_.push_back(
            {fmt::format("spec.validations[{}].{}", i, field), std::string(text), ""});
}

void PolicyTypeCheck::check(const std::string& kind, const api::Schema& schema) {
  DeclaredTypes types(&objectMeta_);
  const auto object = typeOf(types, &schema);
  if (!object) return;
  const PolicyExpressions policy(spec_, nullptr, object, typeOf(types, params_));
  if (!policy.environment()) return;
  for (Expression& expression : expressions_) {
    const auto program = compilePolicyExpression(policy.environment()->full(), expression.text, {});
    if (program) continue;
    constexpr std::string_view kPrefix = "compilation failed: ";
    expression.warning +=
        fmt::format("{}{}: {}\n", expression.warning.empty() ? "" : "\n", kind,
                    std::string_view(program.error().message).substr(kPrefix.size()));
  }
}

json::array PolicyTypeCheck::warnings() const {
  json::array all;
  for (const Expression& expression : expressions_)
    if (!expression.warning.empty())
      all.push_back({{"fieldRef", expression.fieldRef}, {"warning", expression.warning}});
  return all;
}

}  // namespace koord::apiserver
