#pragma once

// Runs one test: a namespace of its own, the steps with their catch and finally blocks, and in the
// end the deletion of everything it made, last first.

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

// On the environment's executor. `inputs` counts from 0 among the test's sets of inputs; a test
// without any runs with 0. Test and environment must outlive the task.
Task<TestResult> runTest(Environment& environment, const Test& test, std::size_t inputs,
                         RunOptions options);

// The same from outside: drives the environment until the test is over, which is at most `limit` of
// its time away.
TestResult runTestToEnd(Environment& environment, const Test& test, std::size_t inputs,
                        const RunOptions& options, Duration limit = std::chrono::hours(24 * 365));

// The name under which a test with these inputs is reported: "name", "name/inputs".
std::string titleOf(const Test& test, std::size_t inputs);

}  // namespace koord::scenario
