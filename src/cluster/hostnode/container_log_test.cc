#include "cluster/hostnode/container_log.h"

#include <gtest/gtest.h>

#include <map>

#include "base/time.h"

namespace koord::cluster {
namespace {

using namespace std::chrono_literals;

constexpr const char* kLog =
    "2026-01-02T03:04:05.123456789+00:00 stdout F hello\n"
    "2026-01-02T03:04:06.000000001Z stderr P a long \n"
    "2026-01-02T03:04:06.000000002Z stderr F line\n"
    "2026-01-02T03:04:07.000000000Z stdout F bye\n";

TEST(ContainerLogTest, WhatIsAskedForIsSelected) {
  LogOptions last;
  last.tailLines = 1;
  LogOptions short_;
  short_.limitBytes = 7;
  LogOptions since;
  since.since = *parseTime("2026-01-02T03:04:06Z");
  LogOptions timed;
  timed.timestamps = true;
  timed.tailLines = 3;
  LogOptions all;
  LogOptions none;
  none.tailLines = 0;
  const struct {
    const char* log;
    LogOptions options;
    const char* text;
  } cases[] = {
      {kLog, all, "hello\na long line\nbye\n"},
      {kLog, last, "bye\n"},
      {kLog, none, ""},
      {kLog, short_, "hello\na"},
      {kLog, since, "a long line\nbye\n"},
      {kLog, timed,
       "2026-01-02T03:04:06.000000001Z a long line\n2026-01-02T03:04:07.000000000Z bye\n"},
      {"hello\nworld\n", all, "hello\nworld\n"},
      {"hello\nworld", last, "world"},
      {"one\n", last, "one\n"},
      {"x stdout F y\n", timed, "x stdout F y\n"},
      {"", last, ""},
  };
  for (const auto& c : cases) EXPECT_EQ(selectLog(c.log, c.options), c.text) << c.log;
}

TEST(ContainerLogTest, ParametersAreRead) {
  const WallTime now = *parseTime("2026-01-02T03:04:05Z");
  const auto read = [&](std::map<std::string, std::string, std::less<>> query) {
    return readLogOptions(
        [&](std::string_view name) {
          const auto it = query.find(name);
          return it == query.end() ? std::string() : it->second;
        },
        now);
  };
  const auto options = read({{"previous", "true"},
                             {"timestamps", "1"},
                             {"tailLines", "5"},
                             {"limitBytes", "100"},
                             {"sinceSeconds", "60"}});
  ASSERT_TRUE(options);
  EXPECT_TRUE(options->previous);
  EXPECT_TRUE(options->timestamps);
  EXPECT_FALSE(options->follow);
  EXPECT_EQ(options->tailLines, 5);
  EXPECT_EQ(options->limitBytes, 100);
  EXPECT_EQ(options->since, now - 60s);
  EXPECT_EQ(read({{"sinceTime", "2026-01-01T00:00:00Z"}})->since,
            *parseTime("2026-01-01T00:00:00Z"));
  for (const auto& [name, value] : std::map<std::string, std::string>{{"tailLines", "-1"},
                                                                      {"limitBytes", "0"},
                                                                      {"sinceSeconds", "soon"},
                                                                      {"sinceTime", "x"}}) {
    const auto bad = read({{name, value}});
    ASSERT_FALSE(bad) << name;
    EXPECT_TRUE(bad.error().message.starts_with(name + ": ")) << bad.error().message;
  }
}

TEST(ContainerLogTest, WhatAContainerWritesIsKeptInLines) {
  const WallTime now = *parseTime("2026-01-02T03:04:05Z") + 42ns;
  LogLines lines("stdout");
  EXPECT_EQ(lines.add("hel", now), "");
  EXPECT_EQ(lines.add("lo\n\nwo", now),
            "2026-01-02T03:04:05.000000042Z stdout F hello\n"
            "2026-01-02T03:04:05.000000042Z stdout F \n");
  EXPECT_EQ(lines.finish(now), "2026-01-02T03:04:05.000000042Z stdout F wo\n");
  EXPECT_EQ(lines.finish(now), "");
  const std::string text = std::string(40'000, 'x') + "\ny\n";
  EXPECT_EQ(selectLog(lines.add(text, now), {}), text);
  EXPECT_EQ(wholeLines("a\nb"), 2u);
  EXPECT_EQ(wholeLines("ab"), 0u);
}

}  // namespace
}  // namespace koord::cluster
