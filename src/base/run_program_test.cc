#include "base/run_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace koord {
namespace {

using testing::HasSubstr;

constexpr std::chrono::milliseconds kGuard = std::chrono::seconds(60);

ProgramSpec scriptOf(std::string text) {
  return {.argv = {"sh", "-c", std::move(text)}, .limit = kGuard};
}

TEST(RunProgramTest, OutputIsCollectedAndTheStatusToldWithAndWithoutSignals) {
  const Interrupt interrupt;
  const auto run = [&](std::string text) {
    return runProgram(scriptOf(std::move(text)), interrupt).value();
  };
  const auto both = run("echo out; echo err >&2; exit 5");
  EXPECT_EQ(both.out, "out\n");
  EXPECT_EQ(both.err, "err\n");
  EXPECT_EQ(both.status, 5);
  EXPECT_EQ(run("kill -9 $$").status, 128 + 9);
  EXPECT_EQ(run("kill -9 $$").signal, 9);
  EXPECT_EQ(run("exit 137").signal, 0);
  EXPECT_EQ(run("cat").out, "");  // there is nothing on standard input
  EXPECT_EQ(run("head -c 900000 /dev/zero").out.size(), 900'000u);
  EXPECT_FALSE(run("true").killed);
}

TEST(RunProgramTest, WhatIsWrittenBeyondTheBoundEndsTheProgramOrIsDropped) {
  const Interrupt interrupt;
  ProgramSpec endless = scriptOf("cat /dev/zero");
  const auto killed = runProgram(endless, interrupt).value().killed;
  ASSERT_TRUE(killed);
  EXPECT_EQ(killed->code, ErrorCode::Invalid);
  EXPECT_THAT(killed->message, HasSubstr("its output is too large"));

  ProgramSpec much = scriptOf("head -c 900000 /dev/zero; echo last >&2; exit 4");
  much.maxOutput = 1000;
  much.dropsOutput = true;
  const auto ended = runProgram(much, interrupt).value();
  EXPECT_FALSE(ended.killed);
  EXPECT_EQ(ended.out.size(), 1000u);
  EXPECT_EQ(ended.err, "last\n");
  EXPECT_EQ(ended.status, 4);
}

TEST(RunProgramTest, AProgramThatTakesTooLongIsKilledWithItsChildren) {
  const Interrupt interrupt;
  for (const auto* text : {"echo begun; sleep 1000 & sleep 1000",
                           "echo begun; exec >&- 2>&-; sleep 1000",  // closed streams
                           "echo begun; sleep 1000 &"}) {
    ProgramSpec program = scriptOf(text);
    program.limit = std::chrono::milliseconds(300);
    const auto result = runProgram(program, interrupt);
    ASSERT_TRUE(result) << text;
    ASSERT_TRUE(result->killed) << text;
    EXPECT_EQ(result->killed->code, ErrorCode::Timeout) << text;
    EXPECT_EQ(result->out, "begun\n") << "what it said until then is kept";
  }
}

TEST(RunProgramTest, ItRunsInTheFolderGiven) {
  ProgramSpec program = scriptOf("pwd");
  program.folder = "/";
  EXPECT_EQ(runProgram(program, Interrupt()).value().out, "/\n");
}

}  // namespace
}  // namespace koord
