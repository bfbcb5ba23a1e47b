#pragma once

// Results as one self-contained HTML page: a summary, the failures expanded, and every test with
// its steps; expected and actual state side by side, with the events of the objects below.

#include <string>
#include <vector>

#include "scenario/results.h"

namespace koord::scenario {

std::string toHtml(const std::vector<TestResult>& results);

}  // namespace koord::scenario
