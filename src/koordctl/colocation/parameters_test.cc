#include "koordctl/colocation/parameters.h"

#include <gtest/gtest.h>

namespace koord::koordctl::colocation {
namespace {

TEST(ColocationParametersTest, a_parameter_is_set_by_its_name_within_its_range) {
  Parameters parameters;
  EXPECT_TRUE(setParameter(parameters, "nodes=12"));
  EXPECT_EQ(parameters.nodes, 12);
  EXPECT_EQ(setParameter(parameters, "nodes=0").error().message,
            "nodes: \"0\" must be a whole number from 1 to 5000");
  EXPECT_EQ(setParameter(parameters, "nodes=2.5").error().message,
            "nodes: \"2.5\" must be a whole number from 1 to 5000");
  EXPECT_TRUE(setParameter(parameters, "noise=0.5"));
  EXPECT_EQ(setParameter(parameters, "noise=nan").error().message,
            "noise: \"nan\" must be a number from 0 to 1");
  EXPECT_EQ(setParameter(parameters, "size=1").error().message,
            "\"size=1\" must be NAME=VALUE with the name of a parameter");
}

}  // namespace
}  // namespace koord::koordctl::colocation
