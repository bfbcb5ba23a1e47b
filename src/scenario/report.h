#pragma once

// Results for people (which step, what was expected beside what is there, the object's events) and
// for CI (JUnit XML).

#include <string>
#include <string_view>
#include <vector>

#include "scenario/results.h"

namespace koord::scenario {

struct ReportOptions {
  bool verbose = false;  // the operations of tests that passed, too
  bool colour = false;   // ANSI colours
  std::size_t width = 110;
};

// One line for a test that passed, all about one that failed.
std::string describe(const TestResult& result, const ReportOptions& options);

// "41 passed, 1 failed, 2 skipped"
std::string summary(const std::vector<TestResult>& results);

// One <testcase> per test.
std::string toJUnit(const std::vector<TestResult>& results);

// Two texts line by line in columns; lines that differ are marked: '<' only left, '>' only right,
// '|' changed.
std::string sideBySide(std::string_view leftTitle, std::string_view left,
                       std::string_view rightTitle, std::string_view right, std::size_t width);

}  // namespace koord::scenario
