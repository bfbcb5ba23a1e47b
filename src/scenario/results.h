#pragma once

// The results of a test as a tree: test, blocks of a step, operations. report.h prints it.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "scenario/match.h"

namespace koord::scenario {

// An object that differs from a test's expectation.
struct Deviation {
  std::string object;  // "v1/Pod ns/name"
  std::vector<Mismatch> mismatches;
  json::value actual;  // the part that the assertion names
  std::vector<std::string> events;
};

struct OperationResult {
  std::string name;    // "ASSERT"
  std::string target;  // "v1/Pod ns/name"; "" if there is none
  std::string field;   // where the operation is in the file ...
  std::string place;   // ... "folder/chainsaw-test.yaml:23"
  std::string description;
  Duration elapsed{};
  std::string error;                  // "" = succeeded
  json::value expected;               // of an assertion
  std::vector<Deviation> deviations;  // nearest first
  std::string output;                 // gathered output, or that of a process

  bool failed() const { return !error.empty(); }
};

struct StepResult {
  std::string name;
  std::string description;
  std::vector<OperationResult> try_, catch_, finally, cleanup;

  bool failed() const;
};

struct TestResult {
  enum class Status { Passed, Failed, Skipped };

  std::filesystem::path file;
  std::string name;  // with the name or number of its inputs: "quota/small"
  std::string description;
  std::string namespace_;
  Status status = Status::Passed;
  std::string error;  // an error outside of the steps
  std::vector<StepResult> steps;
  std::vector<OperationResult> cleanup;  // of the objects that operations created
  Duration elapsed{};                    // on the environment's clock
  bool stopsRun = false;                 // failed, and the test asks to end the run

  bool failed() const { return status == Status::Failed; }
};

}  // namespace koord::scenario
