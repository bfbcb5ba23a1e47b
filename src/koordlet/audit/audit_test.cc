#include <fmt/core.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/virtual_loop.h"
#include "koordlet/audit/event_query.h"
#include "koordlet/testing/temp_tree.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class AuditTest : public testing::Test {
 protected:
  AuditTest() {
    options_.enabled = true;
    options_.folder = tree_.path("events");
  }
  EventLog& log() {
    if (!log_) log_.emplace(options_);
    return *log_;
  }
  EventQueries& queries() {
    if (!queries_) queries_.emplace(loop_, log(), Random(1));
    return *queries_;
  }
  AuditEntry entry(int number, const std::string& reason = "UpdateCgroups") {
    return {
        loop_.wallNow(), "kubepods/besteffort", "cpu.max", "1", fmt::format("number {}", number),
        reason};
  }
  void add(int count) {
    for (int i = 0; i < count; ++i) log().add(entry(added_++));
    log().flush(loop_.wallNow());
  }
  std::string text(const std::string& name) { return tree_.read("events/" + name); }

  TempTree tree_;
  VirtualLoop loop_;
  AuditOptions options_;
  std::optional<EventLog> log_;
  std::optional<EventQueries> queries_;
  int added_ = 0;
};

TEST_F(AuditTest, AnEventSaysWhatWasDoneToWhomAndWhy) {
  const auto group = *parseJson(eventText(entry(7)));
  EXPECT_EQ(textAt(group, "type"), "group");
  EXPECT_EQ(textAt(group, "name"), "kubepods/besteffort");
  EXPECT_EQ(textAt(group, "reason"), "UpdateCgroups");
  EXPECT_EQ(textAt(group, "message"), "update kubepods/besteffort/cpu.max to number 7 (was 1)");
  const auto pod =
      *parseJson(eventText({loop_.wallNow(), "d/p", "pod", "", "evicted", "memory at 78%"}));
  EXPECT_EQ(textAt(pod, "type"), "pod");
  EXPECT_EQ(textAt(pod, "namespace"), "d");
  EXPECT_EQ(textAt(pod, "name"), "p");
  EXPECT_EQ(textAt(pod, "reason"), "evicted");
  EXPECT_EQ(pod.at("level"), 0);
}

TEST_F(AuditTest, WhatIsTooDetailedIsLeftOut) {
  options_.verbosity = 1;
  log().add(entry(1));
  log().add(entry(2, "AdjustBEByNodeCPUUsage"));
  log().flush(loop_.wallNow());
  EXPECT_THAT(text("audit.log"), testing::Not(HasSubstr("number 1")));
  EXPECT_THAT(text("audit.log"), HasSubstr("number 2"));
}

TEST_F(AuditTest, PagesGoFromTheNewestEventToTheOldest) {
  add(300);
  const auto first = queries().page("", "");
  ASSERT_THAT(first.events, SizeIs(256));
  EXPECT_THAT(first.events.front(), HasSubstr("number 299"));
  const auto second = queries().page("", first.nextToken);
  ASSERT_THAT(second.events, SizeIs(44));
  EXPECT_THAT(second.events.back(), HasSubstr("number 0"));
  EXPECT_EQ(second.nextToken, "");
  EXPECT_EQ(queries().page("", first.nextToken).status, 409);
}

TEST_F(AuditTest, SizesOutOfBoundsAreRefused) {
  add(1);
  EXPECT_EQ(queries().page("4096", "").status, 400);
  EXPECT_EQ(queries().page("-1", "").status, 400);
  EXPECT_EQ(queries().page("0", "").status, 400);
  EXPECT_THAT(queries().page("many", "").events, SizeIs(1));
  EXPECT_EQ(queries().page("", "nobody").status, 409);
}

TEST_F(AuditTest, OfTooManyQueriesTheOldestEnds) {
  add(10);
  std::vector<std::string> tokens;
  for (int i = 0; i < 5; ++i) tokens.push_back(queries().page("2", "").nextToken);
  EXPECT_EQ(queries().page("2", tokens[0]).status, 409);
  EXPECT_EQ(queries().page("2", tokens[1]).status, 200);
  loop_.advance(11min);
  EXPECT_EQ(queries().page("2", tokens[1]).status, 409);
}

TEST_F(AuditTest, FilesAreTurnedAndTheOldestGo) {
  options_.maxMegabytes = 6;
  for (int i = 0; i < 5; ++i) {
    add(12'000);  // more than 2 MiB
    loop_.advance(1s);
  }
  add(1);
  ASSERT_THAT(log().files(), SizeIs(3));
  std::uintmax_t bytes = 0;
  for (const auto& file : log().files()) bytes += std::filesystem::file_size(file);
  EXPECT_LE(bytes, std::uintmax_t{6} << 20);
  EXPECT_THAT(queries().page("1", "").events.front(), HasSubstr("number 60000"));
}

TEST_F(AuditTest, AQueryGoesOnWhereItWasThoughFilesAreTurned) {
  add(9'000);
  auto page = queries().page("2000", "");
  add(9'000);
  std::size_t seen = page.events.size();
  while (!page.nextToken.empty()) {
    page = queries().page("2000", page.nextToken);
    seen += page.events.size();
  }
  EXPECT_EQ(seen, 9'000u);
}

TEST_F(AuditTest, LinesThatAreNoEventsArePassedOver) {
  add(2);
  {
    std::ofstream file(tree_.path("events/audit.log"), std::ios::app);
    file << "{\"half\":\n\n\0garbage\n[]\n" << std::string(3 << 20, 'x') << "\n";
  }
  log().add(entry(99));
  const auto page = queries().page("", "");
  ASSERT_THAT(page.events, SizeIs(3));
  EXPECT_THAT(page.events.front(), HasSubstr("number 99"));
}

TEST_F(AuditTest, ARestartGoesOnInTheSameFile) {
  add(2);
  log_.reset();
  add(1);
  EXPECT_THAT(queries().page("", "").events, SizeIs(3));
}

TEST_F(AuditTest, AFolderThatCannotBeWrittenIsSaidAndTriedAgain) {
  tree_.write("events", "a file");
  add(1);
  EXPECT_THAT(log().problem(), HasSubstr("events"));
  ASSERT_EQ(std::remove(tree_.path("events").c_str()), 0);
  add(1);
  EXPECT_EQ(log().problem(), "");
  EXPECT_THAT(queries().page("", "").events, SizeIs(2));
}

TEST_F(AuditTest, SwitchedOffThereIsNothing) {
  options_.enabled = false;
  add(3);
  EXPECT_THAT(queries().page("", "").events, IsEmpty());
  EXPECT_THAT(log().files(), IsEmpty());
}

}  // namespace
}  // namespace koord::koordlet
