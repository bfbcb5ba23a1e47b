#include "fast_disk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/scheduler_fixture.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using ::testing::Contains;
using ::testing::HasSubstr;

// A whole scheduler on virtual time, with one more plugin.
struct WithFastDisk : testing::SchedulerFixture {
  explicit WithFastDisk(const std::string& args = "{}") {
    registry[std::string(FastDisk::kName)] = [](Fields& fields, Handle& handle) {
      return std::make_unique<FastDisk>(handle, FastDiskArgs::read(fields));
    };
    auto read = parseConfiguration(
        "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: "
        "[{"
        "plugins: {multiPoint: {enabled: [{name: FastDisk, weight: 1000}]}}, "
        "pluginConfig: [{name: FastDisk, args: " +
        args + "}]}]}");
    EXPECT_TRUE(read) << read.error().message;
    configuration_ = *std::move(read);
    create();
    scheduler->start();
    node(aNode("fast").label("example.com/fast-disk", "nvme"));
    node(aNode("slow"));
  }
  using SchedulerFixture::create;
  static testing::PodBuilder needy(const std::string& name) {
    testing::PodBuilder pod = aPod(name);
    pod.object().metadata.annotations[std::string(FastDisk::kNeeded)] = "true";
    return pod;
  }
};

TEST(FastDiskTest, a_pod_that_needs_a_fast_disk_gets_a_node_with_one) {
  WithFastDisk f;
  f.create(WithFastDisk::needy("p"));
  f.run();
  EXPECT_EQ(f.nodeOf("p"), "fast");
}

TEST(FastDiskTest, other_pods_prefer_other_nodes) {
  WithFastDisk f;
  f.create(aPod("p"));
  f.run();
  EXPECT_EQ(f.nodeOf("p"), "slow");
}

TEST(FastDiskTest, a_pod_without_a_node_gets_a_reason_and_waits_for_a_label) {
  WithFastDisk f("{label: example.com/ssd}");
  f.create(WithFastDisk::needy("p"));
  f.run();
  EXPECT_EQ(f.nodeOf("p"), "");
  EXPECT_THAT(f.events, Contains(HasSubstr("2 node(s) had no fast disk")));

  const auto before = aNode("slow").build();
  f.scheduler->nodeUpdated(before, aNode("slow").label("example.com/ssd", "yes").build());
  f.run(std::chrono::seconds(20));
  EXPECT_EQ(f.nodeOf("p"), "slow");
}

TEST(FastDiskTest, arguments_out_of_range_name_their_field) {
  std::vector<std::string> problems;
  const auto document = parseJson(R"({"othersOnFast": 101})");
  Fields fields(&*document, "args", problems);
  FastDiskArgs::read(fields);
  EXPECT_THAT(problems, Contains(HasSubstr("args.othersOnFast")));
}

}  // namespace
}  // namespace koord::scheduler
