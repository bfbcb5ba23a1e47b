#pragma once

// Golden vectors: files of inputs and of the outputs that upstream's own code gave for them. A file
// is
// {"about": ..., "cases": [...]}; a Checker computes our outputs for the cases of one file name,
// and the runner (runner.h) compares them. A checker is a .cc file beside this one and a line in
// checkers.cc.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace koord::golden {

// What we make of one case: an object with our outputs, named as in the case. An error, or an
// exception, fails the case.
using Evaluate = std::function<Result<json::object>(const json::object& testCase)>;

// The right value of one output where the recorded one is an upstream mistake of some kind,
// computed without the code under test; nothing where the recorded value stands. Known differences
// refer to it.
struct Oracle {
  std::string_view name;
  std::optional<json::value> (*rightValue)(const json::object& testCase, std::string_view field);
};

// A text that every case of the file has.
inline std::string_view textOf(const json::object& testCase, std::string_view name) {
  return testCase.at(name).as_string();
}

struct Checker {
  std::string_view file;  // "quantity" for quantity.json
  // Members of a case that are given. Every other member is an output and must be computed: a
  // member that the checker does not know fails the case.
  std::vector<std::string_view> inputs;
  // Called once per file with all its cases, as some refer to earlier ones.
  std::function<Result<Evaluate>(const json::array& cases)> open;
  std::vector<Oracle> oracles = {};
};

// Deep equality as the vectors mean it: numbers by value, and an absent member is the same as an
// empty one (null, false, 0, "", [] or {}).
bool sameOutput(const json::value& expected, const json::value& actual);
bool isEmptyOutput(const json::value& value);

}  // namespace koord::golden
