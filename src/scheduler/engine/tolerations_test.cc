#include "scheduler/engine/tolerations.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace koord::scheduler {
namespace {

TEST(Tolerations, a_list_of_any_length_answers_as_its_members_do) {
  Random random(7);
  const auto one = [&](std::initializer_list<const char*> texts) {
    return std::string(texts.begin()[random.below(texts.size())]);
  };
  std::size_t tolerated = 0;
  for (int round = 0; round < 2000; ++round) {
    api::List<api::Toleration> list;
    list.resize(random.below(round % 2 == 0 ? 4 : 40));
    for (auto& toleration : list) {
      toleration = {one({"a", "b", "c", "d", ""}),
                    one({"Exists", "Equal", "", "Gt"}),
                    one({"", "x", "y", "z"}),
                    one({"", "NoSchedule", "NoExecute"}),
                    {}};
      if (toleration.key.empty() && random.chance(0.9)) toleration.key = "e";
    }
    const Tolerations tolerations(list);
    api::List<api::Taint> taints;
    taints.resize(3);
    for (auto& taint : taints) {
      taint = {one({"a", "b", "c", "d", "f"}),
               one({"", "x", "y", "w"}),
               one({"NoSchedule", "NoExecute", "PreferNoSchedule"}),
               {}};
      EXPECT_EQ(tolerations.tolerate(taint), tolerates(list, taint)) << round;
      tolerated += tolerates(list, taint);
    }
    EXPECT_EQ(tolerations.tolerateAll(taints), toleratesAll(list, taints)) << round;
  }
  EXPECT_GT(tolerated, 1000u);
  EXPECT_LT(tolerated, 5000u);
}

}  // namespace
}  // namespace koord::scheduler
