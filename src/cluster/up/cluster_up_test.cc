#include "cluster/up/cluster_up.h"

#include <gtest/gtest.h>

#include "base/virtual_loop.h"

namespace koord::cluster {
namespace {

using namespace std::chrono_literals;

TEST(ClusterUp, NothingRunsOnOnceItsActorsAreReleased) {
  auto data = DataDir::temporary();
  ASSERT_TRUE(data) << data.error().message;
  UpOptions options;
  options.nodes = 2;
  options.hostNode = HostNodeMode::Off;
  options.components = {};
  options.inMemory = true;
  options.listen = "127.0.0.1:0";
  options.quiet = true;
  VirtualLoop loop;
  net::HttpClient http({.userAgent = "test"});
  Screen screen(true);
  auto cluster = ClusterUp::open(loop, http, options, *data, "koordctl", screen);
  ASSERT_TRUE(cluster) << cluster.error().message;
  bool failed = false;
  (*cluster)->start([&] { failed = true; });
  loop.advance(3s);  // the status is shown each second
  EXPECT_FALSE(failed);

  (*cluster)->releaseActors();
  loop.advance(3s);
}

}  // namespace
}  // namespace koord::cluster
