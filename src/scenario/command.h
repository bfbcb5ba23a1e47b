#pragma once

// "koordctl test DIR...": finds the tests below the folders, runs each in a new environment and
// reports. The program's main parses the flags into TestCommandOptions and passes a factory for
// embedded clusters.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "scenario/environment.h"
#include "scenario/runner.h"
#include "scenario/test_file.h"

namespace koord::scenario {

// Creates a new environment for one test: on virtual time, or in real time with a kubeconfig if
// test.hasProcesses(). Called from several threads at once; its result is used and destroyed on the
// calling thread.
using EnvironmentFactory = std::function<Result<std::unique_ptr<Environment>>(const Test& test)>;

struct TestCommandOptions {
  std::vector<std::string> paths;  // DIR... or files; none = "."
  bool useCluster = false;         // --kubeconfig was given: run there, not on an embedded cluster
  std::string kubeconfig;          // --kubeconfig FILE
  unsigned parallel = 1;           // --parallel N
  std::string filter;              // --filter REGEX, searched for in "folder/name"
  std::string junitFile;           // --junit FILE
  std::string htmlFile;            // --report-html FILE
  bool verbose = false;            // --verbose: every operation, also of tests that pass
  bool failFast = false;           // --fail-fast: start no test after one has failed
  bool list = false;               // --list: print the names only
  Timeouts timeouts = defaultTimeouts();  // --apply-timeout, --assert-timeout, ...
  EnvironmentFactory embedded;            // used without useCluster
};

// Returns the exit status: 0 all passed, 1 a test failed, 2 nothing could be run (invalid files or
// options). Results go to standard output in the order of the files, problems to standard error.
int runTestCommand(const TestCommandOptions& options);

}  // namespace koord::scenario
