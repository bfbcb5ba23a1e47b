#include <gtest/gtest.h>

#include "scheduler/plugins/noderesources/fit.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::PodBuilder;
using testing::quantity;
using testing::World;

// Seen with kube-scheduler 1.36: a pod that is placed counts with its containers, one that runs
// with all.
TEST(NodeResourcesFit, amounts_of_the_pod_as_a_whole_count_in_scores_once_it_runs) {
  World world;
  world.only(std::make_unique<NodeResourcesFit>(world, NodeResourcesFitArgs{}));
  world.node(aNode("n").allocatable("cpu", "8").allocatable("memory", "16Gi"));
  PodBuilder pod = aPod("p").request("cpu", "2").request("memory", "4Gi");
  EXPECT_EQ(world.scores(world.pod(pod))["n"], 75);
  auto& whole = pod.object().spec.resources.emplace().requests;
  whole["cpu"] = quantity("4");
  whole["memory"] = quantity("8Gi");
  EXPECT_EQ(world.scores(world.pod(pod))["n"], 75);
  world.bound(PodBuilder(pod).nodeName("n"));
  EXPECT_EQ(world.scores(world.pod(aPod("q").request("cpu", "2").request("memory", "4Gi")))["n"],
            25);
}

}  // namespace
}  // namespace koord::scheduler
