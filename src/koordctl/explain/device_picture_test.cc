#include "koordctl/explain/device_picture.h"

#include <gmock/gmock.h>

namespace koord::koordctl {
namespace {

using ::testing::HasSubstr;

TEST(DevicePictureTest, EachGpuSaysWhereItIsAndWhoHoldsIt) {
  EXPECT_EQ(devicePicture(*parseJson(R"({"devices": {
    "deviceTotalDetail": {"gpu": {"0": {"koordinator.sh/gpu-core": "100"},
                                  "1": {"koordinator.sh/gpu-core": "100"},
                                  "2": {"koordinator.sh/gpu-core": "100"}, "3": {}},
                          "rdma": {"0": {"koordinator.sh/rdma": "100"}}},
    "devicePlaces": {"gpu": {"0": {"nodeID": 0, "pcieID": "a"}, "1": {"nodeID": 0, "pcieID": "a"},
                             "2": {"nodeID": 0, "pcieID": "b"}, "3": {"nodeID": 1, "pcieID": "c"}}},
    "allocateSet": {"gpu": {"shop/train": {"0": {"koordinator.sh/gpu-core": "100"},
                                           "1": {"koordinator.sh/gpu-core": "50"}},
                            "shop/web": {"1": {"koordinator.sh/gpu-core": "20"}}}}}})")),
            R"(
Devices
  gpu   NUMA 0    a: 0A 1+  b: 2.
        NUMA 1    c: 3x
  rdma  anywhere   0.
. idle, + several pods, x unhealthy
  MARK  POD         DEVICES
  A     shop/train  gpu 0: 100 gpu-core; gpu 1: 50 gpu-core
  B     shop/web    gpu 1: 20 gpu-core
)");
}

TEST(DevicePictureTest, WithoutDevicesThereIsNothingToShow) {
  for (const char* odd : {"[]", "null", "{}", R"({"devices": {}})", R"({"devices": 3})",
                          R"({"devices": {"deviceTotalDetail": {"gpu": 3}, "allocateSet": [1]}})"})
    EXPECT_EQ(devicePicture(*parseJson(odd)), "") << odd;
}

TEST(DevicePictureTest, DevicesThatAreGoneShowWhoHoldsThem) {
  EXPECT_THAT(devicePicture(*parseJson(
                  R"({"devices": {"allocateSet": {"gpu": {"a/b": {"7": {"c/gpu-core": "1"}}}}}})")),
              HasSubstr("A     a/b  gpu 7: 1 gpu-core"));
}

}  // namespace
}  // namespace koord::koordctl
