#include "model/device_identity.h"

#include <gtest/gtest.h>

namespace koord::model {
namespace {

TEST(DeviceIdentity, the_last_part_of_a_name_decides) {
  for (const char* name : {"uuid", "gpu.nvidia.com/uuid", "parentUUID", "UUID", "pcieBusID",
                           "resource.kubernetes.io/pciBusID", "gpu.amd.com/pciAddr"})
    EXPECT_TRUE(namesHardware(name)) << name;
  for (const char* name : {"", "/", "uuid/model", "uuids", "resource.kubernetes.io/pcieRoot",
                           "index", "migUUID", "numaNode"})
    EXPECT_FALSE(namesHardware(name)) << name;
}

TEST(DeviceIdentity, texts_of_the_same_hardware_are_equal) {
  EXPECT_EQ(deviceIdentity("GPU-8C25EA37-21d3"), "gpu-8c25ea37-21d3");
  for (const char* address : {"0000:3b:00.0", "00000000:3B:00.0", "3b:00.0", " 0000:3B:00.0 "})
    EXPECT_EQ(deviceIdentity(address), "0000:3b:00.0") << address;
  EXPECT_EQ(deviceIdentity("10000:e1:1f.7"), "10000:e1:1f.7");
  EXPECT_EQ(deviceIdentity("a:b:1.2"), "000a:0b:01.2");
}

TEST(DeviceIdentity, what_is_no_address_stays_a_text) {
  EXPECT_EQ(deviceIdentity(""), "");
  EXPECT_EQ(deviceIdentity("  "), "");
  for (const char* text : {":.", "0000:3b:00", "3b:00.00", "0000:3b:00.", "x:00.0", "1:2:3:4.0",
                           "123456789:3b:00.0", "-1:00.0", "0000:3b:100.0", "."})
    EXPECT_EQ(deviceIdentity(text), text);
}

}  // namespace
}  // namespace koord::model
