#include "koordlet/system/pci.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "koordlet/testing/temp_tree.h"

namespace koord::koordlet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A device as /sys has it: the directory below its bridge, and a link to it from the bus.
void addDevice(TempTree& tree, const std::string& bridge, const std::string& busId) {
  tree.makeDir("sys/devices/" + bridge + "/" + busId);
  tree.makeDir("sys/bus/pci/devices");
  std::filesystem::create_directory_symlink("../../../devices/" + bridge + "/" + busId,
                                            tree.path("sys/bus/pci/devices/" + busId));
}

TEST(PciTest, ADeviceIsOnTheNodeAndBelowTheRootThatSysShows) {
  TempTree tree;
  addDevice(tree, "pci0000:3a/0000:3a:00.0", "0000:3b:00.0");
  tree.write("sys/bus/pci/devices/0000:3b:00.0/numa_node", "1\n");
  addDevice(tree, "pci0000:00", "0000:00:04.0");
  tree.write("sys/bus/pci/devices/0000:00:04.0/numa_node", "-1\n");
  const auto first = pciPlaceOf(tree.dirs(), "0000:3b:00.0");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->numaNode, 1);
  EXPECT_EQ(first->rootComplex, "pci0000:3a");
  const auto second = pciPlaceOf(tree.dirs(), "0000:00:04.0");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->numaNode, 0);
  EXPECT_EQ(pciPlaceOf(tree.dirs(), "0000:ff:00.0").error().code, ErrorCode::NotFound);
}

TEST(PciTest, RdmaCardsArePhysicalFunctionsWithANumberedDevice) {
  TempTree tree;
  const auto add = [&](const std::string& busId, const std::string& deviceClass,
                       const std::string& rdma, const std::string& state) {
    addDevice(tree, "pci0000:3a", busId);
    const std::string dir = "sys/bus/pci/devices/" + busId;
    tree.write(dir + "/class", deviceClass + "\n");
    if (!rdma.empty()) tree.write(dir + "/infiniband/" + rdma + "/ports/1/state", state + "\n");
  };
  add("0000:3b:00.0", "0x020700", "mlx5_0", "4: ACTIVE");
  add("0000:3b:00.1", "0x020000", "mlx5_1", "1: DOWN");
  add("0000:3b:00.2", "0x020000", "mlx5_2", "4: ACTIVE");  // a virtual function
  add("0000:3c:00.0", "0x020000", "", "");                 // no RDMA
  add("0000:3d:00.0", "0x030200", "mlx5_3", "4: ACTIVE");  // no network card
  add("0000:3e:00.0", "0x020000", "bnxt_re0", "4: ACTIVE");
  const std::string card = tree.path("sys/bus/pci/devices/0000:3b:00.0/");
  std::filesystem::create_directory_symlink("../0000:3b:00.2", card + "virtfn0");
  std::filesystem::create_directory_symlink("../0000:3b:00.0",
                                            tree.path("sys/bus/pci/devices/0000:3b:00.2/physfn"));
  const auto cards = rdmaCards(tree.dirs());
  ASSERT_EQ(cards.size(), 2U);
  EXPECT_EQ(cards[0].busId, "0000:3b:00.0");
  EXPECT_EQ(cards[0].minor, 0);
  EXPECT_TRUE(cards[0].healthy);
  EXPECT_EQ(cards[0].place.rootComplex, "pci0000:3a");
  EXPECT_THAT(cards[0].virtualFunctions, ElementsAre("0000:3b:00.2"));
  EXPECT_EQ(cards[1].minor, 1);
  EXPECT_FALSE(cards[1].healthy);
  EXPECT_THAT(cards[1].virtualFunctions, IsEmpty());
}

TEST(PciTest, AMachineWithoutPciHasNoCards) {
  EXPECT_THAT(rdmaCards(TempTree().dirs()), IsEmpty());
}

}  // namespace
}  // namespace koord::koordlet
