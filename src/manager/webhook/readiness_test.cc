#include "manager/webhook/readiness.h"

#include <gtest/gtest.h>

#include "base/virtual_loop.h"

namespace koord::manager {
namespace {

using namespace std::chrono_literals;

// A slow webhook server.
struct SlowServer {
  Task<Result<>> answer() {
    ++asked;
    auto pause = sleepFor(loop, 50ms);
    co_await pause;
    if (up) co_return Result<>();
    co_return fail(ErrorCode::Unavailable, "down");
  }
  VirtualLoop loop;
  int asked = 0;
  bool up = true;
};

Task<void> keepReadiness(Readiness* readiness, std::vector<bool>* into) {
  auto asking = readiness->ask();
  const Result<> ready = co_await asking;
  into->push_back(ready.has_value());
}

TEST(Readiness, AThousandWhoAskCostOneRequest) {
  SlowServer server;
  Readiness readiness(server.loop, [&server] { return server.answer(); });
  TaskGroup tasks;
  std::vector<bool> answers;
  for (int i = 0; i < 1000; ++i) tasks.spawn(keepReadiness(&readiness, &answers));
  server.loop.advance(100ms);
  for (int i = 0; i < 1000; ++i) tasks.spawn(keepReadiness(&readiness, &answers));
  server.loop.runReady();
  EXPECT_EQ(answers, std::vector<bool>(2000, true));
  EXPECT_EQ(server.asked, 1);
}

TEST(Readiness, AfterASecondTheServerIsAskedAnew) {
  SlowServer server;
  Readiness readiness(server.loop, [&server] { return server.answer(); });
  TaskGroup tasks;
  std::vector<bool> answers;
  for (const bool up : {true, false, true}) {
    server.up = up;
    tasks.spawn(keepReadiness(&readiness, &answers));
    server.loop.advance(2s);
  }
  EXPECT_EQ(answers, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(server.asked, 3);
}

}  // namespace
}  // namespace koord::manager
