// Hostile input from users and nodes: the scheduler neither fails nor overflows, and does not keep
// removed state. bench_scheduler --filter Hostile measures its speed.

#include <gtest/gtest.h>

#include <cstdint>

#include "scheduler/plugins/registry.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::NodeBuilder;
using testing::PodBuilder;
using testing::World;

const char* const kEdge = "9223372036854775807";

TEST(HostileInput, symbols_of_labels_taints_and_images_that_are_gone_are_given_up) {
  World world;
  ASSERT_TRUE(world.configure(makeRegistry()).empty());
  world.node(aNode("other").label("zone", "z"));
  const auto version = [](int n) { return "v" + std::to_string(n); };
  const auto pod = [&](int n) { return world.pod(aPod("p").nodeSelector("version", version(n))); };
  const PodPtr keepsAway =
      world.bound(aPod("a").label("app", "a").apart("zone", "app", "b").nodeName("other"));
  constexpr int kTimes = 300'000;
  for (int n = 0; n < kTimes; ++n) {
    world.node(aNode("n1")
                   .label("version", version(n))
                   .taint("t", version(n), "PreferNoSchedule")
                   .image("img:" + version(n), 1 << 20));
    if (n % 1000 == 0) {
      EXPECT_EQ(world.place(pod(n)), "n1");
    }
  }
  EXPECT_LT(world.cluster().symbols().size() + world.cluster().taintSetCount(), 100'000u);
  EXPECT_EQ(world.place(pod(kTimes - 1)), "n1");
  EXPECT_EQ(world.place(pod(5)),
            "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.");
  // Earlier state is still valid.
  EXPECT_EQ(world.place(world.pod(aPod("b").label("app", "b").nodeSelector("zone", "z"))),
            "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
            "1 node(s) didn't satisfy existing pods anti-affinity rules.");
}

TEST(HostileInput, affinity_terms_that_no_pod_has_any_more_are_given_up) {
  World world;
  ASSERT_TRUE(world.configure(makeRegistry()).empty());
  world.node(aNode("n1").label("kubernetes.io/hostname", "n1"));
  world.node(aNode("n2").label("kubernetes.io/hostname", "n2"));
  const PodPtr stays = world.bound(
      aPod("stays").label("app", "a").apart("kubernetes.io/hostname", "app", "x").nodeName("n1"));
  for (int n = 0; n < 100'000; ++n) {
    PodBuilder builder = aPod("p");
    builder.label("app", "x").apart("kubernetes.io/hostname", "tenant", std::to_string(n));
    const PodPtr pod = world.pod(builder);
    if (n % 100 != 0) continue;
    ASSERT_EQ(world.place(pod), "n2");
    ASSERT_TRUE(world.cluster().assume(pod, *world.cluster().findNode("n2")));
    ASSERT_TRUE(world.cluster().forget(pod->uid()));
  }
  EXPECT_EQ(world.cluster().terms().size(), 1u);
}

TEST(HostileInput, amounts_at_the_edge_of_64_bits_neither_fit_nor_wrap) {
  struct Case {
    const char* name;
    const char* allocatable;
    const char* asked;
    bool fits;
  };
  for (const Case& c : {Case{"more than there is", "8", kEdge, false},
                        Case{"as much as can be written", kEdge, kEdge, false},
                        Case{"beyond what can be written", kEdge, "99E", false},
                        Case{"little of very much", kEdge, "1", true}}) {
    for (const char* resource : {"cpu", "memory", "ephemeral-storage", "example.com/gpu"}) {
      World world;
      ASSERT_TRUE(world.configure(makeRegistry()).empty());
      world.node(aNode("n1").allocatable(resource, c.allocatable));
      PodBuilder pod = aPod("p").request(resource, c.asked);
      for (int n = 0; n < 20; ++n) pod.container("img").request(resource, c.asked);
      EXPECT_EQ(world.place(world.pod(pod)) == "n1", c.fits) << c.name << " of " << resource;
    }
  }
  // Bound by another scheduler, thousands of them.
  World world;
  ASSERT_TRUE(world.configure(makeRegistry()).empty());
  world.node(aNode("n1").allocatable("pods", "100000"));
  for (int n = 0; n < 5000; ++n)
    world.bound(aPod("p" + std::to_string(n)).request("memory", kEdge).nodeName("n1"));
  EXPECT_EQ(world.place(world.pod(aPod("p").request("memory", "1"))),
            "0/1 nodes are available: 1 Insufficient memory.");
  for (int n = 0; n < 5000; ++n) world.cluster().removePod("uid-default-p" + std::to_string(n));
  EXPECT_EQ(world.place(world.pod(aPod("p").request("memory", "1"))), "n1");
}

TEST(HostileInput, selectors_of_every_operator_with_garbage_reject_or_pass_but_do_not_fail) {
  World world;
  ASSERT_TRUE(world.configure(makeRegistry()).empty());
  NodeBuilder node = aNode("n1");
  node.label("rank", "5").label("word", "five").label("empty", "");
  node.label("big", "9223372036854775808").label("signed", "+5").label("hex", "0x5");
  world.node(node);
  for (const char* key : {"rank", "word", "empty", "big", "signed", "hex", "missing", ""}) {
    for (const char* op : {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "", "gt", "~"}) {
      for (const auto& values : std::vector<std::vector<std::string>>{{},
                                                                      {""},
                                                                      {"4"},
                                                                      {"x"},
                                                                      {"-9223372036854775809"},
                                                                      {"4", "6"},
                                                                      {std::string(70'000, 'x')}}) {
        const PodPtr pod = world.pod(aPod("p").requireNode({{{key, op, values}}, {}}));
        const std::string answer = world.place(pod);
        // A text that is not a number must not compare like a number.
        const std::string_view kind(op);
        if ((kind == "Gt" || kind == "Lt") && answer == "n1") {
          EXPECT_TRUE(std::string_view(key) == "rank" || std::string_view(key) == "signed") << key;
        }
        EXPECT_FALSE(answer.empty());
      }
    }
  }
}

TEST(HostileInput, pods_of_ten_thousand_parts_are_placed_like_any_other) {
  World world;
  ASSERT_TRUE(world.configure(makeRegistry()).empty());
  for (int n = 0; n < 20; ++n)
    world.node(aNode("n" + std::to_string(n))
                   .label("kubernetes.io/hostname", "n" + std::to_string(n))
                   .taint("t" + std::to_string(n), "x", "NoSchedule"));
  PodBuilder tolerant = aPod("tolerant");
  for (int n = 0; n < 10'000; ++n) tolerant.toleration("t" + std::to_string(10'007 - n));
  EXPECT_EQ(world.place(world.pod(tolerant)).substr(0, 1), "n");
  PodBuilder social = aPod("social");
  social.toleration("", "Exists");
  for (int n = 0; n < 5000; ++n)
    social.apart("kubernetes.io/hostname", "app", std::to_string(n), n % 2 == 0 ? 0 : 1);
  EXPECT_EQ(world.place(world.pod(social)).substr(0, 1), "n");
  PodBuilder large = aPod("large");
  large.toleration("", "Exists");
  for (int n = 0; n < 1000; ++n) large.container("img").request("cpu", "3m").hostPort(1000 + n);
  large.object().metadata.annotations["note"] = std::string(64 << 10, 'x');
  EXPECT_EQ(world.place(world.pod(large)).substr(0, 1), "n");
}

}  // namespace
}  // namespace koord::scheduler
