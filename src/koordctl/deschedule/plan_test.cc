#include "koordctl/deschedule/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace koord::koordctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

DeschedulePlan twoMoves() {
  DeschedulePlan plan;
  plan.nodes["hot"] = {10'000, 1000, 9000, 500};
  plan.nodes["cool"] = {10'000, 1000, 1000, 100};
  plan.moves = {{"shop/a", "hot", "cool", "LowNodeLoad: hot", "", 2000, 100},
                {"shop/b", "hot", "cool", "LowNodeLoad: hot", "", 1000, 100},
                {"shop/c", "hot", "", "LowNodeLoad: hot", "its workload has one replica", 0, 0}};
  return plan;
}

TEST(DeschedulePlan, shows_how_full_nodes_are_before_and_after_each_move) {
  const std::string text = planText(twoMoves());
  EXPECT_THAT(text, HasSubstr("2 pods would be moved"));
  EXPECT_THAT(text, HasSubstr("90%/50% to 70%/40%"));
  EXPECT_THAT(text, HasSubstr("70%/40% to 60%/30%"));
  EXPECT_THAT(text, HasSubstr("30%/20% to 40%/30%"));
  EXPECT_THAT(text, HasSubstr("its workload has one replica"));
}

TEST(DeschedulePlan, says_so_when_there_is_nothing_to_do) {
  EXPECT_EQ(planText({}), "No pod would be moved.\n");
  EXPECT_EQ(toJson(planJson({})), R"({"measured":false,"atOnce":false,"moves":[]})");
  DeschedulePlan hot;
  hot.atOnce = true;
  EXPECT_EQ(planText(hot),
            "No pod would be moved.\nNodes count as hot at once; koord-descheduler waits for "
            "anomalyCondition.\n");
}

TEST(DeschedulePlan, says_so_when_nobody_was_asked_where_pods_would_land) {
  DeschedulePlan plan = twoMoves();
  EXPECT_THAT(planText(plan), Not(HasSubstr("--scheduler")));
  plan.moves[0].to.clear();
  EXPECT_THAT(planText(plan), HasSubstr("--scheduler sets its address"));
}

TEST(DeschedulePlan, is_a_document_too) {
  const json::value document = planJson(twoMoves());
  const auto& moves = at(document, "moves")->get_array();
  ASSERT_EQ(moves.size(), 3u);
  EXPECT_EQ(toJson(*at(moves[1], "toLoad")), R"(["30%/20%","40%/30%"])");
  EXPECT_EQ(textAt(moves[2], "refused"), "its workload has one replica");
}

}  // namespace
}  // namespace koord::koordctl
