#include "base/flags/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace koord::flags {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Program {
  Program() {
    Command& up = commands.add("up", "Runs a cluster");
    up.flags.integer("nodes", nodes, "Simulated nodes");
    up.details = "It ends with Ctrl-C.";
    up.run = [this](const auto&) { return nodes; };
    Command& explain = commands.add("explain pod", "Says why");
    explain.arguments = "POD";
    explain.run = [this](const auto& given) {
      arguments = given;
      return 0;
    };
  }
  int run(std::vector<std::string> given) {
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int status = commands.run(given);
    out = ::testing::internal::GetCapturedStdout();
    err = ::testing::internal::GetCapturedStderr();
    return status;
  }

  int nodes = 1;
  std::vector<std::string> arguments;
  std::string out, err;
  Commands commands{"prog", "Does things"};
};

TEST(CommandsTest, ACommandRunsWithItsFlagsAndArguments) {
  Program program;
  EXPECT_EQ(program.run({"up", "--nodes=7"}), 7);
  EXPECT_EQ(program.run({"explain", "pod", "a/b"}), 0);
  EXPECT_THAT(program.arguments, ElementsAre("a/b"));
}

TEST(CommandsTest, ACommandMayBeginWithTheNameOfAnother) {
  Program program;
  std::vector<std::string> ran;
  for (const char* name : {"doctor", "doctor node"})
    program.commands.add(name, "Looks").run = [&ran, name](const auto&) {
      ran.emplace_back(name);
      return 0;
    };
  EXPECT_EQ(program.run({"doctor", "node"}), 0);
  EXPECT_EQ(program.run({"doctor"}), 0);
  EXPECT_THAT(ran, ElementsAre("doctor node", "doctor"));
  EXPECT_EQ(program.run({"doctor", "nobody"}), 2);
}

TEST(CommandsTest, HelpIsOfTheProgramOfAGroupAndOfACommand) {
  Program program;
  EXPECT_EQ(program.run({"--help"}), 0);
  EXPECT_THAT(program.out,
              AllOf(HasSubstr("Does things"), HasSubstr("  up            Runs a cluster"),
                    HasSubstr("  explain pod   Says why")));
  EXPECT_EQ(program.run({"explain", "-h"}), 0);
  EXPECT_THAT(program.out, AllOf(HasSubstr("explain pod"), ::testing::Not(HasSubstr("Runs"))));
  EXPECT_EQ(program.run({"up", "--help"}), 0);
  EXPECT_THAT(program.out,
              AllOf(HasSubstr("prog up [FLAGS]"), HasSubstr("--nodes int"), HasSubstr("Ctrl-C")));
}

TEST(CommandsTest, WhatIsWrongIsSaidWithWhereToLook) {
  struct Row {
    std::vector<std::string> arguments;
    const char* said;
  };
  for (const Row& row : {
           Row{{}, "Error: which command?\nSee 'prog --help' for usage.\n"},
           {{"down"}, "Error: unknown command \"down\"\n"},
           {{"--nodes"}, "Error: unknown flag: --nodes\n"},
           {{"explain"}, "Error: which command?\nSee 'prog explain --help' for usage.\n"},
           {{"explain", "node"}, "Error: unknown command \"node\"\nSee 'prog explain --help'"},
           {{"up", "--node"},
            "Error: unknown flag: --node; did you mean --nodes?\nSee 'prog up --help' for "
            "usage.\n"},
           {{"up", "--wrong"}, "Error: unknown flag: --wrong\nSee 'prog up --help' for usage.\n"},
           {{"explan"}, "Error: unknown command \"explan\"; did you mean \"explain\"?\n"},
           {{"explain", "pdo"}, "Error: unknown command \"pdo\"; did you mean \"pod\"?\n"},
           {{"up", "now"}, "Error: prog up does not take arguments, got [now]\n"},
       }) {
    Program program;
    EXPECT_EQ(program.run(row.arguments), 2);
    EXPECT_THAT(program.err, HasSubstr(row.said));
    EXPECT_EQ(program.out, "");
  }
}

}  // namespace
}  // namespace koord::flags
