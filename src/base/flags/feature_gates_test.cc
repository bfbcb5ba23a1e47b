#include "base/flags/feature_gates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace koord::flags {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

FeatureGates gates() {
  return FeatureGates({{"Here", "ALPHA", false, true},
                       {"Gone", "ALPHA", false, false},
                       {"Stable", "", true, true},
                       {"Tried", "BETA", true, true},
                       {"Missing", "BETA", true, false}});
}

TEST(FeatureGatesTest, GatesAreSetWithBlanksAndInGosSpellings) {
  auto all = gates();
  ASSERT_TRUE(all.set(" Here = T ,Tried=0,, Stable=False"));
  EXPECT_TRUE(all.enabled("Here"));
  EXPECT_FALSE(all.enabled("Tried"));
  EXPECT_FALSE(all.enabled("Stable"));
  ASSERT_TRUE(all.set("Tried=true"));  // a flag that is repeated adds to what was said
  EXPECT_TRUE(all.enabled("Tried"));
  EXPECT_TRUE(all.enabled("Here"));
  ASSERT_TRUE(all.set(""));
  EXPECT_EQ(all.text(), "Here=true,Stable=false,Tried=true");
}

TEST(FeatureGatesTest, ForAllOfAStageCountsWhatIsNotNamedItself) {
  auto all = gates();
  ASSERT_TRUE(all.set("AllAlpha=true,Gone=false,AllBeta=false"));
  EXPECT_TRUE(all.enabled("Here"));
  EXPECT_FALSE(all.requested("Gone"));
  EXPECT_FALSE(all.enabled("Tried"));
  EXPECT_TRUE(all.enabled("Stable"));
}

TEST(FeatureGatesTest, WhatIsNotThereIsOffAndTold) {
  auto all = gates();
  EXPECT_THAT(all.missingRequested(), ElementsAre("Missing"));
  EXPECT_THAT(all.withoutEffect(), IsEmpty());
  ASSERT_TRUE(all.set("AllAlpha=true,Here=false,Missing=true"));
  EXPECT_TRUE(all.requested("Gone"));
  EXPECT_FALSE(all.enabled("Gone"));
  EXPECT_FALSE(all.enabled("Unheard"));
  EXPECT_THAT(all.withoutEffect(), ElementsAre("AllAlpha=true"));
  EXPECT_THAT(all.missingRequested(), ElementsAre("Gone", "Missing"));
}

TEST(FeatureGatesTest, MistakesAreNamedAndChangeNothing) {
  auto all = gates();
  EXPECT_EQ(all.set("Here=true,Nope=true").error().message, "unrecognized feature gate: Nope");
  EXPECT_EQ(all.set("Here").error().message, "missing bool value for Here");
  EXPECT_EQ(all.set("Here=yes").error().message,
            "invalid value of Here=yes, err: strconv.ParseBool: parsing \"yes\": invalid syntax");
  EXPECT_FALSE(all.enabled("Here"));
}

}  // namespace
}  // namespace koord::flags
