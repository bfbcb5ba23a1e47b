// golden_tests: runs folders of golden vectors; see golden.h.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "golden/checkers.h"
#include "golden/runner.h"

namespace {

using namespace koord;

std::filesystem::path differencesFile(const std::filesystem::path& vectors) {
  const std::filesystem::path own = vectors / "known-differences.json";
  return exists(own) ? own : std::filesystem::path(KOORD_VECTORS) / "known-differences.json";
}

Result<golden::KnownDifferences> readDifferences(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) return fail(ErrorCode::Io, path.string() + ": cannot be read");
  auto differences = golden::KnownDifferences::parse(text.str());
  if (!differences) return fail(std::move(differences.error()).within(path.string()));
  return differences;
}

Result<golden::Totals> runAll(const std::filesystem::path& vectors, const std::string& filter,
                              int shownFailures) {
  golden::Options options{.vectors = vectors, .filter = {}, .shownFailures = shownFailures};
  try {
    options.filter = std::regex(filter);
  } catch (const std::regex_error& error) {
    return fail(ErrorCode::Invalid, fmt::format("--filter \"{}\": {}", filter, error.what()));
  }
  const auto differences = readDifferences(differencesFile(vectors));
  if (!differences) return fail(differences.error());
  return golden::run(options, golden::allCheckers(), *differences,
                     [](std::string_view line) { fmt::print("{}\n", line); });
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Checks golden vectors: inputs and outputs recorded from upstream's own code."};
  std::string vectors = KOORD_VECTORS;
  std::string filter;
  int shownFailures = 5;
  app.add_option(
         "--vectors", vectors,
         "Folder of vector files. Its known-differences.json is used if there is one, else the "
         "project's own")
      ->capture_default_str();
  app.add_option("--filter", filter,
                 "Only cases whose name (file/op/index) this expression matches");
  app.add_option("--failures", shownFailures, "Failing cases to print per file")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  const auto totals = runAll(vectors, filter, shownFailures);
  if (!totals) {
    fmt::print(stderr, "golden_tests: {}\n", totals.error().message);
    return 2;
  }
  return totals->failed == 0 ? 0 : 1;
}
