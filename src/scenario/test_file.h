#pragma once

// chainsaw-test.yaml as structs: the Test kind of chainsaw.kyverno.io/v1alpha1; a StepTemplate's
// operations replace the step that uses it. Reading is strict: an unknown field, or a field of
// Chainsaw that is not supported, is an error that names it, so that no check is skipped silently.
// All problems of a file are reported together.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/json.h"
#include "scenario/match.h"

namespace koord::scenario {

struct Binding {
  std::string name;   // may be an expression
  json::value value;  // texts in it may be expressions
};

struct Output {
  std::optional<AssertionTree> match;
  Binding binding;
};

// The expected outcome of an operation for the matching objects.
struct Expectation {
  std::optional<AssertionTree> match;
  AssertionTree check;
};

struct Timeouts {
  std::optional<Duration> apply, assert, cleanup, delete_, error, exec;
};
// `base` with the fields that are set in `more`.
Timeouts over(const Timeouts& base, const Timeouts& more);

// The objects of delete, wait and the gathering operations. Texts may be expressions.
struct Selection {
  std::string apiVersion;
  std::string kind;
  std::string namespace_;  // "" = the test's, "*" = all
  std::string name;
  std::string labelSelector;
};

struct WaitFor {
  enum class Kind { Creation, Deletion, Condition, JsonPath } kind = Kind::Creation;
  std::string name;  // of the condition, or the path
  std::optional<std::string> value;
};

struct Process {
  bool script = false;
  std::string content;  // of a script
  std::string shell = "sh";
  std::vector<std::string> shellArguments{"-c"};
  std::string entrypoint;  // of a command
  std::vector<std::string> arguments;
  std::string workDir;
  std::vector<Binding> environment;
  bool hideOutput = false;
  bool hideCommand = false;
};

struct Operation {
  enum class Kind {
    Apply,
    Create,
    Update,
    Patch,
    Delete,
    Assert,
    Error,
    Wait,
    Sleep,
    Script,
    Command,
    Describe,
    Get,
    Events,
    PodLogs,
  };

  Kind kind = Kind::Apply;
  std::string field;  // its path in the file: "spec.steps[0].try[2].assert" ...
  std::string place;  // ... "folder/chainsaw-test.yaml:23"
  std::string description;
  bool continueOnError = false;
  std::optional<Duration> timeout;
  std::optional<bool> render;  // "template": whether expressions in resources are replaced
  std::vector<Binding> bindings;
  std::vector<Output> outputs;
  std::vector<Expectation> expect;     // apply, create, update, patch, delete
  std::optional<AssertionTree> check;  // script, command

  std::optional<json::value> resource;  // apply, create, update, patch, assert, error: this ...
  std::string file;                     // ... or this file or glob, relative to the test's folder
  bool dryRun = false;
  std::string subresource;        // create, patch
  Selection selection;            // delete, wait, describe, get, events, podLogs
  std::string propagationPolicy;  // delete
  WaitFor wait;
  Duration duration{};    // sleep
  Process process;        // script, command
  std::string container;  // podLogs
  std::optional<std::int64_t> tail;
  bool showEvents = true;  // describe
};

// "APPLY", "POD LOGS"
std::string_view nameOf(Operation::Kind kind);

struct Step {
  std::string name;
  std::string description;
  Timeouts timeouts;
  std::optional<bool> skipDelete;
  std::optional<bool> render;
  std::string propagationPolicy;
  std::vector<Binding> bindings;
  std::vector<Operation> try_;
  std::vector<Operation> catch_;
  std::vector<Operation> finally;
  std::vector<Operation> cleanup;
};

// One set of inputs ("scenario" in the file) that a test runs with.
struct Inputs {
  std::string name;
  std::vector<Binding> bindings;
};

struct Test {
  std::filesystem::path file;
  std::string name;
  json::value metadata;
  std::string description;
  bool skip = false;
  bool concurrent = true;
  bool failFast = false;
  bool skipDelete = false;
  bool render = true;
  bool fastNamespaceDeletion = false;
  std::string namespace_;
  std::optional<json::value> namespaceTemplate;
  std::string propagationPolicy = "Background";
  Duration delayBeforeCleanup{};
  Timeouts timeouts;
  std::vector<Inputs> inputs;
  std::vector<Binding> bindings;
  std::vector<Step> steps;
  std::vector<Operation> catch_;

  std::filesystem::path folder() const { return file.parent_path(); }
  // Scripts and commands need real time and a server with an address.
  bool hasProcesses() const;
};

// All tests of one file.
Result<std::vector<Test>> readTestFile(const std::filesystem::path& file);
Result<std::vector<Test>> parseTests(std::string_view yaml, const std::filesystem::path& file);

// The chainsaw-test.yaml (or .yml) files at or below the paths, sorted. A path of a file may have
// any name.
Result<std::vector<std::filesystem::path>> findTestFiles(const std::vector<std::string>& paths);

// The objects in the files that match `pattern` ("a.yaml", "objects/*.yaml") below `folder`, in
// order of name; lists are flattened.
Result<std::vector<json::value>> readResources(const std::filesystem::path& folder,
                                               const std::string& pattern);

}  // namespace koord::scenario
