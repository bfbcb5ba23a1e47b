#include "apiserver/rules/mutation_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/patch/atomic_values.h"
#include "api/patch/json_patch.h"
#include "api/patch/typed_fields.h"
#include "apiserver/objects/edit.h"
#include "apiserver/rules/limits.h"
#include "base/json_measure.h"
#include "base/split.h"
#include "cel/library/kubernetes_patch.h"

namespace koord::apiserver {

namespace {

struct Mutation {
  bool isJsonPatch = false;
  PolicyExpression patch;
};

std::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::Invalid, std::move(message));
}

// Object.spec{...} must be the value of the field "spec", and so on.
Result<> checkTypes(const cel::Value& value) {
  const auto problems = cel::misnamedTypes(value);
  if (problems.empty()) return {};
  return invalid(fmt::format("type mismatch: {}", fmt::join(problems, "\n")));
}

Result<json::value> merged(const json::value& object, const cel::Value& patch,
                           const api::Schema* schema) {
  // The type Object has the value null, too.
  if (!cel::fieldsOf(patch))
    return invalid("unsupported return type from ApplyConfiguration expression: " +
                   patch.runtimeType().toString());
  if (auto good = checkTypes(patch); !good) return fail(std::move(good).error());
  auto applied = patch.toJson();
  if (!applied) return invalid("invalid ApplyConfiguration: " + applied.error().message);
  json::object& members = applied->get_object();
  for (const char* name : {"apiVersion", "kind"})
    if (const auto* value = find(object, name)) members[name] = *value;
  if (schema)
    if (const auto problem = api::checkTypes(*applied, *schema))
      return invalid(
          fmt::format("error applying patch: failed to convert patch object to typed object: "
                      ".{}: {}",
                      problem->path, problem->message));
  if (auto good = api::checkApplied(*applied, schema); !good)
    return invalid("error applying patch: failed to convert patch object to typed object: " +
                   good.error().message);
  if (const auto atomics = api::atomicValues(*applied, schema); !atomics.empty())
    return invalid(
        fmt::format("error applying patch: invalid ApplyConfiguration: may not mutate "
                    "atomic arrays, maps or structs: {}",
                    fmt::join(atomics, ", ")));
  auto result = api::mergeFields(object, *applied, schema);
  // Each mutation may put what is there below further levels.
  if (measureJson(result).depth > kMaxJsonDepth)
    return invalid(
        fmt::format("error applying patch: the object would be nested more than {} "
                    "levels deep",
                    kMaxJsonDepth));
  return result;
}

// The operation as JSON. Fields that the expression leaves out have no value.
Result<json::value> operationOf(const cel::Value& value) {
  const cel::FieldsObject* fields = cel::fieldsOf(value);
  if (!fields)
    return invalid("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch");
  json::object operation;
  for (const char* name : {"op", "path", "from"}) {
    const cel::Value* given = fields->find(name);
    const std::string_view text = given ? given->text() : std::string_view();
    if (!text.empty() || std::string_view(name) != "from") operation[name] = text;
  }
  if (const cel::Value* given = fields->find("value")) {
    if (auto good = checkTypes(*given); !good) return fail(std::move(good).error());
    auto json = given->toJson();
    if (!json)
      return invalid(
          "JSONPath valueExpression evaluated to a type that could not marshal to JSON: " +
          json.error().message);
    operation["value"] = *std::move(json);
  }
  return operation;
}

Result<json::value> patched(const json::value& object, const cel::Value& patch) {
  json::array operations;
  for (std::size_t i = 0; i < patch.listSize(); ++i) {
    auto operation = operationOf(patch.listAt(i));
    if (!operation) return operation;
    operations.push_back(*std::move(operation));
  }
  bool testFailed = false;
  auto result = api::applyJsonPatch(object, operations, &testFailed);
  if (testFailed) return object;  // the patch is for objects that pass the test
  if (!result) return invalid("JSON Patch: " + result.error().message);
  return result;
}

}  // namespace

struct MutationProgram::State {
  cel::DynamicTypes types;  // first: what is compiled refers to them
  PolicyExpressions expressions;
  std::vector<Mutation> mutations;

  explicit State(const json::value& spec) : expressions(spec, &types) {
    const PolicyEnvironment* environment = expressions.environment();
    const auto* given = arrayAt(spec, "mutations");
    if (!environment || !given) return;
    const cel::Type object = cel::Type::object(*types.find("Object"));
    const cel::Type operations = cel::Type::list(cel::jsonPatchType());
    for (std::size_t i = 0; i < given->size(); ++i) {
      const bool isJsonPatch = textAt((*given)[i], "patchType") == "JSONPatch";
      const char* member = isJsonPatch ? "jsonPatch" : "applyConfiguration";
      const json::value& patch = memberOf((*given)[i], member);
      if (!patch.is_object()) continue;  // validation reports it
      if (auto compiled = expressions.compile(
              environment->patching(), fmt::format("spec.mutations[{}].{}.expression", i, member),
              trim(textAt(patch, "expression")), {isJsonPatch ? operations : object}))
        mutations.push_back({isJsonPatch, *std::move(compiled)});
    }
  }
};

MutationProgram::MutationProgram(std::unique_ptr<const State> state) : state_(std::move(state)) {}
MutationProgram::~MutationProgram() = default;

std::shared_ptr<const MutationProgram> MutationProgram::compile(const json::value& spec) {
  return std::shared_ptr<const MutationProgram>(
      new MutationProgram(std::make_unique<const State>(spec)));
}

const std::vector<std::string>& MutationProgram::problems() const {
  return state_->expressions.problems();
}

std::size_t MutationProgram::size() const {
  return state_->mutations.size();
}

Result<bool> MutationProgram::match(const PolicyInputs& inputs, std::uint64_t& cost) const {
  return state_->expressions.match(inputs, &cost);
}

Result<json::value> MutationProgram::apply(std::size_t index, const PolicyInputs& inputs,
                                           const api::Schema* schema, std::uint64_t& cost) const {
  const Mutation& mutation = state_->mutations[index];
  PolicyRun run(state_->expressions, inputs, kRulesCostLimit);
  const auto patch = run.evaluate(mutation.patch);
  cost += kRulesCostLimit - run.budget();
  if (!patch) return invalid(patch.error().message);
  return mutation.isJsonPatch ? patched(inputs.object, *patch)
                              : merged(inputs.object, *patch, schema);
}

}  // namespace koord::apiserver
