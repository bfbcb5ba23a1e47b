// koord_cel_conformance FOLDER: runs the tests of cel-spec (its folder tests/simple/testdata),
// prints figures for each file and what fails, and ends with 1 if a test fails.
//
// A test is not applicable if it needs what this implementation leaves out by design: messages and
// enumerations of cel.expr.conformance.proto2 and proto3 (there are no protobuf messages), and sets
// of unknown values.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cel/cel.h"
#include "cel/library/all.h"
#include "expected.h"

namespace koord::celtest {
namespace {

using cel::Value;

bool isApplicable(const Proto& test) {
  for (const std::string_view name :
       {"TestAllTypes", "TestRequired", "GlobalEnum", "NestedEnum", "cel.expr.conformance.proto2",
        "cel.expr.conformance.proto3"}) {
    for (const std::string_view part : {"expr", "bindings", "type_env", "value", "typed_result"}) {
      const Proto* found = test.find(part);
      if (found && mentions(*found, name)) return false;
    }
  }
  return !test.find("unknown") && !test.find("any_unknowns");
}

struct Outcome {
  std::string failure;  // empty if the test passed
};

std::vector<cel::Variable> variablesOf(const Proto& test) {
  std::vector<cel::Variable> variables;
  const auto isDeclared = [&](std::string_view name) {
    return std::ranges::find(variables, name, &cel::Variable::name) != variables.end();
  };
  for (const Proto* each : test.all("type_env")) {
    const Proto* ident = each->find("ident");
    const Proto* type = ident ? ident->find("type") : nullptr;
    if (type && !isDeclared(each->textOf("name")))
      variables.push_back(
          {std::string(each->textOf("name")), typeOf(*type).value_or(cel::Type::dyn())});
  }
  for (const Proto* each : test.all("bindings"))
    if (!isDeclared(each->textOf("key")))
      variables.push_back({std::string(each->textOf("key")), cel::Type::dyn()});
  return variables;
}

// Functions that a test declares: they have no implementation.
void declareFunctions(const Proto& test, cel::Library& library) {
  for (const Proto* each : test.all("type_env")) {
    const Proto* function = each->find("function");
    if (!function) continue;
    std::vector<cel::Overload> overloads;
    for (const Proto* overload : function->all("overloads")) {
      std::vector<cel::Type> parameters;
      for (const Proto* parameter : overload->all("params"))
        parameters.push_back(typeOf(*parameter).value_or(cel::Type::dyn()));
      const Proto* result = overload->find("result_type");
      auto declared = cel::globalOverload(
          std::string(overload->textOf("overload_id")), std::move(parameters),
          result ? typeOf(*result).value_or(cel::Type::dyn()) : cel::Type::dyn(),
          [](cel::Arguments) { return Value::error("not implemented"); });
      declared.member = overload->textOf("is_instance_function") == "true";
      overloads.push_back(std::move(declared));
    }
    library.add(each->textOf("name"), std::move(overloads));
  }
}

std::string checkType(const Proto& test, const cel::Program& program) {
  const Proto* typed = test.find("typed_result");
  const Proto* deduced = typed ? typed->find("deduced_type") : nullptr;
  if (!deduced) return {};
  const auto type = typeOf(*deduced);
  if (!type) return "the expected type cannot be read";
  if (*type == program.resultType()) return {};
  return fmt::format("type {} instead of {}", program.resultType().toString(), type->toString());
}

std::string checkValue(const Proto& test, const Result<Value>& value) {
  const Proto* expected = test.find("value");
  if (const Proto* typed = test.find("typed_result")) expected = typed->find("result");
  if (test.find("eval_error") || test.find("any_eval_errors"))
    return value ? "an error is expected, not " + value->toString() : "";
  if (!value) return "error: " + value.error().message;
  // A test without an expectation expects true.
  const auto wanted = expected ? valueOf(*expected) : std::optional(Value::boolean(true));
  if (!wanted)
    return test.find("typed_result") && !expected ? "" : "the expected value cannot be read";
  if (same(*wanted, *value)) return {};
  return fmt::format("{} instead of {}", value->toString(), wanted->toString());
}

Outcome runTest(const Proto& test) {
  cel::Library declared;
  declareFunctions(test, declared);
  cel::EnvironmentOptions options;
  options.libraries = cel::conformanceLibraries();
  options.libraries.push_back(&declared);
  options.variables = variablesOf(test);
  options.container = test.textOf("container");
  auto environment = cel::Environment::create(std::move(options));
  if (!environment) return {environment.error().message};
  cel::CompileOptions compiling;
  compiling.check = test.textOf("disable_check") != "true";
  compiling.macros = test.textOf("disable_macros") != "true";
  const auto program = environment->compile(test.textOf("expr"), compiling);
  if (!program) {
    // An error that a test expects may be found before evaluation, too.
    const bool expected = test.find("eval_error") || test.find("any_eval_errors");
    return {expected ? "" : program.error().message};
  }
  if (auto problem = checkType(test, *program); !problem.empty()) return {problem};
  if (test.textOf("check_only") == "true") return {};
  cel::Activation activation(*environment);
  for (const Proto* each : test.all("bindings")) {
    const Proto* bound = each->find("value");
    const Proto* value = bound ? bound->find("value") : nullptr;
    auto converted = value ? valueOf(*value) : std::nullopt;
    if (!converted) return {fmt::format("the binding {} cannot be read", each->textOf("key"))};
    activation.set(each->textOf("key"), *std::move(converted));
  }
  return {checkValue(test, program->evaluate(activation))};
}

struct Figures {
  int passed = 0, failed = 0, notApplicable = 0;
};

Figures runFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  Figures figures;
  const auto file = parseTextProto(text);
  if (!file) {
    fmt::print("{}: {}\n", path.filename().string(), file.error().message);
    figures.failed = 1;
    return figures;
  }
  std::string failures;
  for (const Proto* section : file->all("section")) {
    for (const Proto* test : section->all("test")) {
      if (!isApplicable(*test)) {
        ++figures.notApplicable;
        continue;
      }
      const Outcome outcome = runTest(*test);
      (outcome.failure.empty() ? figures.passed : figures.failed) += 1;
      if (!outcome.failure.empty())
        failures += fmt::format("  {}/{}: {}\n    {}\n", section->textOf("name"),
                                test->textOf("name"), test->textOf("expr"), outcome.failure);
    }
  }
  fmt::print("{}: {} passed, {} failed, {} not applicable\n{}", path.stem().string(),
             figures.passed, figures.failed, figures.notApplicable, failures);
  return figures;
}

}  // namespace
}  // namespace koord::celtest

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: koord_cel_conformance FOLDER\n");
    return 2;
  }
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1], error))
    if (entry.path().extension() == ".textproto") paths.push_back(entry.path());
  std::ranges::sort(paths);
  koord::celtest::Figures sum;
  for (const auto& path : paths) {
    const auto figures = koord::celtest::runFile(path);
    sum.passed += figures.passed;
    sum.failed += figures.failed;
    sum.notApplicable += figures.notApplicable;
  }
  fmt::print("all: {} passed, {} failed, {} not applicable\n", sum.passed, sum.failed,
             sum.notApplicable);
  return sum.failed == 0 && sum.passed > 0 ? 0 : 1;
}
