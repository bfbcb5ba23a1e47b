#include "console/feed/change_log.h"

#include <gtest/gtest.h>

namespace koord::console {

namespace {

Row logRow(const std::string& key, const std::string& columns) {
  return {key, columns, {}, {}};
}

std::vector<std::string> keysOf(const ChangeLog::Changes& changes) {
  std::vector<std::string> keys;
  for (const Row* row : changes.rows) keys.push_back(row->key);
  return keys;
}

using Keys = std::vector<std::string>;

}  // namespace

TEST(ChangeLogTest, ANewReaderGetsAllRowsInPieces) {
  ChangeLog log;
  for (const auto* key : {"a", "b", "c"}) log.put(logRow(key, "[1]"));
  const auto first = log.after(0, 2);
  EXPECT_TRUE(first.reset);
  EXPECT_TRUE(first.more);
  EXPECT_EQ(keysOf(first), (Keys{"a", "b"}));
  const auto second = log.after(first.upTo, 2);
  EXPECT_FALSE(second.reset);
  EXPECT_FALSE(second.more);
  EXPECT_EQ(keysOf(second), Keys{"c"});
}

TEST(ChangeLogTest, SeveralChangesOfARowAreOne) {
  ChangeLog log;
  log.put(logRow("a", "[1]"));
  log.put(logRow("b", "[1]"));
  const auto read = log.latest();
  log.put(logRow("a", "[2]"));
  log.put(logRow("a", "[3]"));
  const auto changes = log.after(read, 10);
  ASSERT_EQ(keysOf(changes), Keys{"a"});
  EXPECT_EQ(changes.rows[0]->columns, "[3]");
}

TEST(ChangeLogTest, AnEqualRowIsNotAChange) {
  ChangeLog log;
  EXPECT_TRUE(log.put(logRow("a", "[1]")));
  const auto read = log.latest();
  EXPECT_FALSE(log.put(logRow("a", "[1]")));
  EXPECT_EQ(log.latest(), read);
}

TEST(ChangeLogTest, AReaderIsNotifiedOfDeletionsThatItHasMissed) {
  ChangeLog log;
  log.put(logRow("a", "[1]"));
  log.put(logRow("b", "[1]"));
  const auto read = log.latest();
  EXPECT_TRUE(log.erase("a"));
  EXPECT_FALSE(log.erase("a"));
  EXPECT_FALSE(log.erase("unknown"));
  const auto changes = log.after(read, 10);
  EXPECT_EQ(changes.gone, std::vector<std::string_view>{"a"});
  EXPECT_EQ(log.size(), 1u);
  EXPECT_EQ(log.keys(), Keys{"b"});
}

TEST(ChangeLogTest, ARecreatedRowIsNotGone) {
  ChangeLog log;
  log.put(logRow("a", "[1]"));
  const auto read = log.latest();
  log.erase("a");
  log.put(logRow("a", "[1]"));
  const auto changes = log.after(read, 10);
  EXPECT_TRUE(changes.gone.empty());
  EXPECT_EQ(keysOf(changes), Keys{"a"});
}

TEST(ChangeLogTest, AReaderFromBeforeForgottenDeletionsStartsAgain) {
  ChangeLog log;
  log.put(logRow("stays", "[1]"));
  const auto read = log.latest();
  for (int i = 0; i < 30'000; ++i) {
    const std::string key = "pod-" + std::to_string(i);
    log.put(logRow(key, "[1]"));
    log.erase(key);
  }
  const auto changes = log.after(read, 100'000);
  EXPECT_TRUE(changes.reset);
  EXPECT_EQ(keysOf(changes), Keys{"stays"});
  EXPECT_TRUE(changes.gone.empty());
}

TEST(ChangeLogTest, ANumberOfAnotherProcessStartsAgain) {
  ChangeLog log;
  log.put(logRow("a", "[1]"));
  EXPECT_TRUE(log.after(77, 10).reset);
}

}  // namespace koord::console
