#include "cluster/up/cluster_up.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/virtual_loop.h"

namespace koord::cluster {
namespace {

using namespace std::chrono_literals;

// A cluster without components and host node: only the API server, controllers and simulated nodes,
// all on virtual time.
struct OneMachine {
  VirtualLoop loop;
  net::HttpClient http;
  Screen screen{true};
  UpOptions options;
  Result<DataDir> data = DataDir::temporary();
  std::unique_ptr<ClusterUp> cluster;
  bool failed = false;

  OneMachine() {
    options.hostNode = HostNodeMode::Off;
    options.components = {};
    options.inMemory = true;
    options.listen = "127.0.0.1:0";
    options.quiet = true;
  }
  void start() {
    ASSERT_TRUE(data) << data.error().message;
    auto opened = ClusterUp::open(loop, http, options, *data, "koordctl", screen);
    ASSERT_TRUE(opened) << opened.error().message;
    cluster = *std::move(opened);
    cluster->start([this] { failed = true; }, [] {});
  }
};

TEST(ClusterUp, NothingOfItRunsOnceItsActorsAreReleased) {
  OneMachine machine;
  machine.start();
  ASSERT_FALSE(HasFatalFailure());
  machine.loop.advance(10s);  // it is up, and shows its status once a second
  EXPECT_FALSE(machine.failed);
  machine.cluster->releaseActors();
  machine.loop.advance(10s);
}

TEST(ClusterUp, AStartThatFailsLeavesNoKubeconfig) {
  OneMachine machine;
  machine.options.mergeKubeconfig = true;
  ::setenv("KUBECONFIG", "/dev/null/config", 1);
  const auto opened = ClusterUp::open(machine.loop, machine.http, machine.options, *machine.data,
                                      "koordctl", machine.screen);
  ::unsetenv("KUBECONFIG");
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("/dev/null"), std::string::npos) << opened.error().message;
  EXPECT_FALSE(std::filesystem::exists(machine.data->file("kubeconfig")));
}

// On virtual time everything is posted at once, so a moment is a number of turns of the loop.
struct ReleaseAfter {
  OneMachine* machine;
  int turns;
  void operator()() const {
    if (turns == 0) return machine->cluster->releaseActors();
    machine->loop.post(ReleaseAfter{machine, turns - 1});
  }
};

TEST(ClusterUp, CanBeReleasedAtAnyMomentOfItsStart) {
  for (int turns = 0; turns < 100; turns += 4) {
    OneMachine machine;
    machine.start();
    ASSERT_FALSE(HasFatalFailure());
    machine.loop.post(ReleaseAfter{&machine, turns});
    machine.loop.advance(10s);
    EXPECT_FALSE(machine.failed);
  }
}

}  // namespace
}  // namespace koord::cluster
