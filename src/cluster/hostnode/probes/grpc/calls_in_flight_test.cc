#include "cluster/grpc/calls_in_flight.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

namespace koord::cluster {
namespace {

// Runs posted functions before post returns, as the loop's thread may.
class AtOnce final : public Executor {
 public:
  std::function<void()> then;
  void post(Callback fn) override {
    {
      Callback run = std::move(fn);
      run();
    }
    if (auto next = std::exchange(then, nullptr)) next();
  }
  TimerId runAt(SteadyTime, Callback) override { return 0; }
  void cancel(TimerId) override {}
  WallTime wallNow() const override { return {}; }
  SteadyTime steadyNow() const override { return {}; }
};

// All calls have the same address, one after the other.
struct Call {
  ::grpc::ClientContext context;
};
struct Place {
  alignas(Call) std::byte bytes[sizeof(Call)];
  std::shared_ptr<Call> make() {
    return {new (bytes) Call, [](Call* call) { std::destroy_at(call); }};
  }
};

TEST(CallsInFlightTest, ACallThatFollowsAtTheSameAddressIsAnotherOne) {
  AtOnce executor;
  Place place;
  CallsInFlight calls(executor);
  std::function<void(::grpc::Status)> answers[2];
  int done = 0;
  const auto begin = [&](int number) {
    calls.begin(
        place.make(), [&, number](Call&, auto answered) { answers[number] = std::move(answered); },
        [&](const ::grpc::Status&, Call&) { ++done; });
  };
  begin(0);
  EXPECT_EQ(calls.unanswered(), 1U);
  executor.then = [&] {
    EXPECT_EQ(calls.unanswered(), 0U) << "what is gone must not be cancelled";
    begin(1);
  };
  std::exchange(answers[0], nullptr)(::grpc::Status::OK);
  EXPECT_EQ(calls.unanswered(), 1U);
  std::exchange(answers[1], nullptr)(::grpc::Status::OK);
  EXPECT_EQ(calls.unanswered(), 0U);
  EXPECT_EQ(done, 2);
}

}  // namespace
}  // namespace koord::cluster
