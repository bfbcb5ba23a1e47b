#include "cluster/simnode/dra_devices.h"

#include <gmock/gmock.h>

#include "cluster/simnode/sim_nodes.h"
#include "cluster/testing/test_cluster.h"

namespace koord::cluster {
namespace {

constexpr const char* kCpus = "cpus: {sockets: 2, coresPerNumaNode: 8}\n";
constexpr const char* kDrivers = R"(dra:
- {driver: gpu.example.com, count: 4, model: A100, memory: 80Gi, extendedResource: example.com/gpu}
- {driver: nic.example.com, count: 1}
)";

TEST(DraDevicesTest, ANodeHasASliceForEachDriver) {
  const auto shape = parseNodeShape(std::string(kCpus) + kDrivers);
  ASSERT_TRUE(shape) << shape.error().message;
  const auto slices = slicesOf(*shape, "sim-0", "u");
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0].metadata.name, "sim-0-gpu.example.com");
  EXPECT_EQ(slices[0].spec.nodeName, "sim-0");
  EXPECT_EQ(slices[0].spec.pool.name, "sim-0");
  ASSERT_EQ(slices[0].spec.devices.size(), 4u);
  const auto& device = slices[0].spec.devices[2];
  EXPECT_EQ(device.name, "gpu-2");
  EXPECT_EQ(device.attributes.at("index").int_, 2);
  EXPECT_EQ(device.attributes.at("numaNode").int_, 1);
  EXPECT_EQ(device.attributes.at("model").string, "A100");
  EXPECT_EQ(device.capacity.at("memory").value.toString(), "80Gi");
  EXPECT_FALSE(slices[1].spec.devices[0].attributes.contains("model"));
}

TEST(DraDevicesTest, MistakesNameTheField) {
  const auto problem = [](const std::string& dra) {
    const auto shape = parseNodeShape("dra: " + dra);
    return shape ? "" : shape.error().message;
  };
  EXPECT_EQ(problem("7"), "dra: expected a list");
  EXPECT_EQ(problem("[{driver: a.b}]"), "dra[0].count: must be a number from 1 to 128");
  EXPECT_EQ(problem("[{driver: a.b, count: 129}]"), "dra[0].count: must be a number from 1 to 128");
  EXPECT_EQ(problem("[{driver: a.b, count: 1, size: 2}]"), "dra[0].size: unknown field");
  EXPECT_THAT(problem("[{driver: A_B, count: 1}]"), testing::StartsWith("dra[0].driver: a lower"));
  EXPECT_EQ(problem("[{driver: a.b, count: 1}, {driver: a.b, count: 1}]"),
            "dra[1].driver: duplicate driver \"a.b\"");
}

TEST(DraDevicesTest, SimulatedNodesPublishTheirSlicesAndClasses) {
  TestCluster cluster;
  SimNodes sim(cluster.api, cluster.loop, cluster.nodes, cluster.pods, Random(3));
  ASSERT_TRUE(cluster.run(sim.createNodes(2, *parseNodeShape(kDrivers))));
  ASSERT_TRUE(cluster.run(sim.createNodes(2, *parseNodeShape(kDrivers))));  // again: no change
  const auto slices = cluster.list<api::ResourceSlice>();
  EXPECT_EQ(slices.size(), 4u);
  EXPECT_EQ(slices[0].metadata.ownerReferences.size(), 1u);
  const auto classes = cluster.list<api::DeviceClass>();
  ASSERT_EQ(classes.size(), 2u);
  EXPECT_EQ(classes[0].spec.extendedResourceName, "example.com/gpu");
  EXPECT_EQ(classes[0].spec.selectors[0].cel->expression, "device.driver == \"gpu.example.com\"");
}

}  // namespace
}  // namespace koord::cluster
