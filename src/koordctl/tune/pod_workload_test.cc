#include "koordctl/tune/pod_workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace koord::koordctl {
namespace {

struct OwnedPod {
  const char* pod;
  const char* kind;
  const char* owner;
  const char* hash;
};

std::optional<PodWorkload> ownerOf(const OwnedPod& owned) {
  api::Pod pod;
  pod.metadata.namespace_ = "shop";
  pod.metadata.name = owned.pod;
  if (*owned.hash) pod.metadata.labels["pod-template-hash"] = owned.hash;
  if (*owned.kind) {
    auto& owner = pod.metadata.ownerReferences.emplace_back();
    owner.kind = owned.kind;
    owner.name = owned.owner;
    owner.controller = true;
  }
  return workloadOf(pod);
}

TEST(PodWorkloadTest, pods_of_a_workload_have_one_owner_whatever_their_names) {
  struct Case {
    OwnedPod pod;
    const char* another;  // pod of the same workload
    bool same;
  };
  const Case kCases[] = {
      {{"web-5d4f8-x2b4z", "ReplicaSet", "web-5d4f8", "5d4f8"}, "web-9f7c7b4d65-bcdfg", true},
      {{"web-5d4f8-x2b4z", "ReplicaSet", "web-5d4f8", "5d4f8"}, "web-green-bcdfg", false},
      {{"web-5d4f8-x2b4z", "ReplicaSet", "web-5d4f8", "5d4f8"}, "web-bcdfg", false},
      {{"web-5d4f8-x2b4z", "ReplicaSet", "web-5d4f8", "5d4f8"}, "web-api-9f7c7-bcdfg", false},
      {{"web-5d4f8-x2b4z", "ReplicaSet", "web-5d4f8", ""}, "web-5d4f8-bcdfg", true},
      {{"agent-x2b4z", "DaemonSet", "agent", ""}, "agent-bcdfg", true},
      {{"agent-x2b4z", "DaemonSet", "agent", ""}, "agent-0", false},
      {{"db-0", "StatefulSet", "db", ""}, "db-12", true},
      {{"db-0", "StatefulSet", "db", ""}, "dbx-0", false},
  };
  for (const Case& each : kCases) {
    const auto workload = ownerOf(each.pod);
    ASSERT_TRUE(workload) << each.pod.pod;
    EXPECT_EQ(std::ranges::count(possibleWorkloads({"shop", each.another}), *workload), each.same)
        << each.pod.pod << ", " << each.another;
    EXPECT_EQ(std::ranges::count(possibleWorkloads({"else", each.another}), *workload), 0);
  }
}

TEST(PodWorkloadTest, a_name_that_no_controller_gives_is_of_no_workload) {
  for (const OwnedPod& each : {OwnedPod{"web", "", "", ""}, OwnedPod{"driver", "Job", "train", ""},
                               OwnedPod{"", "Job", "", ""}, OwnedPod{"-", "Job", "", ""}})
    EXPECT_FALSE(ownerOf(each)) << each.pod;
}

TEST(PodWorkloadTest, the_longest_name_comes_first) {
  const auto found = possibleWorkloads({"shop", "web-5d4f8-x2b4z"});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].key.name, "web-5d4f8");
  EXPECT_EQ(found[1].key.name, "web");
}

}  // namespace
}  // namespace koord::koordctl
