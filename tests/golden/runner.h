#pragma once

// Runs a folder of vector files against the checkers and reports as it goes.

#include <filesystem>
#include <functional>
#include <regex>
#include <string_view>
#include <vector>

#include "golden/golden.h"
#include "golden/known_differences.h"

namespace koord::golden {

struct Options {
  std::filesystem::path vectors;
  // Cases are called "<file>/<op>/<index>" ("<file>/<index>" when they have no op); those that it
  // does not match are left out.
  std::regex filter;
  int shownFailures = 5;  // per file
};

struct Totals {
  int passed = 0;  // known differences included: our output is the right one
  int known = 0;
  int failed = 0;
  int skipped = 0;  // cases of files that have no checker
};

using Print = std::function<void(std::string_view line)>;

// The error is for a folder that cannot be read or holds no vector file. A vector file that is
// broken counts as one failed case.
Result<Totals> run(const Options& options, const std::vector<Checker>& checkers,
                   const KnownDifferences& differences, const Print& print);

}  // namespace koord::golden
