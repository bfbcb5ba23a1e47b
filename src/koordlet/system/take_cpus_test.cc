#include "koordlet/system/take_cpus.h"

#include <gmock/gmock.h>

#include "koordlet/system/cpu_manager_state.h"
#include "koordlet/testing/temp_tree.h"

namespace koord::koordlet {
namespace {

// Cores of two threads, {i, i + cores}.
CpuTopology machine(int sockets, int nodesPerSocket, int coresPerNode) {
  CpuTopology topology;
  const int cores = sockets * nodesPerSocket * coresPerNode;
  for (int thread = 0; thread < 2; ++thread)
    for (int core = 0; core < cores; ++core) {
      const int node = core / coresPerNode;
      topology.cpus.push_back({.cpu = core + thread * cores,
                               .core = core,
                               .node = node,
                               .socket = node / nodesPerSocket});
    }
  return topology;
}

std::string take(const CpuTopology& topology, const CpuSet& available, int count) {
  const auto taken = takeByTopology(topology, available, count);
  return taken ? taken->toString() : "error";
}

TEST(TakeByTopology, TwoCpusAreOneCore) {
  const auto topology = machine(1, 1, 4);
  EXPECT_EQ(take(topology, topology.all(), 2), "0,4");
  EXPECT_EQ(take(topology, topology.all(), 3), "0-1,4");
  EXPECT_EQ(take(topology, topology.all(), 0), "");
  EXPECT_EQ(take(topology, topology.all(), 9), "error");
}

TEST(TakeByTopology, WholeSocketsAndNodesComeFirst) {
  const auto topology = machine(2, 2, 2);  // 16 CPUs, 4 per node
  EXPECT_EQ(take(topology, topology.all(), 8), "0-3,8-11");
  EXPECT_EQ(take(topology, topology.all(), 4), "0-1,8-9");
  EXPECT_EQ(take(topology, topology.all(), 14), "0-6,8-14");
}

TEST(TakeByTopology, WhatIsBrokenAlreadyIsUsedUpFirst) {
  const auto topology = machine(2, 1, 4);  // socket 0 has 0-3,8-11
  CpuSet available = topology.all();
  available.remove(4);
  EXPECT_EQ(take(topology, available, 1), "12");
  EXPECT_EQ(take(topology, available, 2), "5,13");
}

TEST(CpuManagerState, OwnedCpusAreThoseOfAllContainersOfThePod) {
  TempTree tree;
  EXPECT_EQ(readCpuManagerState(tree.dirs())->policy, "");
  tree.write("kubelet/cpu_manager_state",
             R"({"policyName":"static","defaultCpuSet":"0,5-7",
                 "entries":{"a":{"c1":"1","c2":"2-3"},"b":{"c":"4"}},"checksum":7})");
  const auto state = readCpuManagerState(tree.dirs());
  ASSERT_TRUE(state);
  EXPECT_TRUE(state->isStatic());
  EXPECT_EQ(state->owned.at("a").toString(), "1-3");
  EXPECT_EQ(state->owned.at("b").toString(), "4");
}

TEST(CpuManagerState, WhatCannotBeReadIsAnErrorThatNamesIt) {
  TempTree tree;
  tree.write("kubelet/cpu_manager_state", "{\"policyName\":");
  EXPECT_FALSE(readCpuManagerState(tree.dirs()));
  tree.write("kubelet/cpu_manager_state", R"({"policyName":"static","entries":{"a":{"c":"1-x"}}})");
  EXPECT_THAT(readCpuManagerState(tree.dirs()).error().message,
              testing::HasSubstr("entries[a][c]"));
  tree.write("kubelet/cpu_manager_state", R"({"policyName":"static","entries":[]})");
  EXPECT_TRUE(readCpuManagerState(tree.dirs()));
}

}  // namespace
}  // namespace koord::koordlet
