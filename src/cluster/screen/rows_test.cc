#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/screen/listing.h"
#include "cluster/screen/object_rows.h"
#include "cluster/screen/screen_testing.h"

namespace koord::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> firstsOf(const std::vector<Row>& rows) {
  std::vector<std::string> texts;
  for (const auto& row : rows) texts.push_back(textOf(row.values[0], {}));
  return texts;
}

TEST(RowsTest, QuotasAreTreesAndQuotasThatNameEachOtherAreShownOnce) {
  const auto rows = quotaRows(screenCluster(1));
  EXPECT_THAT(firstsOf(rows), ElementsAre("root", "  team", "b", "  a"));
  EXPECT_EQ(textOf(rows[0].values[1], {}), "0.50/8");
  EXPECT_EQ(textOf(rows[0].values[5], {}), "3");
  EXPECT_EQ(textOf(rows[0].values[7], {}), "gpu 0/2");
}

TEST(RowsTest, PodsThatHaveEndedUseNothing) {
  Objects objects = screenCluster(2);
  EXPECT_EQ(textOf(podRows(objects)[0].values[2], objects.now), "0.00/1");
  EXPECT_EQ(textOf(podRows(objects)[0].values[3], objects.now), "7s");
  auto ended = *objects.pods[0];
  ended.status.phase = "Succeeded";
  objects.pods[0] = std::make_shared<const api::Pod>(ended);
  EXPECT_EQ(textOf(podRows(objects)[0].values[2], objects.now), "-/1");
  EXPECT_EQ(textOf(podRows(objects)[0].values[3], objects.now), "-");
  EXPECT_EQ(stateOfPod(ended), "Succeeded");
}

TEST(RowsTest, ColumnsAndValuesAgree) {
  const Objects objects = screenCluster(8);
  ClusterStatus status;
  summarize(objects, status);
  const std::pair<const std::vector<Column>&, std::vector<Row>> lists[] = {
      {nodeColumns(), nodeRows(status)},
      {podColumns(), podRows(objects)},
      {moveColumns(), moveRows(objects)},
      {quotaColumns(), quotaRows(objects)},
      {eventColumns(), eventRows(objects)}};
  for (const auto& [columns, rows] : lists) {
    ASSERT_FALSE(rows.empty());
    EXPECT_EQ(columns.size(), rows.front().values.size());
  }
}

TEST(ListingTest, UnknownValuesStayAtTheEnd) {
  Listing listing({{"NAME"}, {"CPU", Column::Kind::Amount}});
  const auto row = [](const char* name, std::optional<std::int64_t> cpu) {
    return Row{{Subject::Kind::Node, "", name}, {textValue(name), coresValue(cpu)}};
  };
  listing.setRows({row("a", std::nullopt), row("b", 1), row("c", 2)});
  const auto names = [&] {
    std::string all;
    for (std::size_t i = 0; i < listing.size(); ++i) all += listing.row(i).subject.name;
    return all;
  };
  EXPECT_EQ(names(), "abc");
  listing.sortBy(1, true);
  EXPECT_EQ(names(), "cba");
  listing.sortBy(1, false);
  EXPECT_EQ(names(), "bca");
  listing.setFilter(" C ");
  EXPECT_EQ(names(), "c");
  EXPECT_EQ(listing.find({Subject::Kind::Node, "", "b"}), std::nullopt);
}

TEST(ListingTest, AWordWithAnEqualsSignIsAllThatIsInTheColumn) {
  Listing listing({{"POD"}, {"NODE"}});
  const auto row = [](const char* name, const char* node) {
    return Row{{Subject::Kind::Pod, "", name}, {textValue(name), textValue(node)}};
  };
  listing.setRows({row("a", "sim-1"), row("b", "sim-10"), row("sim-1-c", "sim-2"), row("=", "x")});
  listing.setFilter("=Sim-1");
  ASSERT_EQ(listing.size(), 1u);
  EXPECT_EQ(listing.row(0).subject.name, "a");
  listing.setFilter("=");
  EXPECT_EQ(listing.size(), 1u);
}

TEST(RowsTest, TheYoungestComesFirst) {
  const WallTime now = WallTime{} + std::chrono::hours(1);
  EXPECT_LT(compare(sinceValue(now), sinceValue(now - std::chrono::seconds(9))), 0);
  EXPECT_EQ(textOf(sinceValue(now - std::chrono::seconds(9)), now), "9s");
  EXPECT_EQ(textOf(barValue(INT64_MAX, INT64_MAX), now), "##########");
}

}  // namespace
}  // namespace koord::cluster
