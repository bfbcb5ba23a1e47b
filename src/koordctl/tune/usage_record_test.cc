#include "koordctl/tune/usage_record.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/file.h"
#include "base/testing/test_folder.h"
#include "koordctl/tune/usage_writer.h"

namespace koord::koordctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kAll = [](const api::ObjectKey&) { return true; };

class UsageRecordTest : public ::testing::Test {
 protected:
  UsageRecordTest() { std::filesystem::remove(file_); }

  Result<UsageRecord> read(const std::string& text,
                           const std::function<bool(const api::ObjectKey&)>& wanted = kAll) {
    EXPECT_TRUE(writeFileAtomic(file_, text));
    return readUsage(file_, {wanted});
  }
  static std::string lines(std::initializer_list<const char*> rows) {
    std::string text = std::string(kUsageHeader) + "\n";
    for (const char* row : rows) text += std::string(row) + "\n";
    return text;
  }
  static api::NodeMetric metric(const std::string& node, std::int64_t time, std::int64_t milli) {
    api::NodeMetric metric;
    metric.metadata.name = node;
    metric.status.updateTime = WallTime(std::chrono::seconds(time));
    auto& pod = metric.status.podsMetric.emplace_back();
    pod.namespace_ = "shop";
    pod.name = "web";
    pod.podUsage.resources["cpu"] = Quantity::ofMilli(milli);
    pod.podUsage.resources["memory"] = Quantity::of(1 << 30);
    return metric;
  }

  const std::string file_ = ::testing::TempDir() + "/usage.csv";
};

TEST_F(UsageRecordTest, samples_of_all_pods_are_on_one_grid) {
  const auto record = read(lines({"1000,shop,web,500,1073741824", "1060,shop,web,700,1073741824",
                                  "1060,shop,db,1000,0", "1120,shop,web,900,1073741824"}));
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->every, 60);
  ASSERT_EQ(record->steps, 3U);
  const UsageSeries& web = record->pods.at({"shop", "web"});
  EXPECT_FLOAT_EQ(web.cores[0], 0.5F);
  EXPECT_FLOAT_EQ(web.cores[2], 0.9F);
  EXPECT_FLOAT_EQ(web.gib[1], 1);
  const UsageSeries& db = record->pods.at({"shop", "db"});
  EXPECT_TRUE(std::isnan(db.cores[0]));
  EXPECT_FLOAT_EQ(db.cores[1], 1);
  EXPECT_TRUE(std::isnan(db.cores[2]));
}

TEST_F(UsageRecordTest, a_short_gap_is_filled_and_a_long_one_is_absence) {
  std::string text =
      lines({"0,n,p,100,0", "60,n,p,200,0", "180,n,p,300,0", "240,n,p,300,0", "1200,n,p,400,0"});
  for (int time = 0; time <= 1200; time += 60) text += fmt::format("{},n,q,1,0\n", time);
  const auto record = read(text);
  ASSERT_TRUE(record) << record.error().message;
  const auto& cores = record->pods.at({"n", "p"}).cores;
  EXPECT_FLOAT_EQ(cores[2], 0.2F) << "the sample before";
  EXPECT_TRUE(std::isnan(cores[10]));
  EXPECT_FLOAT_EQ(cores[20], 0.4F);
}

TEST_F(UsageRecordTest, time_without_any_samples_is_cut_out) {
  const auto record = read(
      lines({"0,n,p,100,0", "60,n,p,200,0", "180,n,p,300,0", "240,n,p,300,0", "1200,n,p,400,0"}));
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_THAT(record->pods.at({"n", "p"}).cores, ElementsAre(0.1F, 0.2F, 0.2F, 0.3F, 0.3F, 0.4F));
}

TEST_F(UsageRecordTest, a_workload_has_the_mean_of_its_pods) {
  ASSERT_TRUE(
      writeFileAtomic(file_, lines({"0,n,web-5d4f8-bcdfg,100,0", "10,n,web-5d4f8-ghjkl,300,0",
                                    "60,n,web-5d4f8-bcdfg,500,0", "60,n,db-0,900,0"})));
  const PodWorkload web{{"n", "web"}, PodWorkload::Naming::Template};
  const auto record = readUsage(file_, {[](const auto&) { return false; },
                                        [&](const api::ObjectKey& pod) {
                                          return std::ranges::count(possibleWorkloads(pod), web)
                                                     ? std::optional(web)
                                                     : std::nullopt;
                                        }});
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_TRUE(record->pods.empty());
  EXPECT_THAT(record->workloads.at(web).cores, ElementsAre(0.2F, 0.5F));
}

TEST_F(UsageRecordTest, only_wanted_pods_are_kept) {
  const auto record = read(lines({"0,n,p,100,0", "0,n,q,100,0", "60,n,q,100,0"}),
                           [](const api::ObjectKey& pod) { return pod.name == "q"; });
  ASSERT_TRUE(record);
  EXPECT_EQ(record->pods.size(), 1U);
  const auto none = read(lines({"0,n,p,100,0"}), [](const auto&) { return false; });
  EXPECT_EQ(none.error().code, ErrorCode::NotFound);
}

TEST_F(UsageRecordTest, an_unfinished_last_line_is_ignored) {
  const auto record = read(lines({"0,n,p,100,0"}) + "60,n,p,2");
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->steps, 1U);
}

TEST_F(UsageRecordTest, errors_name_the_line_and_the_column) {
  struct Case {
    const char* row;
    const char* error;
  };
  for (const Case& each : std::initializer_list<Case>{
           {"x,n,p,1,1", ":2: time must"},
           {"-1,n,p,1,1", ":2: time must"},
           {"99999999999999999999,n,p,1,1", ":2: time must"},
           {"0,,p,1,1", ":2: namespace and pod"},
           {"0,n,p,1.5,1", ":2: cpu_milli"},
           {"0,n,p,-1,1", ":2: cpu_milli"},
           {"0,n,p,1,", ":2: memory_bytes"},
           {"0,n,p,1", ":2: memory_bytes"},
           {"0,n,p,1,1,1", ":2: memory_bytes"},
       }) {
    const auto record = read(lines({each.row}));
    ASSERT_FALSE(record) << each.row;
    EXPECT_THAT(record.error().message, HasSubstr(each.error));
  }
  EXPECT_THAT(read("a,b\n").error().message, HasSubstr("the first line must be"));
  EXPECT_THAT(read("").error().message, HasSubstr("empty"));
  EXPECT_THAT(readUsage("/nowhere/usage.csv", {kAll}).error().message, HasSubstr("cannot be read"));
}

TEST_F(UsageRecordTest, a_thousand_years_without_samples_cost_nothing) {
  const auto record = read(lines({"0,n,p,1,1", "1,n,p,1,1", "2,n,p,1,1", "32503679999,n,p,1,1"}));
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->every, 1);
  EXPECT_EQ(record->steps, 4U);
}

TEST_F(UsageRecordTest, what_is_written_is_read) {
  auto writer = UsageWriter::open(file_);
  ASSERT_TRUE(writer) << writer.error().message;
  EXPECT_TRUE(writer->add(metric("node-1", 600, 250)));
  EXPECT_TRUE(writer->add(metric("node-1", 600, 999))) << "the same report again";
  EXPECT_TRUE(writer->add(metric("node-1", 660, 350)));
  const auto record = readUsage(file_, {kAll});
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->steps, 2U);
  EXPECT_FLOAT_EQ(record->pods.at({"shop", "web"}).cores[0], 0.25F);
  EXPECT_FLOAT_EQ(record->pods.at({"shop", "web"}).cores[1], 0.35F);
}

TEST_F(UsageRecordTest, a_record_is_continued_after_a_kill_in_the_middle_of_a_line) {
  ASSERT_TRUE(writeFileAtomic(file_, lines({"600,shop,web,250,1"}) + "660,shop,we"));
  auto writer = UsageWriter::open(file_);
  ASSERT_TRUE(writer) << writer.error().message;
  EXPECT_TRUE(writer->add(metric("node-1", 660, 350)));
  const auto record = readUsage(file_, {kAll});
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->pods.size(), 1U);
  EXPECT_EQ(record->steps, 2U);
}

TEST_F(UsageRecordTest, a_header_that_was_cut_off_is_written_again) {
  ASSERT_TRUE(writeFileAtomic(file_, "time,names"));
  auto writer = UsageWriter::open(file_);
  ASSERT_TRUE(writer) << writer.error().message;
  EXPECT_TRUE(writer->add(metric("node-1", 660, 350)));
  EXPECT_TRUE(readUsage(file_, {kAll}));
}

TEST_F(UsageRecordTest, a_node_whose_clock_was_ahead_once_is_recorded_on) {
  auto writer = UsageWriter::open(file_);
  ASSERT_TRUE(writer);
  EXPECT_TRUE(writer->add(metric("node-1", 4'000'000'000, 250)));
  EXPECT_TRUE(writer->add(metric("node-1", 660, 350)));
  EXPECT_TRUE(writer->add(metric("node-1", 720, 350)));
  EXPECT_EQ(writer->samples(), 3U);
  const auto record = readUsage(file_, {kAll});
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->steps, 3U) << "the years between are not part of it";
}

TEST_F(UsageRecordTest, names_that_are_no_field_are_not_written) {
  auto writer = UsageWriter::open(file_);
  ASSERT_TRUE(writer);
  auto report = metric("node-1", 660, 350);
  for (const char* name : {"a,b", "a\nb", "a\rb"}) {
    report.status.podsMetric.push_back(report.status.podsMetric.front());
    report.status.podsMetric.back().name = name;
  }
  EXPECT_TRUE(writer->add(report));
  const auto record = readUsage(file_, {kAll});
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->pods.size(), 1U);
}

TEST_F(UsageRecordTest, amounts_that_no_node_has_are_bounded) {
  const auto record = read(lines({"0,n,p,9223372036854775807,9223372036854775807"}));
  ASSERT_TRUE(record) << record.error().message;
  const UsageSeries& series = record->pods.at({"n", "p"});
  EXPECT_LE(series.cores[0], 1e5);
  EXPECT_LE(series.gib[0], 1 << 20);
}

TEST_F(UsageRecordTest, a_file_of_something_else_is_left_alone) {
  ASSERT_TRUE(writeFileAtomic(file_, "my thesis\n"));
  const auto writer = UsageWriter::open(file_);
  ASSERT_FALSE(writer);
  EXPECT_THAT(writer.error().message, HasSubstr("not a record of usage"));
  EXPECT_EQ(*readFile(file_), "my thesis\n");
}

}  // namespace
}  // namespace koord::koordctl
