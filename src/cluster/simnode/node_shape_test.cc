#include "cluster/simnode/node_shape.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "api/codec.h"
#include "api/device.h"
#include "base/file.h"
#include "cluster/simnode/sim_nodes.h"
#include "cluster/testing/test_cluster.h"

namespace koord::cluster {
namespace {

constexpr const char* kGpuMachine = R"(
name: gpu
labels: {pool: training}
capacity: {memory: 1Ti}
cpus: {sockets: 2, coresPerNumaNode: 4, threadsPerCore: 2}
gpus: {count: 8, perSwitch: 2, memory: 80Gi, model: H800, partitions: NVLink}
rdma: {perSwitch: 1, functions: 2}
)";

std::string problemIn(const char* yaml) {
  const auto shape = parseNodeShape(yaml);
  return shape ? "" : shape.error().message;
}

TEST(NodeShape, WhatFollowsFromCpusAndDevicesIsCapacity) {
  const auto shape = parseNodeShape(kGpuMachine);
  ASSERT_TRUE(shape) << shape.error().message;
  const auto capacity = capacityOf(*shape);
  EXPECT_EQ(capacity.at("cpu").value(), 16);
  EXPECT_EQ(capacity.at("nvidia.com/gpu").value(), 8);
  EXPECT_EQ(capacity.at("koordinator.sh/gpu-core").value(), 800);
  EXPECT_EQ(capacity.at("koordinator.sh/gpu-memory").toString(), "640Gi");
  EXPECT_EQ(capacity.at("koordinator.sh/rdma").value(), 400);
  EXPECT_EQ(capacity.at("memory").toString(), "1Ti");
  EXPECT_EQ(labelsOf(*shape).at("node.koordinator.sh/gpu-model"), "H800");
}

TEST(NodeShape, CpusAreNumberedAsLinuxDoes) {
  const auto topology = *topologyOf(*parseNodeShape(kGpuMachine), "n");
  const auto detail = parseJson(std::string(
      at(json::value(topology), "metadata", "annotations", "node.koordinator.sh/cpu-topology")
          ->get_string()));
  const json::array& cpus = at(*detail, "detail")->get_array();
  ASSERT_EQ(cpus.size(), 16u);
  EXPECT_EQ(toJson(cpus[5]), R"({"id":5,"core":5,"socket":1,"node":1})");
  EXPECT_EQ(toJson(cpus[8]), R"({"id":8,"core":0,"socket":0,"node":0})");
  EXPECT_EQ(topology.at("zones").as_array().size(), 2u);
}

TEST(NodeShape, DevicesHangOnSwitchesBelowTheirNumaNode) {
  const auto decoded =
      api::decode<api::Device>(json::value(*deviceOf(*parseNodeShape(kGpuMachine), "n")));
  ASSERT_TRUE(decoded) << decoded.error().message;
  const api::Device& device = *decoded;
  ASSERT_EQ(device.spec.devices.size(), 12u);
  EXPECT_EQ(device.spec.devices[3].topology->nodeID, 0);
  EXPECT_EQ(device.spec.devices[4].topology->nodeID, 1);
  EXPECT_EQ(device.spec.devices[2].topology->pcieID, device.spec.devices[3].topology->pcieID);
  EXPECT_NE(device.spec.devices[1].topology->pcieID, device.spec.devices[2].topology->pcieID);
  EXPECT_EQ(device.spec.devices[9].topology->pcieID, device.spec.devices[2].topology->pcieID);
  EXPECT_EQ(device.spec.devices[9].vfGroups[0].vfs.size(), 2u);
  const auto table =
      parseJson(device.metadata.annotations.at("scheduling.koordinator.sh/gpu-partitions"));
  EXPECT_EQ(at(*table, "4")->get_array().size(), 2u);
}

TEST(NodeShape, MistakesAreNamedByField) {
  EXPECT_EQ(problemIn("gpus: {count: 0}"), "gpus.count: must be a number from 1 to 64");
  EXPECT_EQ(problemIn("gpus: {}"), "gpus.count: must be a number from 1 to 64");
  EXPECT_EQ(problemIn("cpus: {sockets: many}"), "cpus.sockets: must be a number from 1 to 16");
  EXPECT_EQ(problemIn("gpus: {count: 1, partitions: some}"),
            "gpus.partitions: must be none or NVLink");
  EXPECT_EQ(problemIn("capacity: {memory: -1}"), "capacity: memory: \"-1\" is not a quantity");
  EXPECT_EQ(problemIn("sockets: 2"), "sockets: unknown field");
  EXPECT_EQ(problemIn("- 1"), "file: expected an object");
  EXPECT_EQ(problemIn(""), "");
}

TEST(NodeShape, TheShippedOnesAreRight) {
  int shapes = 0;
  for (const auto& file : std::filesystem::directory_iterator(KOORD_NODE_SHAPES)) {
    const auto shape = parseNodeShape(*readFile(file.path()));
    EXPECT_TRUE(shape) << file.path() << ": " << shape.error().message;
    ++shapes;
  }
  EXPECT_EQ(shapes, 6);
}

TEST(NodeShape, NodesAreMadeWithTheirDevicesWhichGoWithThem) {
  TestCluster cluster;
  cluster.create(*readFile(std::string(KOORD_CRDS) + "/scheduling.koordinator.sh_devices.yaml"));
  cluster.create(
      *readFile(std::string(KOORD_CRDS) + "/topology.node.k8s.io_noderesourcetopologies.yaml"));
  SimNodes sim(cluster.api, cluster.loop, cluster.nodes, cluster.pods, Random(3));
  sim.start();
  cluster.nodes.start();
  cluster.pods.start();
  ASSERT_TRUE(cluster.run(sim.createNodes(2, *parseNodeShape(kGpuMachine))));
  const auto node = cluster.get<api::Node>("gpu-1");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->status.allocatable.at("nvidia.com/gpu").value(), 8);
  EXPECT_EQ(node->metadata.labels.at("pool"), "training");
  const auto device = cluster.get<api::Device>("gpu-1");
  ASSERT_TRUE(device);
  EXPECT_EQ(device->spec.devices.size(), 12u);
  EXPECT_EQ(device->metadata.ownerReferences.at(0).uid, node->metadata.uid);

  // Missing objects of existing nodes are created at the next start; other nodes are not changed.
  cluster.create("apiVersion: v1\nkind: Node\nmetadata: {name: gpu-2}");
  ASSERT_TRUE(cluster.run(kube::deleteObject(cluster.api, api::Device::kType, {"", "gpu-1"})));
  SimNodes again(cluster.api, cluster.loop, cluster.nodes, cluster.pods, Random(4));
  ASSERT_TRUE(cluster.run(again.createNodes(3, *parseNodeShape(kGpuMachine))));
  EXPECT_EQ(cluster.get<api::Device>("gpu-1")->metadata.ownerReferences.at(0).uid,
            node->metadata.uid);
  EXPECT_FALSE(cluster.get<api::Device>("gpu-2"));
}

}  // namespace
}  // namespace koord::cluster
