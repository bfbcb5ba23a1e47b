#include "api/quantity_json.h"

#include <gtest/gtest.h>

namespace koord::api {
namespace {

std::string canonical(std::string_view document) {
  const auto quantity = readQuantity(parseJson(document).value());
  return quantity ? quantity->toString() : quantity.error().message;
}

TEST(QuantityJson, ReadsStringsAndNumbersInTheSameFormat) {
  EXPECT_EQ(canonical(R"("0.5")"), "500m");
  EXPECT_EQ(canonical("0.5"), "500m");
  EXPECT_EQ(canonical("0.00001"), "10u");
  EXPECT_EQ(canonical("-2.25"), "-2250m");
  EXPECT_EQ(canonical("1024"), "1024");
  EXPECT_EQ(canonical("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(canonical("1e-300"), "1n");
  EXPECT_EQ(canonical("1e20"), "100E");
}

TEST(QuantityJson, RefusesWhatIsNeitherTextNorNumber) {
  for (const char* document : {"null", "true", "{}", "[1]", R"({"cpu": 1})"})
    EXPECT_EQ(canonical(document), std::string("expected a quantity such as 500m or 2Gi, not ") +
                                       toJson(parseJson(document).value()));
}

TEST(QuantityJson, IgnoresSpacesAroundAStringButNotInside) {
  EXPECT_EQ(canonical(R"(" 1Gi\n")"), "1Gi");
  EXPECT_FALSE(readQuantity("1 Gi"));
  EXPECT_FALSE(readQuantity(" "));
  EXPECT_FALSE(readQuantity(""));
}

}  // namespace
}  // namespace koord::api
