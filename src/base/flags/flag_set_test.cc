#include "base/flags/flag_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace koord::flags {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

// One flag of each type, and how a line of arguments leaves them.
struct Line {
  explicit Line(Dialect dialect = Dialect::Pflag) : set(dialect) {
    set.text("name", name, "A name");
    set.boolean("fast", fast, "Be fast").shortName('f');
    set.boolean("dry", dry, "Do nothing").shortName('d');
    set.integer("v", verbosity, "Verbosity").shortName('v');
    set.integer("port", port, "A port").within(0, 65535);
    set.real("qps", qps, "Requests per second");
    set.duration("wait", wait, "A pause");
    set.seconds("every-seconds", every, "A pause");
    set.list("paths", paths, "Some paths");
    set.map("labels", labels, "Some labels");
    set.text("format", format, "A format").oneOf({"text", "json"});
    set.unused("old-limit", "int", "3");
  }
  Result<> parse(std::vector<std::string> arguments) { return set.parse(arguments); }
  std::string error(std::vector<std::string> arguments) {
    const auto parsed = set.parse(arguments);
    return parsed ? "" : parsed.error().message;
  }

  std::string name = "anna";
  bool fast = false;
  bool dry = false;
  int verbosity = 0;
  int port = 80;
  double qps = 5;
  Duration wait = 10s;
  Duration every = 1s;
  std::vector<std::string> paths{"/healthz"};
  std::map<std::string, std::string> labels{{"a", "1"}};
  std::string format = "text";
  FlagSet set;
};

TEST(FlagSetTest, ValuesStandBehindAnEqualsSignOrInTheNextArgument) {
  Line line;
  ASSERT_TRUE(line.parse({"--name=bert", "--port", "0x50", "--qps=1e3", "--wait", "1m30s",
                          "--every-seconds=5", "--format=json"}));
  EXPECT_EQ(line.name, "bert");
  EXPECT_EQ(line.port, 80);
  EXPECT_EQ(line.qps, 1000);
  EXPECT_EQ(line.wait, 90s);
  EXPECT_EQ(line.every, 5s);
  EXPECT_EQ(line.format, "json");
  EXPECT_TRUE(line.set.given("port"));
  EXPECT_FALSE(line.set.given("labels"));
}

TEST(FlagSetTest, AnEmptyValueIsAValueAndTheNextArgumentStaysWhatItIs) {
  Line line;
  ASSERT_TRUE(line.parse({"--name=", "--port=1"}));
  EXPECT_EQ(line.name, "");
  EXPECT_EQ(line.port, 1);
}

TEST(FlagSetTest, BoolsNeverTakeTheNextArgument) {
  Line line;
  ASSERT_TRUE(line.parse({"--fast", "false", "--dry=T"}));
  EXPECT_TRUE(line.fast);
  EXPECT_TRUE(line.dry);
  EXPECT_THAT(line.set.arguments(), ElementsAre("false"));
  for (const char* no : {"0", "f", "F", "false", "FALSE", "False"}) {
    Line other;
    other.fast = true;
    ASSERT_TRUE(other.parse({std::string("--fast=") + no})) << no;
    EXPECT_FALSE(other.fast) << no;
  }
  EXPECT_EQ(Line().error({"--fast=yes"}),
            "invalid argument \"yes\" for \"-f, --fast\" flag: strconv.ParseBool: parsing \"yes\": "
            "invalid syntax");
}

TEST(FlagSetTest, ShorthandsTakeTheirValueInEveryWay) {
  for (const auto& arguments : {std::vector<std::string>{"-v=4"},
                                {"-v4"},
                                {"-v", "4"},
                                {"--v=4"},
                                {"--v", "4"},
                                {"-fdv4"}}) {
    Line line;
    ASSERT_TRUE(line.parse(arguments)) << arguments[0];
    EXPECT_EQ(line.verbosity, 4) << arguments[0];
  }
  Line line;
  ASSERT_TRUE(line.parse({"-fd=false"}));
  EXPECT_TRUE(line.fast);
  EXPECT_FALSE(line.dry);
}

TEST(FlagSetTest, OfScalarsTheLastCountsAndListsAndMapsGrow) {
  Line line;
  ASSERT_TRUE(line.parse({"--port=1", "--port=2", "--paths=/a,/b", "--paths=\"/c,d\"",
                          "--labels=x=1, y=2", "--labels=y=3", "--fast", "--fast=false"}));
  EXPECT_EQ(line.port, 2);
  EXPECT_THAT(line.paths, ElementsAre("/a", "/b", "/c,d"));
  EXPECT_EQ(line.labels, (std::map<std::string, std::string>{{"x", "1"}, {"y", "3"}}));
  EXPECT_FALSE(line.fast);
  Line empty;
  ASSERT_TRUE(empty.parse({"--paths=", "--labels="}));
  EXPECT_THAT(empty.paths, IsEmpty());
  EXPECT_THAT(empty.labels, IsEmpty());
}

TEST(FlagSetTest, UnderscoresAreDashesAndTwoDashesEndTheFlags) {
  Line line;
  ASSERT_TRUE(line.parse({"a", "--every_seconds=7", "-", "", "--", "--nope", "-x"}));
  EXPECT_EQ(line.every, 7s);
  EXPECT_THAT(line.set.arguments(), ElementsAre("a", "-", "", "--nope", "-x"));
}

TEST(FlagSetTest, WhatIsWrongIsSaidInPflagsWords) {
  struct Row {
    std::vector<std::string> arguments;
    const char* error;
  };
  const Row rows[] = {
      {{"--nope=1"}, "unknown flag: --nope"},
      {{"-x"}, "unknown shorthand flag: 'x' in -x"},
      {{"-fxd"}, "unknown shorthand flag: 'x' in -xd"},
      {{"-name=x"}, "unknown shorthand flag: 'n' in -name=x"},
      {{"--name"}, "flag needs an argument: --name"},
      {{"-v"}, "flag needs an argument: 'v' in -v"},
      {{"--=x"}, "bad flag syntax: --=x"},
      {{"---name=x"}, "bad flag syntax: ---name=x"},
      {{"--port=x"},
       "invalid argument \"x\" for \"--port\" flag: strconv.ParseInt: parsing \"x\": invalid "
       "syntax"},
      {{"--port="},
       "invalid argument \"\" for \"--port\" flag: strconv.ParseInt: parsing \"\": invalid syntax"},
      {{"-v", "99999999999"},
       "invalid argument \"99999999999\" for \"-v, --v\" flag: strconv.ParseInt: parsing "
       "\"99999999999\": value out of range"},
      {{"--port=65536"}, "invalid argument \"65536\" for \"--port\" flag: must be from 0 to 65535"},
      {{"--wait=5"},
       "invalid argument \"5\" for \"--wait\" flag: time: invalid duration \"5\": must be like "
       "1h30m, 1.5s or 250ms, with the unit"},
      {{"--labels=x"},
       "invalid argument \"x\" for \"--labels\" flag: malformed pair, expect string=string: \"x\""},
      {{"--format=xml"},
       "invalid argument \"xml\" for \"--format\" flag: must be one of: text, json"},
      {{"--old-limit=many"},
       "invalid argument \"many\" for \"--old-limit\" flag: strconv.ParseInt: parsing \"many\": "
       "invalid syntax"},
  };
  for (const Row& row : rows) EXPECT_EQ(Line().error(row.arguments), row.error);
}

TEST(FlagSetTest, ProgramsOfGosFlagPackageTakeLongNamesWithOneDash) {
  for (const Dialect dialect : {Dialect::PflagGoNames, Dialect::Go}) {
    Line line(dialect);
    ASSERT_TRUE(line.parse({"-name=bert", "-port", "7", "--fast", "-v=4", "-dry=false"}));
    EXPECT_EQ(line.name, "bert");
    EXPECT_EQ(line.port, 7);
    EXPECT_TRUE(line.fast);
    EXPECT_EQ(line.verbosity, 4);
    EXPECT_TRUE(Line(dialect).parse({"-v4"}));
  }
  EXPECT_EQ(Line(Dialect::Go).error({"-nope"}), "flag provided but not defined: -nope");
  EXPECT_EQ(Line(Dialect::PflagGoNames).error({"--nope"}), "unknown flag: --nope");
}

TEST(FlagSetTest, InGosFlagPackageTheFirstArgumentEndsTheFlags) {
  Line line(Dialect::Go);
  ASSERT_TRUE(line.parse({"-fast", "false", "-port=7"}));
  EXPECT_TRUE(line.fast);
  EXPECT_EQ(line.port, 80);
  EXPECT_THAT(line.set.arguments(), ElementsAre("false", "-port=7"));
}

TEST(FlagSetTest, FlagsWithoutEffectAreToldWhenTheyAreGiven) {
  Line line;
  ASSERT_TRUE(line.parse({"--old_limit=0b11", "--port=1"}));
  EXPECT_THAT(line.set.flagsWithoutEffect(), ElementsAre("--old-limit"));
  const auto values = line.set.values();
  EXPECT_EQ(values.front(), (std::pair<std::string, std::string>{"name", "anna"}));
  EXPECT_EQ(values.back(), (std::pair<std::string, std::string>{"old-limit", "0b11"}));
}

TEST(FlagSetTest, HelpHasEveryFlagWithTypeAndDefault) {
  Line line;
  for (const auto& argument : {"--help", "-h", "-fh"}) {
    Line asked;
    ASSERT_TRUE(asked.parse({argument, "--nope"})) << argument;
    EXPECT_TRUE(asked.set.helpWanted()) << argument;
  }
  const std::string help = describe(line.set);
  EXPECT_THAT(help, HasSubstr("      --name string               A name (default \"anna\")\n"));
  EXPECT_THAT(help, HasSubstr("  -f, --fast                      Be fast\n"));
  EXPECT_THAT(help, HasSubstr("--wait duration             A pause (default 10s)\n"));
  EXPECT_THAT(help, HasSubstr("without effect in this version:\n      --old-limit int"));
}

}  // namespace
}  // namespace koord::flags
