#include "koordlet/states/xpu_files.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "koordlet/testing/temp_tree.h"

namespace koord::koordlet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::string listOf(std::string_view uuid, std::string_view minor) {
  return fmt::format(
      R"([{{"vendor":"acme","model":"A9","uuid":"{}","minor":"{}","status":{{"healthy":true}}}}])",
      uuid, minor);
}

TEST(XpuFiles, EveryFileOfTheFolderIsReadWhateverItIsCalled) {
  TempTree files;
  files.write("xpu/ic-device", listOf("A", "0"));
  files.write("xpu/vendor.json", listOf("B", "1"));
  files.write("xpu/.ic-device814", "[{\"uuid\":");
  files.write("xpu/ic-device-tmp/ic-device", "[{\"uuid\":");
  const auto inventory = readXpus(files.path("xpu"), WallTime{});
  std::vector<std::string> ids;
  for (const auto& device : inventory.devices) ids.push_back(device.id);
  EXPECT_THAT(ids, ElementsAre("A", "B"));
  EXPECT_THAT(inventory.problems, IsEmpty());
}

TEST(XpuFiles, AFileThatCannotBeReadCostsItsOwnDevices) {
  TempTree files;
  files.write("xpu/ic-device", listOf("A", "0"));
  files.write("xpu/torn", "[{");
  const auto inventory = readXpus(files.path("xpu"), WallTime{});
  EXPECT_THAT(inventory.devices, SizeIs(1));
  EXPECT_THAT(inventory.problems, SizeIs(1));
}

TEST(XpuFiles, AMachineWithoutAcceleratorsOrFolderHasNone) {
  TempTree files;
  files.write("xpu/ic-device", "[]");
  EXPECT_THAT(readXpus(files.path("xpu"), WallTime{}).devices, IsEmpty());
  const auto absent = readXpus(files.path("nowhere"), WallTime{});
  EXPECT_THAT(absent.devices, IsEmpty());
  EXPECT_THAT(absent.problems, IsEmpty());
}

}  // namespace
}  // namespace koord::koordlet
