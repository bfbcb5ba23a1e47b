// Expressions of CEL: whatever parses is checked, estimated and evaluated, within limits.

#include "cel/cel.h"

#include "base/json.h"
#include "cel/library/all.h"
#include "cel/library/kubernetes_cost.h"
#include "fuzz.h"

namespace koord::fuzz {

void celExpressions(std::string_view input) {
  static const koord::cel::Environment environment = [] {
    koord::cel::EnvironmentOptions options;
    options.libraries = koord::cel::kubernetesLibraries();
    options.costModel = &koord::cel::kubernetesCosts();
    options.variables = {{"self", koord::cel::Type::dyn()}, {"n", koord::cel::Type::integer()}};
    return koord::cel::Environment::create(std::move(options)).value();
  }();
  static const json::value document =
      parseJson(R"({"a":{"b":[1,2.5,"c",null,true]},"d":"text"})").value();
  koord::cel::Activation activation(environment);
  activation.set("self", koord::cel::Value::json(document));
  activation.set("n", koord::cel::Value::integer(3));
  for (const bool checked : {true, false}) {
    koord::cel::CompileOptions options;
    options.check = checked;
    const auto program = environment.compile(input, options);
    if (!program) {
      check(!program.error().message.empty(), "errors have a message");
      continue;
    }
    const auto estimate = program->estimateCost();
    std::uint64_t cost = 0;
    const auto value = program->evaluate(activation, {.cost = 100'000}, &cost);
    check(value || !value.error().message.empty(), "errors have a message");
    if (value) check(value->isError() || !value->toString().empty(), "values have a text");
    (void)estimate;
  }
}

}  // namespace koord::fuzz
