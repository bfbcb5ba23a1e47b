#include "koordlet/metriccache/history_file.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "koordlet/testing/temp_tree.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

class HistoryFile : public testing::Test {
 protected:
  HistoryFile() {
    for (int i = 0; i < 1200; ++i) {
      before_.append(Metric::NodeCpu, "", start_ + i * 1s, i);
      before_.append(Metric::SystemMemory, "", start_ + i * 1s, 2 * i);
      before_.append(Metric::PodCpu, "p", start_ + i * 1s, 1);
    }
    EXPECT_TRUE(saveHistory(before_, path_));
  }

  const WallTime start_{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
  TempTree tree_;
  std::string path_ = tree_.path("history");
  MetricCache before_{1s, {}};
  MetricCache after_{1s, {}};
};

TEST_F(HistoryFile, ARestartKnowsTheNodesPastAndGoesOn) {
  const WallTime now = start_ + 1210s;
  ASSERT_TRUE(loadHistory(after_, path_, now));
  after_.append(Metric::NodeCpu, "", now, 7);
  const auto window = after_.aggregates(Metric::NodeCpu, "", now - 30min, now);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->aggregates.count, 1201U);
  EXPECT_EQ(window->span, 1210s);
  EXPECT_EQ(window->aggregates.last, 7);
  EXPECT_EQ(after_.last(Metric::SystemMemory, "", start_, now), 2 * 1199.0);
  EXPECT_EQ(after_.last(Metric::PodCpu, "p", start_, now), std::nullopt);
}

TEST_F(HistoryFile, WhatIsTooOldOrInTheFutureIsLeftOut) {
  ASSERT_TRUE(loadHistory(after_, path_, start_ + 100s));
  EXPECT_EQ(after_.last(Metric::NodeCpu, "", start_, start_ + 1h), 100);
  MetricCache late{1s, {}};
  ASSERT_TRUE(loadHistory(late, path_, start_ + 24h));
  EXPECT_EQ(late.seriesCount(), 0U);
}

TEST_F(HistoryFile, ADamagedOrShortFileLoadsNothing) {
  const std::string good = *readFile(path_);
  for (const std::string& bad :
       {good.substr(0, good.size() / 2), std::string("koordlet"), std::string(), [&] {
          std::string flipped = good;
          flipped[500] ^= 1;
          return flipped;
        }()}) {
    tree_.write("history", bad);
    EXPECT_FALSE(loadHistory(after_, path_, start_ + 1h));
    EXPECT_EQ(after_.seriesCount(), 0U);
  }
  tree_.remove("history");
  EXPECT_EQ(loadHistory(after_, path_, start_).error().code, ErrorCode::NotFound);
}

TEST_F(HistoryFile, ADirectoryThatIsMissingIsAnErrorThatNamesIt) {
  const auto saved = saveHistory(before_, tree_.path("no/such/dir/history"));
  ASSERT_FALSE(saved);
  EXPECT_THAT(saved.error().message, testing::HasSubstr("no/such/dir"));
}

}  // namespace
}  // namespace koord::koordlet
