#include "golden/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace koord::golden {
namespace {

constexpr std::size_t kShownInput = 1000;  // characters
constexpr std::string_view kKnownDifferencesFile = "known-differences.json";

struct CaseOutcome {
  std::vector<std::string> mismatches;
  std::set<std::string> rules;  // known differences that were met
};

std::string caseName(std::string_view file, const json::object& testCase, std::size_t index) {
  const json::value* op = testCase.if_contains("op");
  if (!op || !op->is_string()) return fmt::format("{}/{}", file, index);
  return fmt::format("{}/{}/{}", file, std::string_view(op->get_string()), index);
}

Result<json::array> readCases(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) return fail(ErrorCode::Io, path.string() + ": cannot be read");
  auto document = parseJson(text.str());
  if (!document) return fail(std::move(document.error()).within(path.string()));
  json::value* cases = find(*document, "cases");
  if (!cases || !cases->is_array() ||
      !std::ranges::all_of(cases->get_array(), [](const auto& one) { return one.is_object(); })) {
    return fail(ErrorCode::Invalid, path.string() + ": cases: must be a list of objects");
  }
  return std::move(cases->get_array());
}

// An exception that leaves a checker is a failure of the case, not of the run.
Result<json::object> evaluateCase(const Evaluate& evaluate, const json::object& testCase) {
  try {
    return evaluate(testCase);
  } catch (const std::exception& error) {
    return fail(ErrorCode::Internal, error.what());
  }
}

CaseOutcome checkCase(const Checker& checker, const Evaluate& evaluate,
                      const json::object& testCase, const KnownDifferences& differences) {
  CaseOutcome outcome;
  const Result<json::object> ours = evaluateCase(evaluate, testCase);
  if (!ours) {
    outcome.mismatches.push_back(ours.error().message);
    return outcome;
  }

  std::set<std::string> fields;
  for (const auto& member : testCase) fields.emplace(member.key());
  for (const auto& member : *ours) fields.emplace(member.key());
  for (const auto& input : checker.inputs) fields.erase(std::string(input));
  fields.erase("op");

  const json::value nothing;
  for (const std::string& field : fields) {
    const json::value* recorded = testCase.if_contains(field);
    const json::value* actual = ours->if_contains(field);
    const auto right = differences.rightValue(checker, testCase, field);
    const json::value& expected = right ? right->value : recorded ? *recorded : nothing;
    if (!sameOutput(expected, actual ? *actual : nothing)) {
      outcome.mismatches.push_back(fmt::format("{}: expected {}{}, actual {}", field,
                                               toJson(expected), right ? " (known difference)" : "",
                                               actual ? toJson(*actual) : "nothing"));
    } else if (right) {
      outcome.rules.insert(*right->rule);
    }
  }
  return outcome;
}

std::string givenPart(const Checker& checker, const json::object& testCase) {
  json::object given;
  for (const auto& input : checker.inputs) {
    if (const json::value* value = testCase.if_contains(input)) given[input] = *value;
  }
  std::string text = toJson(given);
  if (text.size() > kShownInput) {
    text.resize(kShownInput);
    text += "...";
  }
  return text;
}

Totals checkFile(const Checker& checker, const json::array& cases, const Options& options,
                 const KnownDifferences& differences, const Print& print) {
  Totals totals;
  const auto fileFails = [&](const Error& error) {
    print(fmt::format("{}: {}", checker.file, error.message));
    totals.failed = 1;
    return totals;
  };
  if (auto good = differences.validateFor(checker); !good) return fileFails(good.error());
  const Result<Evaluate> evaluate = checker.open(cases);
  if (!evaluate) return fileFails(evaluate.error());

  std::map<std::string, int> casesOfRule;
  std::vector<std::string> failures;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const json::object& testCase = cases[i].get_object();
    const std::string name = caseName(checker.file, testCase, i);
    if (!std::regex_search(name, options.filter)) continue;
    const CaseOutcome outcome = checkCase(checker, *evaluate, testCase, differences);
    if (outcome.mismatches.empty()) {
      ++totals.passed;
      totals.known += !outcome.rules.empty();
      for (const std::string& rule : outcome.rules) ++casesOfRule[rule];
    } else if (++totals.failed <= options.shownFailures) {
      failures.push_back(fmt::format("  {}: {}", name, givenPart(checker, testCase)));
      for (const std::string& mismatch : outcome.mismatches) failures.push_back("    " + mismatch);
    }
  }

  print(fmt::format("{}: {} passed, {} failed, {} known-different", checker.file, totals.passed,
                    totals.failed, totals.known));
  for (const auto& [rule, count] : casesOfRule) {
    print(fmt::format("  known difference in {} cases: {}", count, rule));
  }
  for (const std::string& line : failures) print(line);
  return totals;
}

}  // namespace

Result<Totals> run(const Options& options, const std::vector<Checker>& checkers,
                   const KnownDifferences& differences, const Print& print) {
  std::vector<std::filesystem::path> files;
  std::error_code ec;
  for (std::filesystem::directory_iterator at(options.vectors, ec), end; !ec && at != end;
       at.increment(ec)) {
    const auto& path = at->path();
    if (path.extension() == ".json" && path.filename() != kKnownDifferencesFile)
      files.push_back(path);
  }
  if (ec) return fail(ErrorCode::Io, options.vectors.string() + ": " + ec.message());
  if (files.empty()) {
    return fail(ErrorCode::NotFound, options.vectors.string() + ": holds no vector file (*.json)");
  }
  std::ranges::sort(files);

  Totals totals;
  for (const auto& path : files) {
    const std::string stem = path.stem().string();
    const auto cases = readCases(path);
    const auto checker = std::ranges::find(checkers, stem, &Checker::file);
    if (checker == checkers.end()) {
      const int count = cases ? static_cast<int>(cases->size()) : 1;
      print(fmt::format("{}: {} skipped, no checker of this name", stem, count));
      totals.skipped += count;
    } else if (!cases) {
      print(cases.error().message);
      ++totals.failed;
    } else {
      const Totals ofFile = checkFile(*checker, *cases, options, differences, print);
      totals.passed += ofFile.passed;
      totals.known += ofFile.known;
      totals.failed += ofFile.failed;
    }
  }
  print(fmt::format("{} passed, {} failed, {} skipped", totals.passed, totals.failed,
                    totals.skipped));
  return totals;
}

}  // namespace koord::golden
