#include "golden/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace koord::golden {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

json::value parsed(std::string_view text) {
  return parseJson(text).value();
}

// Doubles the number `in`; wrong about 13.
Checker doublingChecker() {
  const auto evaluate = [](const json::object& testCase) -> Result<json::object> {
    const std::int64_t in = testCase.at("in").to_number<std::int64_t>();
    if (in < 0) return fail(ErrorCode::Invalid, "in: must not be negative");
    return json::object{{"out", in == 13 ? 0 : 2 * in}};
  };
  const auto saturated = [](const json::object& testCase,
                            std::string_view) -> std::optional<json::value> {
    if (testCase.at("in").to_number<std::int64_t>() < 100) return std::nullopt;
    return json::value(testCase.at("in").to_number<std::int64_t>() * 2);
  };
  return {.file = "doubling",
          .inputs = {"in"},
          .open = [=](const json::array&) -> Result<Evaluate> { return evaluate; },
          .oracles = {{"saturated", saturated}}};
}

class RunnerTest : public ::testing::Test {
 protected:
  RunnerTest() {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~RunnerTest() override { std::filesystem::remove_all(folder_); }

  void write(std::string_view name, std::string_view text) {
    std::ofstream(folder_ / name) << text;
  }

  Result<Totals> runFolder(std::string_view rules = "[]", std::string filter = "") {
    lines_.clear();
    auto differences = KnownDifferences::parse(R"({"rules": )" + std::string(rules) + "}");
    if (!differences) return fail(differences.error());
    return run({.vectors = folder_, .filter = std::regex(filter)}, {doublingChecker()},
               *differences, [this](std::string_view line) { lines_.emplace_back(line); });
  }

  std::filesystem::path folder_;
  std::vector<std::string> lines_;
};

TEST_F(RunnerTest, CountsCasesAndEndsWithTheTotals) {
  write("doubling.json", R"({"cases": [{"in": 1, "out": 2}, {"in": 0}, {"in": 4, "out": 9}]})");
  write("other.json", R"({"cases": [{}, {}]})");
  write("known-differences.json", "not read here");
  const auto totals = runFolder();
  ASSERT_TRUE(totals);
  EXPECT_EQ(totals->passed, 2);
  EXPECT_EQ(totals->failed, 1);
  EXPECT_EQ(totals->skipped, 2);
  EXPECT_EQ(lines_.back(), "2 passed, 1 failed, 2 skipped");
  EXPECT_THAT(lines_, Contains(HasSubstr("out: expected 9, actual 8")));
  EXPECT_THAT(lines_, Contains(HasSubstr("doubling/2: {\"in\":4}")));
  EXPECT_THAT(lines_, Contains(HasSubstr("other: 2 skipped")));
}

TEST_F(RunnerTest, FailsCasesWithOutputsThatAreNotComputed) {
  write("doubling.json",
        R"({"cases": [{"in": 1, "out": 2, "half": 0.5}, {"in": 13, "out": 26}, {"in": 1}]})");
  const auto totals = runFolder();
  ASSERT_TRUE(totals);
  EXPECT_EQ(totals->failed, 3);
  EXPECT_THAT(lines_, Contains(HasSubstr("half: expected 5E-1, actual nothing")));
}

TEST_F(RunnerTest, TurnsErrorsAndExceptionsOfACheckerIntoFailures) {
  write("doubling.json", R"({"cases": [{"in": -1}, {"in": "text"}, {}]})");
  const auto totals = runFolder();
  ASSERT_TRUE(totals);
  EXPECT_EQ(totals->failed, 3);
  EXPECT_THAT(lines_, Contains(HasSubstr("in: must not be negative")));
}

TEST_F(RunnerTest, RunsOnlyTheCasesThatTheFilterMatches) {
  write("doubling.json", R"({"cases": [{"op": "a", "in": 1}, {"op": "b", "in": 1, "out": 2}]})");
  const auto totals = runFolder("[]", "doubling/b/");
  ASSERT_TRUE(totals);
  EXPECT_EQ(totals->passed, 1);
  EXPECT_EQ(totals->failed, 0);
}

TEST_F(RunnerTest, CountsABrokenFileAsAFailure) {
  write("doubling.json", "{");
  EXPECT_EQ(runFolder()->failed, 1);
  write("doubling.json", R"({"cases": [1]})");
  EXPECT_EQ(runFolder()->failed, 1);
}

TEST_F(RunnerTest, RefusesAFolderWithoutVectors) {
  EXPECT_EQ(runFolder().error().code, ErrorCode::NotFound);
  std::filesystem::remove_all(folder_);
  EXPECT_EQ(runFolder().error().code, ErrorCode::Io);
}

TEST_F(RunnerTest, RequiresTheRightValueOfAKnownDifference) {
  constexpr std::string_view kRules = R"([{"name": "n", "reason": "r", "file": "doubling",
    "when": {"kind": {"matches": "^big"}}, "fields": ["out"], "expect": {"oracle": "saturated"}}])";
  write("doubling.json", R"({"cases": [
    {"in": 100, "kind": "bigger", "out": 0}, {"in": 7, "kind": "big", "out": 0}, {"in": 100, "out": 0}]})");
  auto totals = runFolder(kRules, "/0$");
  ASSERT_TRUE(totals);
  EXPECT_EQ(totals->failed, 1) << "kind is an output that nobody computes";
  EXPECT_THAT(lines_, Not(Contains(HasSubstr("out:"))));
  // The oracle has nothing to say about 7, and the rule asks for a kind.
  EXPECT_EQ(runFolder(kRules, "/[12]$")->failed, 2);
  EXPECT_THAT(lines_, Contains(HasSubstr("out: expected 0, actual 14")));
}

TEST_F(RunnerTest, FailsWhenOursIsNeitherRecordedNorRight) {
  write("doubling.json", R"({"cases": [{"in": 13, "out": 1}, {"in": 12, "out": 1}]})");
  const auto totals = runFolder(R"([{"name": "n", "reason": "r", "file": "doubling",
    "when": {"in": 13}, "fields": ["out"], "expect": {"literal": 26}},
    {"name": "m", "reason": "r", "file": "doubling",
    "when": {"in": 12}, "fields": ["out"], "expect": {"literal": 24}}])");
  ASSERT_TRUE(totals);
  EXPECT_EQ(totals->failed, 1);
  EXPECT_EQ(totals->known, 1);
  EXPECT_THAT(lines_, Contains(HasSubstr("out: expected 26 (known difference), actual 0")));
}

TEST_F(RunnerTest, RefusesRulesThatCannotBeChecked) {
  write("doubling.json", R"({"cases": [{"in": 1, "out": 2}]})");
  for (std::string_view rule : {
           R"({"name": "n", "file": "f", "fields": ["a"], "expect": {"literal": 1}})",
           R"({"name": "n", "reason": "r", "file": "f", "fields": [], "expect": {"literal": 1}})",
           R"({"name": "n", "reason": "r", "file": "f", "fields": ["a"], "expect": {}})",
           R"({"name": "n", "reason": "r", "file": "f", "fields": ["a"], "expect": {"field": 1}})",
           R"({"name": "n", "reason": "r", "file": "f", "fields": ["a"], "expect": {"literal": 1},
               "when": {"a": {"matches": "("}}})",
           R"({"name": "n", "reason": "r", "file": "f", "fields": ["a"], "expect": {"literal": 1},
               "when": {"a": {"above": 1}}})",
       }) {
    EXPECT_FALSE(runFolder("[" + std::string(rule) + "]")) << rule;
  }
  EXPECT_EQ(runFolder(R"([{"name": "n", "reason": "r", "file": "doubling", "fields": ["out"],
    "expect": {"oracle": "unheard of"}}])")
                ->failed,
            1);
}

TEST(SameOutput, ComparesNumbersByValueAndAbsentMembersAsEmpty) {
  EXPECT_TRUE(sameOutput(parsed("1"), parsed("1.0")));
  EXPECT_TRUE(sameOutput(parsed("18446744073709551615"), parsed("18446744073709551615")));
  EXPECT_FALSE(sameOutput(parsed("18446744073709551615"), parsed("-1")));
  EXPECT_FALSE(sameOutput(parsed("1"), parsed("\"1\"")));
  EXPECT_TRUE(sameOutput(parsed(R"({"a": {"b": []}, "c": ""})"), parsed(R"({"a": {}})")));
  EXPECT_FALSE(sameOutput(parsed(R"({"a": {}})"), parsed(R"({"a": {"b": [0]}})")));
  EXPECT_FALSE(sameOutput(parsed("[1, 2]"), parsed("[2, 1]")));
  EXPECT_TRUE(sameOutput(parsed("null"), parsed("false")));
}

}  // namespace
}  // namespace koord::golden
