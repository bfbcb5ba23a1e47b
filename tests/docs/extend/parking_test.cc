#include "parking.h"

#include <gtest/gtest.h>

#include "apiserver/embedded_cluster.h"

namespace koord::api {
namespace {

TEST(ParkingTest, TheFieldIsReadAndWrittenUnderItsName) {
  const auto read = decodeText<ParkingSpec>(R"({"capacity": 200, "reservedPercent": 25})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(visitorPlaces(*read), 150);
  EXPECT_EQ(toJson(encode(*read)), R"({"capacity":200,"reservedPercent":25})");
}

TEST(ParkingTest, AnObjectWithoutTheFieldMeansTheDefault) {
  const auto read = decodeText<ParkingSpec>(R"({"capacity": 200})");
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->reservedPercent);
  EXPECT_EQ(visitorPlaces(*read), 180);
}

TEST(ParkingTest, AWrongTypeNamesTheField) {
  const auto read = decodeText<ParkingSpec>(R"({"reservedPercent": "many"})");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("reservedPercent"), std::string::npos);
}

// The API server fills in the default of the CRD and refuses what is out of range.
TEST(ParkingTest, TheServerDefaultsAndValidatesTheField) {
  VirtualLoop loop;
  apiserver::EmbeddedCluster cluster(loop);
  cluster.install(KOORD_EXTEND "/parking.yaml");
  cluster.put(Parking::kType, R"({"apiVersion": "example.com/v1alpha1", "kind": "Parking",
      "metadata": {"name": "north"}, "spec": {"capacity": 200}})");
  const auto stored = cluster.get(Parking::kType, "north");
  ASSERT_TRUE(stored);
  const auto parking = decode<Parking>(*stored);
  ASSERT_TRUE(parking);
  EXPECT_EQ(parking->spec.reservedPercent, 10);
}

}  // namespace
}  // namespace koord::api
