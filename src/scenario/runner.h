#pragma once

// Runs one test: a namespace of its own, the steps with their catch and finally blocks, and at the
// end the deletion of all created objects, last first.

#include "scenario/environment.h"
#include "scenario/results.h"
#include "scenario/test_file.h"

namespace koord::scenario {

// Chainsaw's own defaults.
Timeouts defaultTimeouts();

struct RunOptions {
  Timeouts timeouts = defaultTimeouts();
  std::int64_t testId = 1;  // $test.id, and part of the namespace's name
};

// On the environment's executor. `inputs` is an index into the test's sets of inputs; 0 for a test
// without any. Test and environment must outlive the task.
Task<TestResult> runTest(Environment& environment, const Test& test, std::size_t inputs,
                         RunOptions options);

// The same, blocking: runs the environment until the test is over, at most for `limit` of its time.
TestResult runTestToEnd(Environment& environment, const Test& test, std::size_t inputs,
                        const RunOptions& options, Duration limit = std::chrono::hours(24 * 365));

// The name of a test with these inputs in reports: "name", "name/inputs".
std::string titleOf(const Test& test, std::size_t inputs);

}  // namespace koord::scenario
