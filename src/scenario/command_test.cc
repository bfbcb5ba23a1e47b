#include "scenario/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/event_loop.h"
#include "base/file.h"
#include "scenario/fake_cluster.h"
#include "scenario/processes.h"
#include "scenario/report.h"

namespace koord::scenario {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class TestCommandTest : public testing::Test {
 protected:
  TestCommandTest()
      : root_(std::filesystem::path(testing::TempDir()) /
              ("scenario-command-" + std::to_string(::getpid()))) {
    options_.paths = {root_.string()};
    options_.embedded = [](const scenario::Test&) -> Result<std::unique_ptr<Environment>> {
      return std::make_unique<FakeCluster>();
    };
  }

  ~TestCommandTest() override { std::filesystem::remove_all(root_); }

  void addTest(const std::string& name, const std::string& assertion,
               const std::string& extra = "") {
    std::filesystem::create_directories(root_ / name);
    std::ofstream(root_ / name / "chainsaw-test.yaml")
        << "apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: " << name
        << "}\nspec:\n"
        << extra << "  steps:\n  - try:\n    - assert: {timeout: 0s, resource: {" << assertion
        << "}}\n";
  }

  int run() {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = runTestCommand(options_);
    output_ = testing::internal::GetCapturedStdout();
    errors_ = testing::internal::GetCapturedStderr();
    return status;
  }

  std::filesystem::path root_;
  TestCommandOptions options_;
  std::string output_;
  std::string errors_;
};

TEST_F(TestCommandTest, ResultsComeInOrderWithAStatus) {
  for (const char* name : {"a", "b", "c", "d"}) addTest(name, "(`1`): 1");
  options_.parallel = 3;
  EXPECT_EQ(run(), 0) << output_ << errors_;
  EXPECT_THAT(output_, testing::ContainsRegex(
                           "pass a .*\npass b .*\npass c .*\npass d .*\n4 passed, 0 failed"));
  addTest("bb", "(`1`): 2");
  EXPECT_EQ(run(), 1);
  EXPECT_THAT(output_, HasSubstr("FAIL bb"));
  EXPECT_THAT(output_, HasSubstr("(`1`): expected 2, got 1"));
}

TEST_F(TestCommandTest, FiltersListsAndFailFast) {
  addTest("a", "(`1`): 2");
  addTest("b", "(`1`): 1");
  options_.list = true;
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(output_, (root_ / "a/a").string() + "\n" + (root_ / "b/b").string() + "\n");
  options_.list = false;
  options_.filter = "/b$";
  EXPECT_EQ(run(), 0);
  EXPECT_THAT(output_, HasSubstr("1 passed, 0 failed in"));
  options_.filter = "";
  options_.failFast = true;
  EXPECT_EQ(run(), 1);
  EXPECT_THAT(output_, HasSubstr("0 passed, 1 failed, 1 skipped"));
  options_.filter = "(";
  EXPECT_EQ(run(), 2);
  EXPECT_THAT(errors_, HasSubstr("--filter ("));
  options_.filter = "zzz";
  EXPECT_EQ(run(), 2);
}

TEST_F(TestCommandTest, BadFilesAreNamedBeforeAnythingRuns) {
  addTest("a", "(`1`): 1", "  colour: red\n");
  addTest("b", "(`1`): 1", "  skip: maybe\n");
  EXPECT_EQ(run(), 2);
  EXPECT_THAT(errors_, HasSubstr("a/chainsaw-test.yaml:5: spec.colour: unknown field"));
  EXPECT_THAT(errors_, HasSubstr("b/chainsaw-test.yaml:5: spec.skip: expected true or false"));
  EXPECT_EQ(output_, "");
}

TEST_F(TestCommandTest, JUnitHasACasePerTest) {
  addTest("good", "(`1`): 1");
  addTest("bad", "('<'): '&'");
  options_.junitFile = (root_ / "out.xml").string();
  EXPECT_EQ(run(), 1);
  const auto xml = readFile(options_.junitFile);
  ASSERT_TRUE(xml);
  EXPECT_THAT(*xml,
              HasSubstr("<testsuite name=\"scenarios\" tests=\"2\" failures=\"1\" skipped=\"0\""));
  EXPECT_THAT(*xml, HasSubstr("('&lt;'): expected &quot;&amp;&quot;, got &quot;&lt;&quot;"));
  EXPECT_THAT(*xml, HasSubstr("name=\"good\""));
}

TEST(SideBySideTest, LinesThatDifferAreMarked) {
  EXPECT_EQ(sideBySide("want", "a\nb\nc\nd\n", "have", "a\nx\nc\nd\ne\n", 40),
            "want   have\na      a\nb    | x\nc      c\nd      d\n     > e\n");
}

TEST_F(TestCommandTest, TheHtmlReportShowsFailuresOpenAndEscapesWhatItShows) {
  addTest("good", "(`1`): 1", "  description: one & one\n");
  addTest("bad", "('<'): '&'");
  options_.htmlFile = (root_ / "out.html").string();
  EXPECT_EQ(run(), 1);
  const auto html = readFile(options_.htmlFile);
  ASSERT_TRUE(html);
  EXPECT_THAT(*html, HasSubstr("<h1>Scenarios: 1 passed, 1 failed</h1>"));
  EXPECT_THAT(*html, HasSubstr("<details class=\"failed\" open><summary><b>failed</b> bad"));
  EXPECT_THAT(*html, HasSubstr("<p>one &amp; one</p>"));
  EXPECT_THAT(*html, HasSubstr("bad/chainsaw-test.yaml:7 spec.steps[0].try[0].assert"));
  EXPECT_THAT(*html, HasSubstr("<tr class=\"differs\"><td>('&lt;')"))
      << "expected stands beside actual";
}

TEST(ProcessesTest, OutputStatusAndTimeoutsAreReported) {
  EventLoop loop;
  std::vector<ProcessOutcome> outcomes;
  TaskGroup tasks;
  struct Runner {
    static Task<void> all(EventLoop& loop, std::vector<ProcessOutcome>& outcomes) {
      const std::vector<ProcessSpec> specs = {
          {{"sh", "-c", "echo $A; echo oops >&2; exit 3"}, "", {{"A", "hello"}}, 10s},
          {{"sh", "-c", "sleep 60"}, "", {}, 50ms},
          {{"/no/such/program"}, "", {}, 1s},
          {{"pwd"}, "/", {}, 10s},
          {{"sh", "-c", "echo begun; exec >&- 2>&-; sleep 60"}, "", {}, 300ms},
          {{"sh", "-c", "kill -9 $$"}, "", {}, 10s},
      };
      for (const auto& spec : specs) {
        auto running = runProcess(loop, spec);
        outcomes.push_back(co_await running);
      }
      loop.stop();
    }
  };
  tasks.spawn(Runner::all(loop, outcomes));
  loop.run();
  ASSERT_EQ(outcomes.size(), 6U);
  EXPECT_EQ(outcomes[0].error, "exit status 3");
  EXPECT_EQ(outcomes[0].output, "hello\n");
  EXPECT_EQ(outcomes[0].errorOutput, "oops\n");
  EXPECT_EQ(outcomes[1].error, "still running after 0.05 s, killed");
  EXPECT_THAT(outcomes[2].error, HasSubstr("No such file or directory"));
  EXPECT_EQ(outcomes[3].output, "/\n");
  EXPECT_EQ(outcomes[4].error, "still running after 0.3 s, killed") << "it is not its pipes' end";
  EXPECT_EQ(outcomes[4].output, "begun\n");
  EXPECT_EQ(outcomes[5].error, "killed by signal 9");
  EXPECT_EQ(expandVariables("$A-$$-${x} $NO_SUCH", {{"A", "1"}}), "1-$-${x} $NO_SUCH");
}

}  // namespace
}  // namespace koord::scenario
