#include <gmock/gmock.h>

#include "devicedaemon/testing/fake_accelerators.h"
#include "devicedaemon/testing/recorded_tools.h"
#include "devicedaemon/vendors/cambricon.h"
#include "devicedaemon/vendors/huawei.h"
#include "devicedaemon/vendors/kunlun.h"
#include "devicedaemon/vendors/metax.h"
#include "koordlet/testing/temp_tree.h"

namespace koord::devicedaemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Recorded on a host with P800s.
constexpr const char* kXpuSmi =
    "00000000:03:00.0 0 0 02K15K624CV00304 36 0 0 0 86 1450 1450 1450 1450 1450 1450 2 96 90440 "
    "98304 0 "
    "1.0:2.6:1.39.1.7 \"P800 OAM\" 0 0 0 0 0 0 0 0 0 0\n"
    "00000000:05:00.0 1 1 02K15K624CV0030V 39 0 0 0 86 1450 1450 1450 1450 1450 1450 2 96 90440 "
    "98304 0 "
    "1.0:2.6:1.39.1.7 \"P800 OAM\" 0 0 0 0 0 0 0 0 0 0\n";
// Of a host with 910B3s, cut to two cards.
constexpr const char* kNpuMapping =
    "\tNPU ID                         Chip ID                        Chip Logic ID                 "
    " Chip Name"
    "                     \n"
    "\t0                              0                              0                             "
    " Ascend "
    "910B3\n"
    "\t0                              1                              -                             "
    " Mcu       "
    "                    \n"
    "\t1                              0                              1                             "
    " Ascend "
    "910B3\n"
    "\t1                              1                              -                             "
    " Mcu       "
    "                    \n";
constexpr const char* kNpuMemory =
    "\tNPU ID                         : 0\n\tChip Count                     : 1\n\n"
    "\tDDR Capacity(MB)               : 0\n\tDDR Clock Speed(MHz)           : 0\n"
    "\tHBM Capacity(MB)               : 65536\n\tHBM Clock Speed(MHz)           : 1600\n";
constexpr const char* kNpuCommon =
    "\tNPU ID                         : 0\n\tChip Count                     : 1\n\n"
    "\tAicore Usage Rate(%)           : 0\n\tAicore Count                   : 20\n"
    "\tNPU Real-time Power(W)         : 93.4\n\n\tChip Name                      : mcu\n";
constexpr const char* kMetaxList =
    "mx-smi  version: 2.2.9\n"
    "GPU#0    MXC500      0000:08:00.0   Available (UUID: "
    "GPU-e702f06b-bbd6-bc06-5196-90a5554a24ba)\n"
    "SGPU#0   MXC500      0000:08:00.0   Available (UUID: SGPU-1)\n"
    "GPU#7    MXC500      0000:3c:00.0   Available (UUID: "
    "GPU-0e715b45-bcef-1500-e2db-752724095700)\n";
constexpr const char* kMetaxHardware =
    "mx-smi  version: 2.2.9\n\n"
    "=================== MetaX System Management Interface Log ===================\n"
    "Timestamp                                         : Thu Apr 23 07:34:59 2026\n\n"
    "Attached GPUs                                     : 2\n"
    "GPU#0  MXC500  0000:08:00.0\n\tModel Name                  : MXC500\n"
    "\tMemory Capacity             : 64GB\n"
    "GPU#7  MXC500  0000:3c:00.0\n\tModel Name                  : MXC500\n"
    "\tMemory Capacity             : 65536 MB\nEnd of Log\n";
constexpr const char* kMluList =
    "Card 0: MLU370-X8 (UUID: 0a1b2c3d-0000-0000-0000-108e0d120000)\n"
    "Card 1: MLU370-X8 (UUID: 0a1b2c3d-0000-0000-0000-108e0d120001)\n";
constexpr const char* kMluInfo =
    "Card 0\n    Product Name                   : MLU370-X8\n"
    "    UUID                           : 0a1b2c3d-0000-0000-0000-108e0d120000\n"
    "    NUMA node id                   : 1\n"
    "Health\n    Device                         : Good\n    Driver                         : "
    "Running\n"
    "PCIe\n    Domain ID                      : 0000\n    Bus num                        : 5E\n"
    "    Device                         : 00\n    Function                       : 0\n"
    "Physical Memory Usage              :\n    Total                          : 24576 MiB\n"
    "    Used                           : 12 MiB\n"
    "Virtual Memory Usage               :\n    Total                          : 131072 MiB\n";

class VendorReaders : public testing::Test {
 protected:
  VendorReaders() {
    machine_.runner = &tools_;
    machine_.devRoot = tree_.path("dev/");
    machine_.cndev = machine_.dcmi = {"/there/is/none.so"};
  }
  void recordNpus() {
    tree_.write("dev/davinci0", "");
    tree_.write("dev/davinci1", "");
    tree_.write("dev/davinci_manager", "");
    tools_.outputs = {
        {"npu-smi info -m", kNpuMapping},
        {"npu-smi info -t memory -i 0", kNpuMemory},
        {"npu-smi info -t common -i 0", kNpuCommon},
        {"npu-smi info -t board -i 0", "\tPCIe Bus Info                  : 0000:C1:00.0\n"},
        {"npu-smi info -t board -i 1",
         "\tPCIe Bus Info                  : 0000:01:00.0\n\tChip Fault : 2\n"}};
  }

  koordlet::TempTree tree_;
  RecordedTools tools_;
  Machine machine_;
};

TEST_F(VendorReaders, KunlunDevicesAreLinesForMachines) {
  const auto devices = kunlunIn(kXpuSmi);
  ASSERT_TRUE(devices) << devices.error().message;
  ASSERT_THAT(*devices, SizeIs(2));
  const Found& second = devices->at(1);
  EXPECT_EQ(second.vendor, "kunlun");
  EXPECT_EQ(second.model, "P800-OAM");
  EXPECT_EQ(second.uuid, "xpu-1");
  EXPECT_EQ(second.minor, 1);
  EXPECT_EQ(second.busId, "0000:05:00.0");
  EXPECT_EQ(second.resources.at("koordinator.sh/gpu-memory"), "98304Mi");
  EXPECT_EQ(second.resources.at("koordinator.sh/gpu-core"), "100");
  EXPECT_TRUE(second.isHealthy());
}

TEST_F(VendorReaders, AscendChipsAreWhatNpuSmiTells) {
  recordNpus();
  const auto reading = readHuawei(machine_);
  ASSERT_TRUE(reading) << reading.error().message;
  EXPECT_EQ(reading->source, "npu-smi");
  ASSERT_THAT(reading->devices, SizeIs(2));
  const Found& first = reading->devices[0];
  EXPECT_EQ(first.model, "Ascend-910B3");
  EXPECT_EQ(first.uuid, "npu-0-0");
  EXPECT_EQ(first.busId, "0000:c1:00.0");
  EXPECT_EQ(first.resources,
            (std::map<std::string, std::string>{{"huawei.com/npu-core", "20"},
                                                {"huawei.com/npu-cpu", "7"},
                                                {"huawei.com/npu-dvpp", "100"},
                                                {"koordinator.sh/gpu-memory", "65536Mi"}}));
  EXPECT_TRUE(first.isHealthy());
  EXPECT_EQ(reading->devices[1].uuid, "npu-1-1");
  EXPECT_EQ(reading->devices[1].faultCode, "chip error");
  EXPECT_EQ(reading->devices[1].fault, "NPU index 1 has 2 chip faults");
}

TEST_F(VendorReaders, DeviceFilesAreCountedByNumberAndNotByLetters) {
  std::string mapping = "NPU ID  Chip ID  Chip Logic ID  Chip Name\n";
  recordNpus();
  for (int card = 0; card < 12; ++card) {
    mapping += fmt::format("{} 0 {} Ascend 910B3\n", card, card);
    tree_.write(fmt::format("dev/davinci{}", card), "");
    tools_.outputs[fmt::format("npu-smi info -t board -i {}", card)] = "";
  }
  tools_.outputs["npu-smi info -m"] = mapping;
  const auto reading = readHuawei(machine_);
  ASSERT_TRUE(reading) << reading.error().message;
  EXPECT_EQ(reading->devices[2].uuid, "npu-2-2");
  EXPECT_EQ(reading->devices[10].uuid, "npu-10-10");
}

TEST_F(VendorReaders, EachChipOfACardIsADeviceWithItsPhysicalNumber) {
  tools_.outputs = {
      {"npu-smi info -m",
       "NPU ID Chip ID Chip Logic ID Chip Phy-ID Chip Name\n0 0 0 4 Ascend 310P3\n0 1 1 5 Ascend "
       "310P3\n"
       "0 2 - - Mcu\n"},
      {"npu-smi info -t cpu-num-cfg -i 0 -c 0", "\tAI CPU number : 7\n\tControl CPU number : 1\n"},
      {"npu-smi info -t board -i 0 -c 0", ""},
      {"npu-smi info -t board -i 0 -c 1", ""}};
  tools_.failures["npu-smi info -t memory -i 0 -c 0"] = {
      ErrorCode::Internal, "status 1, output: Command or option is not found", {}};
  const auto reading = readHuawei(machine_);
  ASSERT_TRUE(reading) << reading.error().message;
  ASSERT_THAT(reading->devices, SizeIs(2));
  EXPECT_EQ(reading->devices[1].uuid, "npu-0-5");
  EXPECT_EQ(reading->devices[1].resources.at("koordinator.sh/gpu-memory"), "21527Mi");
  EXPECT_EQ(reading->devices[1].resources.at("huawei.com/npu-core"), "8");
  EXPECT_EQ(reading->devices[1].resources.at("huawei.com/npu-cpu"), "7");
}

TEST_F(VendorReaders, MetaxCardsAreTheAvailableOnesAndNoSlices) {
  tools_.outputs = {{"mx-smi --list",
                     std::string(kMetaxList) + "GPU#8 MXC500 0000:3d:00.0 Not Available(Sysfs)\n"},
                    {"mx-smi --show-hwinfo", kMetaxHardware},
                    {"mx-smi --count-ecc -i 7",
                     "SRAM Uncorrectable : 1\nDRAM Uncorrectable : 0\nDRAM Correctable : 9\n"}};
  const auto reading = readMetax(machine_);
  ASSERT_TRUE(reading) << reading.error().message;
  ASSERT_THAT(reading->devices, SizeIs(2));
  const Found& first = reading->devices[0];
  EXPECT_EQ(first.model, "MXC500");
  EXPECT_EQ(first.uuid, "GPU-e702f06b-bbd6-bc06-5196-90a5554a24ba");
  EXPECT_EQ(first.busId, "0000:08:00.0");
  EXPECT_EQ(first.resources.at("koordinator.sh/gpu-memory"), "64Gi");
  EXPECT_TRUE(first.isHealthy());
  const Found& second = reading->devices[1];
  EXPECT_EQ(second.minor, 7);
  EXPECT_EQ(second.resources.at("koordinator.sh/gpu-memory"), "65536Mi");
  EXPECT_EQ(second.faultCode, "ECC error");
  EXPECT_THAT(reading->problems, ElementsAre(HasSubstr("GPU#8 is not available")));
}

TEST_F(VendorReaders, MlusAreWhatCnmonTells) {
  std::string broken = kMluInfo;
  broken.replace(broken.find("Good"), 4, "Boot error");
  tools_.outputs = {
      {"cnmon -l", kMluList}, {"cnmon info -c 0", kMluInfo}, {"cnmon info -c 1", broken}};
  const auto reading = readCambricon(machine_);
  ASSERT_TRUE(reading) << reading.error().message;
  ASSERT_THAT(reading->devices, SizeIs(2));
  const Found& first = reading->devices[0];
  EXPECT_EQ(first.model, "MLU370-X8");
  EXPECT_EQ(first.uuid, "0a1b2c3d-0000-0000-0000-108e0d120000");
  EXPECT_EQ(first.busId, "0000:5e:00.0");
  EXPECT_EQ(first.numaNode, 1);
  EXPECT_EQ(first.resources.at("koordinator.sh/gpu-memory"), "24576Mi");
  EXPECT_TRUE(first.isHealthy());
  EXPECT_EQ(reading->devices[1].minor, 1);
  EXPECT_EQ(reading->devices[1].fault, "Device is unhealthy, status: Boot error");
}

TEST_F(VendorReaders, OddOutputIsRefusedByNameOfWhatIsOdd) {
  const auto why = [](const auto& result) {
    return result ? std::string("was taken") : result.error().message;
  };
  std::string noMemory = kXpuSmi;
  noMemory.replace(noMemory.find("98304"), 5, "N/A  ");
  const struct {
    const char* name;
    std::string said, wanted;
  } rows[] = {
      {"xpu_smi that complains", why(kunlunIn("no device found\n")),
       "too few fields in 'no device"},
      {"xpu_smi without memory", why(kunlunIn(noMemory)), "xpu_smi -m: no memory"},
      {"npu-smi that complains", why(npuChips("dcmi model initialized failed, ret is -8005\n")),
       "no row with a chip in 'dcmi model initialized"},
      {"npu-smi, a chip twice", why(npuChips("0 0 0 Ascend 910B3\n0 0 1 Ascend 910B3\n")),
       "duplicate chip 0 of card 0"},
      {"mx-smi that complains", why(metaxCards("no driver\n")), "no line with a GPU in 'no driver"},
      {"mx-smi, memory of another unit", why(metaxKinds("GPU#0 a b\nMemory Capacity : 64 flops\n")),
       "invalid Memory Capacity '64 flops'"},
      {"cnmon that complains", why(mluList("Failed to init\n")), "no line with a card"},
      {"cnmon without memory", why(mluIn("UUID : a\n")), "no Total of Physical Memory Usage"},
      {"cnmon without UUID", why(mluIn("Device : Good\n")), "no UUID"},
  };
  for (const auto& row : rows) EXPECT_THAT(row.said, HasSubstr(row.wanted)) << row.name;
}

TEST_F(VendorReaders, FewerDeviceFilesThanChipsAreRefused) {
  recordNpus();
  tree_.remove("dev/davinci1");
  const auto reading = readHuawei(machine_);
  ASSERT_FALSE(reading);
  EXPECT_THAT(reading.error().message, HasSubstr("2 chips, but 1 files /dev/davinci"));
}

TEST_F(VendorReaders, LibrariesComeBeforeTools) {
  FakeAccelerators fake;
  fake.add("MLU-0").health = 0;
  fake.add("MLU-1").health = 1;
  for (auto& device : fake.state().devices) device.name = {"MLU370-X8"};
  machine_.cndev = {fake.path()};
  const auto mlus = readCambricon(machine_);
  ASSERT_TRUE(mlus) << mlus.error().message;
  EXPECT_EQ(mlus->source, "libcndev.so");
  ASSERT_THAT(mlus->devices, SizeIs(2));
  EXPECT_EQ(mlus->devices[0].uuid, "MLU-0");
  EXPECT_EQ(mlus->devices[0].model, "MLU370-X8");
  EXPECT_EQ(mlus->devices[0].busId, "0000:3b:00.0");
  EXPECT_TRUE(mlus->devices[0].isHealthy());
  EXPECT_FALSE(mlus->devices[1].isHealthy());
  EXPECT_THAT(tools_.asked, IsEmpty());
}

TEST_F(VendorReaders, AscendChipsOfTheLibraryAreThoseOfTheTool) {
  recordNpus();
  const auto byTool = readHuawei(machine_);
  FakeAccelerators fake;
  fake.add().bus = 0xc1;
  fake.add().bus = 0x01;
  machine_.dcmi = {fake.path()};
  const auto byLibrary = readHuawei(machine_);
  ASSERT_TRUE(byTool && byLibrary) << byLibrary.error().message;
  EXPECT_EQ(byLibrary->source, "libdcmi.so");
  ASSERT_THAT(byLibrary->devices, SizeIs(2));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(byLibrary->devices[i].uuid, byTool->devices[i].uuid);
    EXPECT_EQ(byLibrary->devices[i].model, byTool->devices[i].model);
    EXPECT_EQ(byLibrary->devices[i].minor, byTool->devices[i].minor);
    EXPECT_EQ(byLibrary->devices[i].busId, byTool->devices[i].busId);
    EXPECT_EQ(byLibrary->devices[i].resources, byTool->devices[i].resources);
  }
}

TEST_F(VendorReaders, AChipOfTheLibraryIsIllWhenItsFaultIsMajor) {
  FakeAccelerators fake;
  fake.state().chipsPerCard = 2;
  fake.add().health = 1;
  fake.add().health = 2;
  machine_.dcmi = {fake.path()};
  const auto reading = readHuawei(machine_);
  ASSERT_TRUE(reading) << reading.error().message;
  ASSERT_THAT(reading->devices, SizeIs(2)) << "without the controller";
  EXPECT_TRUE(reading->devices[0].isHealthy());
  EXPECT_EQ(reading->devices[1].uuid, "npu-0-1");
  EXPECT_EQ(reading->devices[1].fault, "NPU 0 has health 2");
}

TEST_F(VendorReaders, ADeviceThatDoesNotAnswerItsLibraryCostsNothingOfAnother) {
  FakeAccelerators fake;
  fake.add("MLU-0").answer = 7;
  fake.add("MLU-1");
  for (auto& device : fake.state().devices) device.name = {"MLU370-X8"};
  machine_.cndev = {fake.path()};
  const auto mlus = readCambricon(machine_);
  ASSERT_TRUE(mlus) << mlus.error().message;
  ASSERT_THAT(mlus->devices, SizeIs(1));
  EXPECT_EQ(mlus->devices[0].minor, 1);
  machine_.dcmi = {fake.path()};
  const auto npus = readHuawei(machine_);
  ASSERT_TRUE(npus) << npus.error().message;
  ASSERT_THAT(npus->devices, SizeIs(1));
  EXPECT_EQ(npus->devices[0].uuid, "npu-1-1");
  fake.state().devices[1].answer = 7;
  EXPECT_THAT(readCambricon(machine_).error().message, HasSubstr("cndevGetUUID: error 7"));
}

TEST_F(VendorReaders, ALibraryThatFailsGivesWayToTheToolAndIsTold) {
  recordNpus();
  FakeAccelerators fake;
  fake.state().initAnswer = -8005;
  machine_.dcmi = {fake.path()};
  const auto reading = readHuawei(machine_);
  ASSERT_TRUE(reading) << reading.error().message;
  EXPECT_EQ(reading->source, "npu-smi");
  EXPECT_THAT(reading->problems, ElementsAre(HasSubstr("dcmi_init: error -8005")));
}

TEST_F(VendorReaders, WithoutLibraryAndToolThereIsNothingToAsk) {
  for (const auto& vendor : vendors()) {
    const auto reading = vendor.read(machine_);
    ASSERT_FALSE(reading) << vendor.name;
    EXPECT_EQ(reading.error().code, ErrorCode::NotFound) << vendor.name;
    EXPECT_THAT(reading.error().message, HasSubstr("is not installed on the host")) << vendor.name;
  }
}

TEST_F(VendorReaders, ThePartsOfKunpengMachinesAreNoNpus) {
  EXPECT_TRUE(isHuaweiNpu({0x19e5, 0xd802, 0x1200}));
  EXPECT_TRUE(isHuaweiNpu({0x19e5, 0xd500, 0x1200}));
  EXPECT_FALSE(isHuaweiNpu({0x19e5, 0x1711, 0x0300})) << "graphics of the management controller";
  EXPECT_FALSE(isHuaweiNpu({0x19e5, 0xa222, 0x0200})) << "a network card";
  EXPECT_FALSE(isHuaweiNpu({0x19e5, 0xa250, 0x1200})) << "the engine that packs files";
}

}  // namespace
}  // namespace koord::devicedaemon
