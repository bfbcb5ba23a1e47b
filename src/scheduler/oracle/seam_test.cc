#include "scheduler/oracle/seam.h"

#include <gmock/gmock.h>

#include "base/virtual_loop.h"
#include "kube/fake_api.h"

namespace koord::scheduler::oracle::testing {
namespace {

using ::testing::ElementsAre;

TEST(Seam, an_open_call_is_answered_when_all_that_is_ready_has_run) {
  VirtualLoop loop;
  kube::FakeApi api(loop);
  api.latency = std::chrono::hours(1);
  Seam seam(loop, api);
  std::vector<std::string> events;
  TaskGroup tasks;
  const auto bind = [](Seam& seam, std::vector<std::string>& events) -> Task<void> {
    kube::Request request;
    request.verb = kube::Verb::Create;
    auto calling = seam.api.call(std::move(request));
    const auto answer = co_await calling;
    events.push_back(answer.value_or("no answer"));
  };
  tasks.spawn(bind(seam, events));
  loop.runReady();
  EXPECT_THAT(events, ElementsAre());
  seam.executor.cut();
  seam.api.cut([](const kube::Request&) { return Result<std::string>("bound"); });
  // A new pod, and the turn in which it is tried.
  seam.executor.post([&] {
    events.push_back("new");
    seam.executor.post([&] { events.push_back("tried"); });
  });
  const SteadyTime now = seam.executor.steadyNow();
  seam.executor.runReady([] { return false; });
  EXPECT_THAT(events, ElementsAre("new", "tried", "bound"));
  EXPECT_EQ(seam.executor.steadyNow(), now);
}

}  // namespace
}  // namespace koord::scheduler::oracle::testing
