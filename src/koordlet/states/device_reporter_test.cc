#include "koordlet/states/device_reporter.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "apiserver/embedded_cluster.h"
#include "koordlet/testing/nvml/fake_nvml.h"
#include "koordlet/testing/temp_tree.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using testing::SizeIs;

class DeviceReporting : public testing::Test {
 protected:
  DeviceReporting() {
    cluster_.install(std::filesystem::path(KOORD_DEPLOY) /
                     "crds/scheduling.koordinator.sh_devices.yaml");
    auto node = std::make_shared<api::Node>();
    node->metadata.name = "n1";
    node->metadata.uid = "node-uid";
    states_.setNode(node);
    addPlace("0000:3b:00.0", "pci0000:3a");
  }

  void addPlace(const std::string& busId, const std::string& root) {
    tree_.makeDir("sys/devices/" + root + "/" + busId);
    tree_.makeDir("sys/bus/pci/devices");
    std::filesystem::create_directory_symlink("../../../devices/" + root + "/" + busId,
                                              tree_.path("sys/bus/pci/devices/" + busId));
  }
  void start(bool gpus = true, bool rdma = false) {
    reporter_.emplace(cluster_, loop_, states_,
                      DeviceReporter::Options{"n1", tree_.dirs(), 3s, gpus, rdma}, Random(1));
    reporter_->start();
    settle();
  }
  void settle(Duration span = 10s) {
    for (Duration left = span; left > Duration::zero(); left -= 1s) {
      states_.setGpus(reader_.read(loop_.steadyNow()), loop_.steadyNow());
      loop_.advance(1s);
    }
  }
  json::value device() { return cluster_.get(api::Device::kType, "n1").value_or(nullptr); }
  json::value devices() {
    const json::value object = device();
    const auto* list = at(object, "spec", "devices");
    return list ? *list : json::value();
  }

  VirtualLoop loop_;
  apiserver::EmbeddedCluster cluster_{loop_};
  TempTree tree_;
  FakeNvml fake_;
  GpuReader reader_{fake_.path()};
  States states_;
  std::optional<DeviceReporter> reporter_;
};

TEST_F(DeviceReporting, GpusBecomeADeviceOfTheNode) {
  fake_.addGpu();
  fake_.addGpu();
  start();
  EXPECT_EQ(devices(), *parseJson(R"([
    {"type":"gpu","id":"GPU-0","minor":0,"health":true,
     "resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory":"97656250Ki",
                  "koordinator.sh/gpu-memory-ratio":"100"},
     "topology":{"socketID":-1,"nodeID":0,"pcieID":"pci0000:3a","busID":"0000:3b:00.0"}},
    {"type":"gpu","id":"GPU-1","minor":1,"health":true,
     "resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory":"97656250Ki",
                  "koordinator.sh/gpu-memory-ratio":"100"}}])"));
  const json::value object = device();
  EXPECT_EQ(textAt(object, "metadata", "labels", "node.koordinator.sh/gpu-model"), "H200");
  EXPECT_EQ(textAt(object, "metadata", "labels", "node.koordinator.sh/gpu-vendor"), "nvidia");
  EXPECT_EQ(textAt(object, "metadata", "labels", "node.koordinator.sh/gpu-driver-version"),
            "570.86.15");
  const auto& owner = at(object, "metadata", "ownerReferences")->at(0);
  EXPECT_EQ(textAt(owner, "uid"), "node-uid");
}

TEST_F(DeviceReporting, NothingIsWrittenWhileNothingChanges) {
  fake_.addGpu();
  start();
  const std::size_t writes = cluster_.writes.size();
  EXPECT_EQ(writes, 1U);
  settle(60s);
  EXPECT_THAT(cluster_.writes, SizeIs(writes));
}

TEST_F(DeviceReporting, AFaultIsWrittenOnceAndKeepsItsTime) {
  fake_.addGpu();
  start();
  fake_.state().faults[0] = {0, 79};
  fake_.state().faultCount = 1;
  settle();
  const json::value ill = devices().at(0);
  EXPECT_FALSE(ill.at("health").as_bool());
  EXPECT_EQ(textAt(ill.at("conditions").at(0), "reason"), "Xid79");
  EXPECT_EQ(textAt(ill.at("conditions").at(0), "status"), "False");
  fake_.state().faults[0] = {0, 48};
  fake_.state().faultCount = 1;
  settle();
  const json::value again = devices().at(0);
  EXPECT_EQ(textAt(again.at("conditions").at(0), "reason"), "Xid48");
  EXPECT_EQ(textAt(again.at("conditions").at(0), "lastTransitionTime"),
            textAt(ill.at("conditions").at(0), "lastTransitionTime"));
  EXPECT_THAT(cluster_.writes, SizeIs(3));
}

TEST_F(DeviceReporting, DifferentModelsHaveNoModelLabelAndLabelsOfOthersStay) {
  fake_.addGpu();
  start();
  cluster_.put(api::Device::kType, [&] {
    json::value object = device();
    object.as_object()["metadata"].as_object()["labels"].as_object()["team"] = "a";
    return toJson(object);
  }());
  std::snprintf(fake_.addGpu().name, 64, "NVIDIA A100");
  settle();
  const json::value object = device();
  EXPECT_EQ(at(object, "metadata", "labels", "node.koordinator.sh/gpu-model"), nullptr);
  EXPECT_EQ(textAt(object, "metadata", "labels", "team"), "a");
  EXPECT_THAT(devices().as_array(), SizeIs(2));
}

TEST_F(DeviceReporting, WithoutTheDriverKnownGpusStayAndAreIllAfterAMinute) {
  fake_.addGpu();
  start();
  reporter_.reset();
  states_ = {};  // a new koordlet, before which the driver vanished
  auto node = std::make_shared<api::Node>();
  node->metadata.name = "n1";
  states_.setNode(node);
  fake_.state().countAnswer = nvml::kDriverNotLoaded;
  start();
  EXPECT_TRUE(devices().at(0).at("health").as_bool());
  settle(60s);
  const json::value gpu = devices().at(0);
  EXPECT_FALSE(gpu.at("health").as_bool());
  EXPECT_EQ(textAt(gpu.at("conditions").at(0), "reason"), "DriverUnavailable");
  fake_.state().countAnswer = 0;
  settle();
  EXPECT_TRUE(devices().at(0).at("health").as_bool());
}

TEST_F(DeviceReporting, ANodeWithoutDevicesHasNoObject) {
  start(true, true);
  EXPECT_TRUE(device().is_null());
  EXPECT_THAT(cluster_.writes, SizeIs(0));
}

TEST_F(DeviceReporting, RdmaCardsNeedNoGpu) {
  addPlace("0000:5e:00.0", "pci0000:5d");
  const std::string dir = "sys/devices/pci0000:5d/0000:5e:00.0";
  tree_.write(dir + "/class", "0x020000\n");
  tree_.write(dir + "/numa_node", "1\n");
  tree_.write(dir + "/infiniband/mlx5_2/ports/1/state", "4: ACTIVE\n");
  std::filesystem::create_directory_symlink("../0000:5e:00.1", tree_.path(dir + "/virtfn0"));
  tree_.makeDir("sys/devices/pci0000:5d/0000:5e:00.1");
  start(false, true);
  EXPECT_EQ(devices(), *parseJson(R"([
    {"type":"rdma","id":"0000:5e:00.0","minor":2,"health":true,
     "resources":{"koordinator.sh/rdma":"100"},
     "topology":{"socketID":-1,"nodeID":1,"pcieID":"pci0000:5d","busID":"0000:5e:00.0"},
     "vfGroups":[{"vfs":[{"minor":-1,"busID":"0000:5e:00.1"}]}]}])"));
  tree_.write(dir + "/infiniband/mlx5_2/ports/1/state", "1: DOWN\n");
  settle();
  EXPECT_FALSE(devices().at(0).at("health").as_bool());
}

TEST_F(DeviceReporting, AnObjectThatWasDeletedIsMadeAgainAndARefusedWriteIsTriedAgain) {
  fake_.addGpu();
  cluster_.failure = [](const kube::Request& request) -> std::optional<Error> {
    if (request.verb == kube::Verb::Create) return Error{ErrorCode::Unavailable, "busy", {}};
    return std::nullopt;
  };
  start();
  EXPECT_TRUE(device().is_null());
  cluster_.failure = nullptr;
  settle();
  EXPECT_THAT(devices().as_array(), SizeIs(1));
  cluster_.remove(api::Device::kType, "n1");
  settle();
  EXPECT_THAT(devices().as_array(), SizeIs(1));
}

TEST_F(DeviceReporting, FilesAboutOtherAcceleratorsComeBeforeNvidias) {
  tree_.write("xpu/a.json", R"([
      {"vendor":"acme","model":"A9","uuid":"B","minor":"1","resources":{"gpu-core":"100","acme.com/x":"4"},
       "topology":{"p2pLinks":[{"peerMinor":"0","type":"HCCS"},{"peerMinor":"","type":"HCCS"}],
                   "mustHonorPartition":true,"nodeID":"1","pcieID":"pci0000:3a","busID":"0000:3b:00.0"},
       "status":{"healthy":false,"errCode":"E7","errMessage":"too hot"}},
      {"vendor":"acme","model":"A9","uuid":"A","minor":"0","resources":{"gpu-memory":"16Gi","bad":"x y"},
       "topology":{"p2pLinks":[{"peerMinor":"1","type":"HCCS"}]}},
      {"uuid":"C","minor":"none"}])");
  tree_.write("xpu/deep/b.json", "{torn");
  reporter_.emplace(cluster_, loop_, states_,
                    DeviceReporter::Options{"n1", tree_.dirs(), 3s, true, false, tree_.path("xpu")},
                    Random(1));
  reporter_->start();
  settle();
  const json::value object = device();
  const auto list = devices();
  ASSERT_THAT(list.get_array(), SizeIs(2));
  EXPECT_EQ(textAt(list.at(0), "id"), "A");
  EXPECT_EQ(textAt(list.at(0), "resources", "koordinator.sh/gpu-memory"), "16Gi");
  EXPECT_EQ(textAt(list.at(0), "resources", "koordinator.sh/gpu-memory-ratio"), "100");
  EXPECT_EQ(at(list.at(0), "topology", "nodeID")->to_number<int>(), -1);
  EXPECT_TRUE(list.at(0).at("health").get_bool());
  EXPECT_FALSE(list.at(1).at("health").get_bool());
  EXPECT_EQ(textAt(list.at(1).at("conditions").at(0), "reason"), "E7");
  EXPECT_EQ(textAt(list.at(1), "resources", "acme.com/x"), "4");
  const auto& metadata = object.at("metadata");
  EXPECT_EQ(textAt(metadata, "labels", "node.koordinator.sh/gpu-vendor"), "acme");
  EXPECT_EQ(textAt(metadata, "labels", "node.koordinator.sh/gpu-partition-policy"), "Honor");
  EXPECT_EQ(*parseJson(textAt(metadata, "annotations", "scheduling.koordinator.sh/gpu-partitions")),
            *parseJson(R"({"2":[{"minors":[0,1],"gpuLinkType":"HCCS","allocationScore":1}]})"));
  const std::string version(textAt(metadata, "resourceVersion"));
  settle(30s);
  EXPECT_EQ(textAt(device().at("metadata"), "resourceVersion"), version) << "nothing changed";
}

TEST_F(DeviceReporting, WordsOfAFileThatAnObjectMayNotHaveAreMadeFit) {
  tree_.write("xpu/ic-device", R"([
      {"vendor":"kunlun","model":"\"P800 OAM\"","uuid":"A","minor":"0",
       "status":{"healthy":false,"errCode":"chip error","errMessage":"NPU index 0 has 1 chip faults"}},
      {"vendor":"kunlun","model":"P800","uuid":"B","minor":"1","status":{"healthy":false,"errCode":"74:"}}])");
  reporter_.emplace(cluster_, loop_, states_,
                    DeviceReporter::Options{"n1", tree_.dirs(), 3s, true, false, tree_.path("xpu")},
                    Random(1));
  reporter_->start();
  settle();
  ASSERT_THAT(devices().get_array(), SizeIs(2));
  EXPECT_EQ(textAt(devices().at(0).at("conditions").at(0), "reason"), "chip_error");
  EXPECT_EQ(textAt(devices().at(0).at("conditions").at(0), "message"),
            "NPU index 0 has 1 chip faults");
  EXPECT_EQ(textAt(devices().at(1).at("conditions").at(0), "reason"), "E74");
  EXPECT_EQ(textAt(device(), "metadata", "labels", "node.koordinator.sh/gpu-model"), "P800-OAM");
}

TEST_F(DeviceReporting, AcceleratorsWhoseFileIsGoneAreIllAfterAMinuteAndWellWhenItIsBack) {
  fake_.state().countAnswer = nvml::kDriverNotLoaded;  // a node without NVIDIA's
  const std::string file =
      R"([{"vendor":"acme","model":"A9","uuid":"A","minor":"0","status":{"healthy":true}}])";
  tree_.write("xpu/ic-device", file);
  reporter_.emplace(cluster_, loop_, states_,
                    DeviceReporter::Options{"n1", tree_.dirs(), 3s, true, false, tree_.path("xpu")},
                    Random(1));
  reporter_->start();
  settle(2min);
  EXPECT_TRUE(devices().at(0).at("health").as_bool());
  tree_.remove("xpu/ic-device");  // its writer is being replaced
  settle(50s);
  EXPECT_TRUE(devices().at(0).at("health").as_bool());
  settle(20s);
  EXPECT_FALSE(devices().at(0).at("health").as_bool());
  tree_.write("xpu/ic-device", file);
  settle();
  EXPECT_TRUE(devices().at(0).at("health").as_bool());
}

}  // namespace
}  // namespace koord::koordlet
