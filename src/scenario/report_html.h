#pragma once

// Results as one HTML page that needs no other file: a summary, the failures opened, and every test
// with its steps; expected and actual side by side, the events of the objects below them.

#include <string>
#include <vector>

#include "scenario/results.h"

namespace koord::scenario {

std::string toHtml(const std::vector<TestResult>& results);

}  // namespace koord::scenario
