#include "net/profiling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <ctime>

#include "base/virtual_loop.h"
#include "net/fake_responder.h"

namespace koord::net {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class ProfilingTest : public testing::Test {
 protected:
  ProfilingTest() { addProfiling(router_, loop_); }
  std::shared_ptr<FakeResponder> get(const std::string& target) {
    auto responder = std::make_shared<FakeResponder>();
    router_.handle({.method = "GET", .target = target}, responder);
    return responder;
  }
  static void burn(double seconds) {
    const std::clock_t end = std::clock() + static_cast<std::clock_t>(seconds * CLOCKS_PER_SEC);
    while (std::clock() < end) {
    }
  }

  VirtualLoop loop_;
  Router router_;
};

TEST_F(ProfilingTest, ACpuProfileHoldsStacksAndTheMapsToReadThemWith) {
  const auto reply = get("/debug/pprof/profile?seconds=2");
  EXPECT_FALSE(reply->ended);
  EXPECT_EQ(get("/debug/pprof/profile")->status, 409);
  // A sample every hundredth of a second; the thread sanitizer delays signals and delivers one of
  // them.
  burn(0.3);
  loop_.advance(2s);
  ASSERT_EQ(reply->status, 200);

  std::vector<std::uintptr_t> words(reply->body.size() / sizeof(std::uintptr_t));
  std::memcpy(words.data(), reply->body.data(), words.size() * sizeof(std::uintptr_t));
  ASSERT_GT(words.size(), 8u);
  EXPECT_EQ(std::vector(words.begin(), words.begin() + 5),
            (std::vector<std::uintptr_t>{0, 3, 0, 10'000, 0}));
  std::size_t at = 5, samples = 0;
  for (; at + 2 < words.size() && words[at] == 1; at += 2 + words[at + 1]) {
    EXPECT_GT(words[at + 1], 0u);
    ++samples;
  }
  EXPECT_GE(samples, 1u);
  EXPECT_EQ(std::vector(words.begin() + at, words.begin() + at + 3),
            (std::vector<std::uintptr_t>{0, 1, 0}));
  EXPECT_THAT(reply->body.substr((at + 3) * sizeof(std::uintptr_t)), HasSubstr("r-xp"));

  // The next one can be taken.
  const auto next = get("/debug/pprof/profile?seconds=1");
  loop_.advance(1s);
  EXPECT_EQ(next->status, 200);
}

TEST_F(ProfilingTest, BadDurationsAreRefused) {
  for (const char* seconds : {"0", "-1", "301", "x", "1s"})
    EXPECT_EQ(get(std::string("/debug/pprof/profile?seconds=") + seconds)->status, 400) << seconds;
}

TEST_F(ProfilingTest, HeapAndCommandLineAreTold) {
  EXPECT_THAT(get("/debug/pprof/heap")->body, HasSubstr("in use: "));
  EXPECT_THAT(get("/debug/pprof/cmdline")->body, HasSubstr("koord_net_tests"));
}

}  // namespace
}  // namespace koord::net
