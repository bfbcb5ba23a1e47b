// Mutating admission policies: whatever compiles as the expression of an ApplyConfiguration or a
// JSON patch is applied to a deployment. The first line may define a variable.

#include "api/schema/builtin.h"
#include "apiserver/rules/mutation_program.h"
#include "fuzz.h"

namespace koord::fuzz {

namespace {

class EverythingAllowed final : public koord::cel::Authorizer {
 public:
  koord::cel::AuthorizationDecision authorize(
      const koord::cel::AuthorizationRequest&) const override {
    return {.allowed = true, .reason = "", .error = ""};
  }
};

json::value policyOf(const char* type, const char* member, std::string_view variable,
                     std::string_view expression) {
  return {{"variables", {{{"name", "v"}, {"expression", variable}}}},
          {"mutations", {{{"patchType", type}, {member, {{"expression", expression}}}}}}};
}

}  // namespace

void policies(std::string_view input) {
  static const api::SchemaSet schemas = api::builtinTypes();
  static const json::value deployment =
      parseJson(R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","labels":{}},
        "spec":{"replicas":1,"template":{"spec":{"containers":[{"name":"a","image":"b",
          "ports":[{"containerPort":1,"protocol":"TCP"}],"args":["c"]}],"nodeSelector":{}}}}})")
          .value();
  static const json::value request =
      parseJson(R"({"operation":"CREATE","userInfo":{"username":"u"}})").value();
  static const json::value none;
  const auto [variable, expression] = firstLine(input);
  const EverythingAllowed authorizer;
  for (const bool isJsonPatch : {false, true}) {
    const auto program = apiserver::MutationProgram::compile(
        policyOf(isJsonPatch ? "JSONPatch" : "ApplyConfiguration",
                 isJsonPatch ? "jsonPatch" : "applyConfiguration", variable, expression));
    if (!program->problems().empty()) continue;
    for (std::size_t i = 0; i < program->size(); ++i) {
      std::uint64_t cost = 0;
      const auto result = program->apply(i, {deployment, none, request, none, none, authorizer},
                                         schemas.find("Deployment"), cost);
      check(result || !result.error().message.empty(), "errors have a message");
    }
  }
}

}  // namespace koord::fuzz
