#include <gtest/gtest.h>

#include "scheduler/core/scheduler_fixture.h"
#include "scheduler/framework/controller.h"

namespace koord::scheduler {
namespace {

using namespace std::chrono_literals;

// Counts the seconds that it runs.
class Ticking final : public Plugin, public ControllerPlugin {
 public:
  Ticking(Handle& handle, int& begun, int& seconds)
      : executor_(handle.executor()), begun_(begun), seconds_(seconds) {}
  std::string_view name() const override { return "Ticking"; }
  Task<void> run() override {
    ++begun_;
    for (;;) {
      auto pause = sleepFor(executor_, 1s);
      co_await pause;
      ++seconds_;
    }
  }

 private:
  Executor& executor_;
  int& begun_;
  int& seconds_;
};

struct WithController : testing::SchedulerFixture {
  int begun = 0;
  int seconds = 0;
  WithController() {
    registry["Ticking"] = [this](Fields&, Handle& handle) -> std::unique_ptr<Plugin> {
      return std::make_unique<Ticking>(handle, begun, seconds);
    };
    configuration_.profiles.front().plugins["multiPoint"].enabled.push_back({"Ticking", 0});
  }
  using SchedulerFixture::create;
};

TEST(Controllers, run_while_the_scheduler_does) {
  WithController f;
  f.create();
  f.run(3s);
  EXPECT_EQ(f.begun, 0) << "it does not lead yet";
  f.scheduler->start();
  f.run(3s);
  EXPECT_EQ(f.begun, 1);
  EXPECT_EQ(f.seconds, 3);
  f.scheduler->stop();
  f.run(3s);
  EXPECT_EQ(f.seconds, 3);
}

TEST(Controllers, are_shared_by_profiles) {
  WithController f;
  f.configuration_.profiles.push_back(f.configuration_.profiles.front());
  f.configuration_.profiles.back().schedulerName = "other";
  f.create();
  f.scheduler->start();
  f.run(1s);
  EXPECT_EQ(f.begun, 1);
}

TEST(Controllers, can_be_left_out) {
  WithController f;
  f.controllerPlugins = {"*", "-Ticking"};
  f.create();
  f.scheduler->start();
  f.run(1s);
  EXPECT_EQ(f.begun, 0);
}

TEST(Controllers, are_chosen_by_what_is_named_first) {
  EXPECT_TRUE(runsController({"*"}, "Reservation"));
  EXPECT_TRUE(runsController({"Reservation"}, "Reservation"));
  EXPECT_FALSE(runsController({"Reservation"}, "ElasticQuota"));
  EXPECT_FALSE(runsController({"*", "-Reservation"}, "Reservation"));
  EXPECT_TRUE(runsController({"*", "-Reservation"}, "ElasticQuota"));
  EXPECT_TRUE(runsController({"Reservation", "-Reservation"}, "Reservation"));
  EXPECT_FALSE(runsController({}, "Reservation"));
}

}  // namespace
}  // namespace koord::scheduler
