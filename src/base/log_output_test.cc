#include "base/log_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"

namespace koord::log {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class LogOutputTest : public ::testing::Test {
 protected:
  LogOutputTest() {
    folder_ = ::testing::TempDir() + "log-XXXXXX";
    EXPECT_TRUE(::mkdtemp(folder_.data()));
  }
  ~LogOutputTest() override {
    setup({.program = "test"});
    std::filesystem::remove_all(folder_);
  }
  // What was written to standard error.
  std::string logThrough(const Output& output) {
    ::testing::internal::CaptureStderr();
    const auto done = setup(Options{.program = "prog", .verbosity = 2}, output);
    EXPECT_TRUE(done) << done.error().message;
    info("a message");
    warn("a warning");
    error("an error");
    return ::testing::internal::GetCapturedStderr();
  }
  std::string file(const std::string& name) { return readFile(folder_ + "/" + name).value_or(""); }

  std::string folder_;
};

TEST_F(LogOutputTest, ByDefaultEverythingGoesToStandardErrorAndNowhereElse) {
  Output output;
  output.folder = folder_;
  EXPECT_THAT(logThrough(output), AllOf(HasSubstr("a message"), HasSubstr("an error")));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  EXPECT_EQ(verbosity(), 2);
}

TEST_F(LogOutputTest, TheThresholdHoldsWithStandardErrorWhenItShould) {
  EXPECT_THAT(logThrough({.stderrThreshold = 1, .thresholdAlways = true}),
              AllOf(HasSubstr("a warning"), Not(HasSubstr("a message"))));
  EXPECT_THAT(logThrough({.stderrThreshold = 3, .thresholdAlways = true}), IsEmpty());
  EXPECT_THAT(logThrough({.stderrThreshold = 3}), HasSubstr("a message"));
}

TEST_F(LogOutputTest, EverySeverityHasAFileAndGoesToThoseBelow) {
  EXPECT_THAT(logThrough({.toStderr = false, .folder = folder_}),
              AllOf(HasSubstr("an error"), Not(HasSubstr("a warning"))));
  EXPECT_THAT(file("prog.INFO"),
              AllOf(HasSubstr("a message"), HasSubstr("a warning"), HasSubstr("an error")));
  EXPECT_THAT(file("prog.WARNING"), AllOf(Not(HasSubstr("a message")), HasSubstr("an error")));
  EXPECT_THAT(file("prog.ERROR"), AllOf(Not(HasSubstr("a warning")), HasSubstr("an error")));
  EXPECT_THAT(std::filesystem::read_symlink(folder_ + "/prog.ERROR").string(),
              AllOf(HasSubstr(".log.ERROR."), HasSubstr(std::to_string(::getpid()))));
}

TEST_F(LogOutputTest, OneOutputKeepsSeveritiesApart) {
  EXPECT_THAT(
      logThrough(
          {.toStderr = false, .alsoToStderr = true, .folder = folder_, .ownSeverityOnly = true}),
      HasSubstr("a message"));
  EXPECT_THAT(file("prog.INFO"), AllOf(HasSubstr("a message"), Not(HasSubstr("an error"))));
}

TEST_F(LogOutputTest, AFileIsAppendedToAndBeginsAnewAtItsLimit) {
  const Output output{
      .toStderr = false, .file = folder_ + "/all", .fileLimitMegabytes = 1, .plain = true};
  logThrough(output);
  logThrough(output);
  EXPECT_EQ(file("all"), "a message\na warning\nan error\na message\na warning\nan error\n");
  for (int i = 0; i < 11; ++i) info("{}", std::string(100'000, 'x'));
  EXPECT_THAT(file("all"), Not(HasSubstr("a message")));
  EXPECT_THAT(file("all").size(), 100'001u);
}

TEST_F(LogOutputTest, AFileThatCannotBeWrittenIsAnErrorThatNamesIt) {
  const auto done =
      setup(Options{.program = "prog"}, Output{.toStderr = false, .file = folder_ + "/no/where"});
  EXPECT_THAT(done.error().message, HasSubstr(folder_ + "/no/where"));
}

}  // namespace
}  // namespace koord::log
