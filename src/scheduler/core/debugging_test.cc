// The log output of the debugging flags.

#include <gmock/gmock.h>

#include <sstream>

#include "base/log.h"
#include "scheduler/core/scheduler_fixture.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class SchedulerDebugging : public ::testing::Test {
 protected:
  SchedulerDebugging() {
    log::setup({.program = "test"});
    s_.node(aNode("big").allocatable("cpu", "8"));
    s_.node(aNode("small").allocatable("cpu", "1"));
    s_.node(aNode("tainted").allocatable("cpu", "8").taint("gpu"));
    s_.scheduler->start();
    s_.run();
  }
  // The lines with the text that are logged while the pod is tried.
  std::vector<std::string> logged(const testing::PodBuilder& pod, const std::string& text) {
    ::testing::internal::CaptureStderr();
    s_.create(pod);
    s_.run(std::chrono::milliseconds(100));
    std::istringstream all(::testing::internal::GetCapturedStderr());
    std::vector<std::string> lines;
    for (std::string line; std::getline(all, line);)
      if (const auto at = line.find(text); at != line.npos) lines.push_back(line.substr(at));
    return lines;
  }
  Scheduler::Debug& debug() { return s_.scheduler->debug(); }

  testing::SchedulerFixture s_;
};

TEST_F(SchedulerDebugging, NothingIsWrittenWhileItIsOff) {
  EXPECT_THAT(logged(aPod("p").request("cpu", "2"), "Failed to filter"), IsEmpty());
  EXPECT_THAT(logged(aPod("q").request("cpu", "20"), "dump diagnosis"), IsEmpty());
}

TEST_F(SchedulerDebugging, FilterFailuresHaveALineForEveryNodeThatRejectsThePod) {
  debug().filterFailures = true;
  EXPECT_THAT(
      logged(aPod("p").request("cpu", "2"), "Failed to filter"),
      ElementsAre(
          "Failed to filter for Pod \"default/p\" on Node \"small\" (pass 0), failedPlugin: "
          "NodeResourcesFit, reason: Insufficient cpu",
          "Failed to filter for Pod \"default/p\" on Node \"tainted\" (pass 0), failedPlugin: "
          "TaintToleration, reason: node(s) had untolerated taint(s)"));
  EXPECT_EQ(s_.nodeOf("p"), "big");
  EXPECT_THAT(logged(aPod("q").request("cpu", "20"), "Failed to filter"), SizeIs(3));
}

TEST_F(SchedulerDebugging, ADiagnosisGroupsNodesThatAreAlike) {
  debug().diagnosis = true;
  EXPECT_THAT(logged(aPod("fits").request("cpu", "1"), "dump diagnosis"), IsEmpty());
  for (const bool atOnce : {false, true}) {
    debug().diagnosisAtOnce = atOnce;
    const std::string name = atOnce ? "now" : "later";
    const auto lines = logged(aPod(name).request("cpu", "20"), "dump diagnosis");
    ASSERT_THAT(lines, SizeIs(1));
    EXPECT_THAT(lines[0], HasSubstr("dump diagnosis for default/" + name + ", targetPod: default/" +
                                    name + "/"));
    EXPECT_THAT(lines[0],
                HasSubstr(R"("questionedKey":"default/)" + name +
                          R"(","isRootCausePod":true,)"
                          R"("scheduleDiagnosis":{"alreadyWaitForBound":0,"nodeFailedDetails":[)"
                          R"({"failedPlugin":"NodeResourcesFit","reason":"Insufficient cpu",)"));
    EXPECT_THAT(lines[0], HasSubstr(R"("failedNodes":["big","small"])"));
    EXPECT_THAT(lines[0], HasSubstr(R"({"failedPlugin":"TaintToleration",)"
                                    R"x("reason":"node(s) had untolerated taint(s)",)x"
                                    R"("preemptMightHelp":false,"failedNodes":["tainted"]})"));
  }
}

TEST_F(SchedulerDebugging, DiagnosesThatHaveNoPlaceInTheQueueAreDropped) {
  debug().diagnosis = true;
  debug().diagnosisQueue = 0;
  const auto lines = logged(aPod("p").request("cpu", "20"), "iagnosis");
  EXPECT_THAT(lines, ElementsAre("iagnosis queue is full, dropping diagnosis for default/p"));
  debug().diagnosisAtOnce = true;
  EXPECT_THAT(logged(aPod("q").request("cpu", "20"), "dump diagnosis"), SizeIs(1));
}

TEST_F(SchedulerDebugging, ScoresAreATableOfTheBestNodes) {
  s_.node(aNode("other").allocatable("cpu", "4"));
  debug().topScores = 1;
  EXPECT_THAT(logged(aPod("p").request("cpu", "1"), "Top1 scores for Pod: default/p"), SizeIs(1));
}

}  // namespace
}  // namespace koord::scheduler
