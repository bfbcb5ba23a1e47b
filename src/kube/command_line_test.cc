#include "kube/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace koord::kube {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A program with one flag of its own, a flag without effect, and gates.
struct Program {
  explicit Program(CommandLine::Rules rules = {}) : line(rules, options, "Does things") {
    options.name = "prog";
    options.version = "v1.2.3";
    line.flags().integer("port", port, "A port");
    line.flags().unused("sync-period", "string", "");
    line.featureGates(gates, "kube");
  }
  // What it printed on both streams.
  std::string run(const std::vector<std::string>& arguments) {
    ::testing::internal::CaptureStderr();
    ::testing::internal::CaptureStdout();
    status = line.parse(arguments);
    out = ::testing::internal::GetCapturedStdout();
    return out + ::testing::internal::GetCapturedStderr();
  }

  ComponentOptions options;
  int port = 1;
  flags::FeatureGates gates{{{"Here", "ALPHA", false, true}, {"Gone", "ALPHA", false, false}}};
  CommandLine line;
  std::optional<int> status;
  std::string out;
};

TEST(CommandLineTest, KlogsFlagsAreTakenWithDashesAndUnderscores) {
  Program program;
  EXPECT_EQ(program.run({"--logtostderr=false", "--alsologtostderr", "--stderrthreshold=warning",
                         "--log_dir=/var/log", "--log-file=x.log", "--log_file_max_size=7",
                         "--skip_headers", "--one_output", "-v4", "--logging-format=json"}),
            "");
  EXPECT_FALSE(program.status);
  const log::Output& output = program.options.logOutput;
  EXPECT_FALSE(output.toStderr);
  EXPECT_TRUE(output.alsoToStderr);
  EXPECT_EQ(output.stderrThreshold, 1);
  EXPECT_FALSE(output.thresholdAlways);
  EXPECT_EQ(output.folder, "/var/log");
  EXPECT_EQ(output.file, "x.log");
  EXPECT_EQ(output.fileLimitMegabytes, 7u);
  EXPECT_TRUE(output.plain);
  EXPECT_TRUE(output.ownSeverityOnly);
  EXPECT_EQ(program.options.verbosity, 4);
  EXPECT_EQ(program.options.logFormat, "json");
  EXPECT_THAT(program.options.notes, IsEmpty());
}

TEST(CommandLineTest, UpstreamsPresetOfTheThresholdCanBeTurnedBack) {
  Program program({.thresholdAlways = true});
  program.run({});
  EXPECT_TRUE(program.options.logOutput.thresholdAlways);
  EXPECT_EQ(program.options.logOutput.stderrThreshold, 0);
  Program turned({.thresholdAlways = true});
  turned.run({"--legacy_stderr_threshold_behavior", "--stderrthreshold=2"});
  EXPECT_FALSE(turned.options.logOutput.thresholdAlways);
  EXPECT_EQ(turned.options.logOutput.stderrThreshold, 2);
}

TEST(CommandLineTest, FlagsAndGatesThatChangeNothingAreNoted) {
  Program program;
  EXPECT_EQ(program.run({"--sync-period=0", "--vmodule=a*=3,b=1", "--log_backtrace_at=x.go:7",
                         "--skip_log_headers", "--feature-gates=Gone=true, kube:Here = t",
                         "--feature-gates="}),
            "");
  EXPECT_TRUE(program.gates.enabled("Here"));
  EXPECT_THAT(program.options.notes,
              ElementsAre("flags without effect in this version: --sync-period, --vmodule, "
                          "--skip-log-headers, --log-backtrace-at",
                          "feature gates without effect in this version: Gone=true"));
}

TEST(CommandLineTest, WhatIsWrongEndsTheProgramWithItsStatus) {
  struct Row {
    const char* argument;
    const char* said;
  };
  for (const Row& row : {
           Row{"--nope", "Error: unknown flag: --nope\nSee 'prog --help' for usage.\n"},
           {"--vmodule=a", "syntax error: expect comma-separated list of filename=N"},
           {"--vmodule=a=-1", "syntax error: expect comma-separated list of filename=N"},
           {"--log_backtrace_at=x", "syntax error: expect file.go:234"},
           {"--stderrthreshold=LOUD", "must be INFO, WARNING, ERROR or FATAL"},
           {"--stderrthreshold=4", "must be INFO, WARNING, ERROR or FATAL"},
           {"--logging-format=xml", "must be one of: text, json"},
           {"--log-flush-frequency=5", "invalid duration"},
           {"--feature-gates=Nope=true", "unrecognized feature gate: Nope"},
           {"--feature-gates=other:Here=true", "component not registered: other"},
           {"--version=maybe", "strconv.ParseBool"},
           {"more", "\"prog\" does not take any arguments, got [more]"},
       }) {
    for (const int status : {1, 2}) {
      Program program({.badUsage = status});
      EXPECT_THAT(program.run({row.argument}), HasSubstr(row.said)) << row.argument;
      EXPECT_EQ(program.status, status) << row.argument;
      EXPECT_EQ(program.out, "") << row.argument;
    }
  }
}

TEST(CommandLineTest, ArgumentsAreIgnoredWithAWarningWhereUpstreamIgnoresThem) {
  Program program({.takesArguments = true});
  EXPECT_EQ(program.run({"--alsologtostderr", "false", ""}), "");
  EXPECT_FALSE(program.status);
  EXPECT_THAT(program.options.notes,
              ElementsAre(HasSubstr("ignored arguments that are not flags: [false")));
}

TEST(CommandLineTest, HelpAndVersionGoToStandardOutput) {
  Program help;
  help.run({"--help", "--nope"});
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("Does things"), HasSubstr("prog [flags]"),
                              HasSubstr("--port int"), HasSubstr("Here=true|false (ALPHA"),
                              HasSubstr("without effect in this version:\n      --sync-period")));
  EXPECT_THAT(help.out, ::testing::Not(HasSubstr("Gone")));
  for (const auto& [argument, said] :
       {std::pair{"--version", "prog v1.2.3\n"}, std::pair{"--version=true", "prog v1.2.3\n"},
        std::pair{"--version=raw", "GitVersion:\"v1.2.3\""}}) {
    Program version;
    version.run({argument});
    EXPECT_EQ(version.status, 0);
    EXPECT_THAT(version.out, HasSubstr(said));
  }
  Program none;
  none.run({"--version=false"});
  EXPECT_FALSE(none.status);
}

}  // namespace
}  // namespace koord::kube
