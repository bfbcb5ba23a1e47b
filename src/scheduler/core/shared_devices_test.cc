#include <gtest/gtest.h>

#include "scheduler/core/scheduler_fixture.h"
#include "scheduler/plugins/deviceshare/device_world.h"
#include "scheduler/plugins/dynamicresources/objects.h"
#include "scheduler/testing/claims.h"

namespace koord::scheduler {
namespace {

using namespace std::chrono_literals;

// In Filter each plugin finds one free GPU; in Reserve the second plugin finds none.
TEST(SharedDevices, a_pod_that_wants_a_gpu_twice_rests_until_devices_change) {
  auto configuration = parseConfiguration(testing::kWithDevices);
  ASSERT_TRUE(configuration) << configuration.error().message;
  testing::SchedulerFixture f(*configuration);
  f.scheduler->start();
  Stores& stores = f.scheduler->stores();
  f.node(testing::aNode("a")
             .allocatable("koordinator.sh/gpu", "100")
             .allocatable("koordinator.sh/gpu-core", "100")
             .allocatable("koordinator.sh/gpu-memory-ratio", "100"));
  testing::DeviceMachine machine;
  machine.gpu(0, 0, "a");
  machine.device.metadata.name = "a";
  machine.device.spec.devices.back().id = "GPU-0";
  stores.of<api::Device>().set(std::make_shared<const api::Device>(machine.device));
  stores.of<api::DeviceClass>().set(testing::gpuClass());
  stores.of<api::ResourceSlice>().set(
      testing::gpuSlice("a", 1, R"(, "uuid": {"string": "GPU-0"})"));
  stores.of<api::ResourceClaim>().set(testing::gpuClaim("c"));
  f.create(testing::podWithClaims("p", {"c"}).request("koordinator.sh/gpu", "100"));
  f.run(1min);
  EXPECT_EQ(f.conditions,
            std::vector<std::string>{
                "p Unschedulable: 0/1 nodes are available: 1 Insufficient GPU Devices. still not "
                "schedulable, preemption: 0/1 nodes are available: 1 No preemption victims found "
                "for incoming pod."});
  EXPECT_EQ(f.scheduler->queue().counts().unschedulable, 1U) << "neither active nor in backoff";
  f.create(testing::aPod("q").request("koordinator.sh/gpu", "100"));
  f.run();
  EXPECT_EQ(f.bindings["q"], 1) << "the GPU is free";
}

}  // namespace
}  // namespace koord::scheduler
