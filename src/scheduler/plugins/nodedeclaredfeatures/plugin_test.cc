#include <gtest/gtest.h>

#include "scheduler/plugins/registry.h"
#include "scheduler/testing/builders.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::NodeBuilder;
using testing::PodBuilder;
using testing::World;

constexpr const char* kRefusal =
    "0/1 nodes are available: 1 node(s) didn't match Pod's required features.";

NodeBuilder declaring(std::string feature) {
  NodeBuilder node = aNode("n");
  if (!feature.empty()) node.object().status.declaredFeatures = {std::move(feature)};
  return node;
}

TEST(NodeDeclaredFeatures, a_pod_goes_where_kubelet_declares_what_it_needs) {
  const auto restarting = [](bool init, const char* action) {
    PodBuilder pod = aPod("p");
    api::Container container;
    container.restartPolicyRules.push_back({action});
    (init ? pod.object().spec.initContainers : pod.object().spec.containers).push_back(container);
    return pod;
  };
  const auto isolated = [](bool hostNetwork, std::optional<bool> hostUsers) {
    PodBuilder pod = aPod("p");
    pod.object().spec.hostNetwork = hostNetwork;
    pod.object().spec.hostUsers = hostUsers;
    return pod;
  };
  const char* const restart = "RestartAllContainersOnContainerExits";
  const char* const users = "UserNamespacesHostNetworkSupport";
  struct Row {
    PodBuilder pod;
    const char* needs;
  };
  for (const Row& row : {Row{aPod("p"), ""}, Row{restarting(false, "Restart"), ""},
                         Row{restarting(false, "RestartAllContainers"), restart},
                         Row{restarting(true, "RestartAllContainers"), restart},
                         Row{isolated(true, false), users}, Row{isolated(true, true), ""},
                         Row{isolated(true, {}), ""}, Row{isolated(false, false), ""}}) {
    const std::string needs = row.needs;
    for (const std::string declared : {"", restart, users}) {
      World world;
      world.configure(makeRegistry());
      world.node(declaring(declared));
      const bool fits = needs.empty() || needs == declared;
      EXPECT_EQ(world.place(world.pod(row.pod)), fits ? "n" : kRefusal)
          << "needs " << needs << ", declared " << declared;
    }
  }
}

TEST(NodeDeclaredFeatures, what_kubelet_declares_later_counts_for_pods_of_the_same_class) {
  World world;
  world.configure(makeRegistry());
  const auto isolated = [&](const char* name) {
    PodBuilder pod = aPod(name);
    pod.object().spec.hostNetwork = true;
    pod.object().spec.hostUsers = false;
    return world.pod(pod);
  };
  world.node(declaring(""));
  EXPECT_EQ(world.place(isolated("a")), kRefusal);
  EXPECT_EQ(world.place(isolated("b")), kRefusal);
  world.node(declaring("UserNamespacesHostNetworkSupport"));
  EXPECT_EQ(world.place(isolated("c")), "n");
  world.node(declaring(""));
  EXPECT_EQ(world.place(isolated("d")), kRefusal);
}

}  // namespace
}  // namespace koord::scheduler
