#include "koordctl/explain/node_picture.h"

#include <gmock/gmock.h>

namespace koord::koordctl {
namespace {

using ::testing::HasSubstr;

TEST(NodePictureTest, EachCpuSaysWhoHoldsIt) {
  EXPECT_EQ(nodePicture(*parseJson(R"({"name": "a", "numaTopologyPolicy": "Restricted",
    "availableCPUs": "5-7", "reservedCPUs": "4",
    "cpuTopology": {"numCPUs": 8, "numCores": 4, "numNodes": 2, "numSockets": 1, "cpuDetails": {
      "0": {"cpuID": 0, "coreID": 0, "nodeID": 0, "socketID": 0},
      "1": {"cpuID": 1, "coreID": 0, "nodeID": 0, "socketID": 0},
      "2": {"cpuID": 2, "coreID": 1, "nodeID": 0, "socketID": 0},
      "3": {"cpuID": 3, "coreID": 1, "nodeID": 0, "socketID": 0},
      "4": {"cpuID": 4, "coreID": 2, "nodeID": 1, "socketID": 0},
      "5": {"cpuID": 5, "coreID": 2, "nodeID": 1, "socketID": 0},
      "6": {"cpuID": 6, "coreID": 3, "nodeID": 1, "socketID": 0},
      "7": {"cpuID": 7, "coreID": 3, "nodeID": 1, "socketID": 0}}},
    "allocatedPods": [{"namespace": "shop", "name": "web", "cpuset": "0-2"},
                      {"namespace": "shop", "name": "db", "cpuset": "3"}],
    "numaNodeResources": [{"node": 0, "resources": {"cpu": "4"}}],
    "remainingNUMANodeResources": [{"node": 0, "resources": {"cpu": "1"}}]})")),
            R"(Node   a
CPUs   8 on 4 cores, 2 NUMA nodes, 1 sockets
Free   5-7
Kept   4
NUMA   Restricted

Socket 0
  NUMA 0   AA AB
  NUMA 1   #. ..

. free, # reserved
  MARK  POD       CPUS
  A     shop/web  0-2
  B     shop/db   3
  NUMA  OF     LEFT
  0     cpu 4  cpu 0
)");
}

TEST(NodePictureTest, CpusThatAreBoundWithoutAZoneAreNotLeft) {
  const std::string text = nodePicture(*parseJson(R"({"name": "a", "availableCPUs": "1-2",
    "cpuTopology": {"cpuDetails": {
      "0": {"cpuID": 0, "coreID": 0, "nodeID": 0}, "1": {"cpuID": 1, "coreID": 0, "nodeID": 0},
      "2": {"cpuID": 2, "coreID": 1, "nodeID": 1}, "3": {"cpuID": 3, "coreID": 1, "nodeID": 1}}},
    "amplificationRatios": {"cpu": 1.5},
    "numaNodeResources": [{"node": 0, "resources": {"cpu": "3", "memory": "1Gi"}},
                          {"node": 1, "resources": {"cpu": "3"}}],
    "remainingNUMANodeResources": [{"node": 0, "resources": {"cpu": "3", "memory": "1Gi"}},
                                   {"node": 1, "resources": {"cpu": "1"}}]})"));
  EXPECT_THAT(text, HasSubstr("0     cpu 3, memory 1Gi  cpu 1500m, memory 1Gi\n"));
  EXPECT_THAT(text, HasSubstr("1     cpu 3              cpu 1\n"));
}

TEST(NodePictureTest, ManyCoresAreSeveralLines) {
  std::string details;
  for (int cpu = 0; cpu < 192; ++cpu)
    details += (cpu == 0 ? "" : ",") +
               (R"("c)" + std::to_string(cpu) + R"(": {"cpuID": )" + std::to_string(cpu) +
                R"(, "coreID": )" + std::to_string(cpu / 2) + "}");
  const std::string text =
      nodePicture(*parseJson(R"({"name": "a", "cpuTopology": {"cpuDetails": {)" + details + "}}}"));
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    EXPECT_LE(end - begin, 80U);
  EXPECT_THAT(text, HasSubstr("\n           .. .."));
}

TEST(NodePictureTest, WhateverTheAnswerIsItDoesNotCrash) {
  for (const char* odd :
       {"[]", "null", "3", "{}", R"({"cpuTopology": {"cpuDetails": {"0": 3, "1": {"cpuID": -1}}}})",
        R"({"allocatedPods": [{"cpuset": "x"}, 1], "numaNodeResources": [1, {"node": 0}]})"})
    EXPECT_THAT(nodePicture(*parseJson(odd)), HasSubstr("Node"));
}

}  // namespace
}  // namespace koord::koordctl
