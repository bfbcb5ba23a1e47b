#pragma once

// Results for users (the step, expected and actual state, the object's events) and for CI (JUnit
// XML).

#include <string>
#include <string_view>
#include <vector>

#include "scenario/results.h"

namespace koord::scenario {

struct ReportOptions {
  bool verbose = false;  // also the operations of passed tests
  bool colour = false;   // ANSI colours
  std::size_t width = 110;
};

// One line for a passed test, all details for a failed one.
std::string describe(const TestResult& result, const ReportOptions& options);

// "41 passed, 1 failed, 2 skipped"
std::string summary(const std::vector<TestResult>& results);

// One <testcase> per test.
std::string toJUnit(const std::vector<TestResult>& results);

// Two texts side by side, line by line. Different lines are marked: '<' only left, '>' only right,
// '|' changed.
std::string sideBySide(std::string_view leftTitle, std::string_view left,
                       std::string_view rightTitle, std::string_view right, std::size_t width);

}  // namespace koord::scenario
