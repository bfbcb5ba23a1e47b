#include "kube/leader_election.h"

#include <gtest/gtest.h>

#include "base/virtual_loop.h"
#include "kube/fake_api.h"

namespace koord::kube {
namespace {

using namespace std::chrono_literals;

// A server that keeps one Lease and checks resource versions.
class LeaseServer {
 public:
  explicit LeaseServer(FakeApi& api) : api_(api) {
    api_.answer = [this](const Request& request) { return handle(request); };
  }
  bool reachable = true;
  json::object lease;  // empty = none
  int version = 0;

 private:
  Result<std::string> handle(const Request& request) {
    if (!reachable) return fail(ErrorCode::Unavailable, "unreachable");
    if (request.verb == Verb::Get) {
      if (lease.empty()) return fail(ErrorCode::NotFound, "no lease");
      return toJson(lease);
    }
    // Of the verbs that write, the roles that come with Kubernetes have these two.
    EXPECT_TRUE(request.verb == Verb::Create || request.verb == Verb::Update);
    auto body = *parseJson(request.body);
    if (request.verb == Verb::Create) {
      if (!lease.empty()) return fail(ErrorCode::AlreadyExists, "exists");
      lease = body.as_object();
    } else {
      if (textAt(body, "metadata", "resourceVersion") != std::to_string(version))
        return fail(ErrorCode::Conflict, "conflict");
      lease = body.as_object();
    }
    lease["metadata"].as_object()["resourceVersion"] = std::to_string(++version);
    return toJson(lease);
  }
  FakeApi& api_;
};

struct Candidate {
  Candidate(FakeApi& api, Executor& loop, std::string identity)
      : elector(
            api, loop, {.leaseName = "test", .identity = identity}, Random(7),
            [this] { ++started; }, [this] { ++stopped; }) {}
  int started = 0;
  int stopped = 0;
  LeaderElector elector;
};

class LeaderElectionTest : public ::testing::Test {
 protected:
  VirtualLoop loop_;
  FakeApi api_{loop_};
  LeaseServer server_{api_};
};

TEST_F(LeaderElectionTest, TheFirstCandidateLeadsAndTheSecondWaits) {
  Candidate a(api_, loop_, "a"), b(api_, loop_, "b");
  a.elector.start();
  loop_.advance(100ms);
  b.elector.start();
  loop_.advance(60s);
  EXPECT_TRUE(a.elector.leading());
  EXPECT_FALSE(b.elector.leading());
  EXPECT_EQ(a.stopped, 0);
}

TEST_F(LeaderElectionTest, RenewingIsOneRequestAndKeepsWhatOthersHaveWritten) {
  Candidate a(api_, loop_, "a");
  a.elector.start();
  loop_.advance(1s);
  // Another client changes the lease: the next renewal fails and is repeated on the new state.
  server_.lease["spec"].as_object()["strategy"] = "OldestEmulationVersion";
  server_.lease["metadata"].as_object()["resourceVersion"] = std::to_string(++server_.version);
  loop_.advance(20s);
  EXPECT_TRUE(a.elector.leading());
  EXPECT_EQ(textAt(server_.lease["spec"], "strategy"), "OldestEmulationVersion");
  EXPECT_EQ(server_.lease["spec"].at("leaseTransitions"), 0);
  // GET and POST, ten renewals, the failed renewal and the GET after it.
  EXPECT_EQ(api_.calls.size(), 2u + 10 + 2);
}

TEST_F(LeaderElectionTest, WhatOthersHaveToKnowOfTheLeaderIsInTheAnnotationsOfItsLease) {
  std::string ofA = "of a", ofB = "of b";
  const auto candidate = [&](const char* identity, const std::string& certificate) {
    using Annotations = std::map<std::string, std::string>;
    return LeaderElector(
        api_, loop_,
        {.leaseName = "test",
         .identity = identity,
         .annotations = [&certificate] { return Annotations{{"certificate", certificate}}; }},
        Random(7), [] {}, [] {});
  };
  auto first = candidate("a", ofA), second = candidate("b", ofB);
  first.start();
  loop_.advance(1s);
  EXPECT_EQ(textAt(json::value(server_.lease), "metadata", "annotations", "certificate"), "of a");
  ofA = "renewed";
  loop_.advance(5s);
  EXPECT_EQ(textAt(json::value(server_.lease), "metadata", "annotations", "certificate"),
            "renewed");
  first.release([] {});
  second.start();
  loop_.advance(5s);
  EXPECT_EQ(textAt(json::value(server_.lease), "metadata", "annotations", "certificate"), "of b");
}

TEST_F(LeaderElectionTest, ALeaseSaysNoLessThanItsLeaderCountsOn) {
  LeaderElector elector(
      api_, loop_,
      {.leaseName = "test",
       .identity = "a",
       .leaseDuration = 2500ms,
       .renewDeadline = 2400ms,
       .retryPeriod = 500ms},
      Random(7), [] {}, [] {});
  elector.start();
  loop_.advance(1s);
  ASSERT_TRUE(elector.leading());
  EXPECT_EQ(server_.lease["spec"].at("leaseDurationSeconds"), 3);
}

TEST_F(LeaderElectionTest, ADeadLeaderIsFollowedAfterTheLeaseHasRunOut) {
  auto a = std::make_unique<Candidate>(api_, loop_, "a");
  Candidate b(api_, loop_, "b");
  a->elector.start();
  b.elector.start();
  loop_.advance(5s);
  a.reset();  // killed: nothing is released
  loop_.advance(10s);
  EXPECT_FALSE(b.elector.leading());
  loop_.advance(10s);
  EXPECT_TRUE(b.elector.leading());
  EXPECT_EQ(textAt(server_.lease["spec"], "holderIdentity"), "b");
}

TEST_F(LeaderElectionTest, AReleasedLeaseIsTakenAtOnce) {
  Candidate a(api_, loop_, "a"), b(api_, loop_, "b");
  a.elector.start();
  loop_.advance(100ms);
  b.elector.start();
  loop_.advance(1s);
  bool done = false;
  a.elector.release([&] { done = true; });
  loop_.advance(4s);
  EXPECT_TRUE(done);
  EXPECT_TRUE(b.elector.leading());
  EXPECT_EQ(server_.lease["spec"].at("leaseTransitions"), 1);
}

TEST_F(LeaderElectionTest, ALeaderThatCannotRenewStopsBeforeTheLeaseRunsOut) {
  Candidate a(api_, loop_, "a");
  a.elector.start();
  loop_.advance(3s);
  ASSERT_TRUE(a.elector.leading());
  server_.reachable = false;
  loop_.advance(9s);
  loop_.advance(1100ms);
  EXPECT_EQ(a.stopped, 1);
  EXPECT_FALSE(a.elector.leading());
}

TEST_F(LeaderElectionTest, AHungRequestDoesNotKeepAStaleLeader) {
  Candidate a(api_, loop_, "a");
  a.elector.start();
  loop_.advance(3s);
  ASSERT_TRUE(a.elector.leading());
  api_.latency = 1h;
  loop_.advance(12s);
  EXPECT_FALSE(a.elector.leading());
}

TEST_F(LeaderElectionTest, AJumpOfTheWallClockDoesNotStealALease) {
  Candidate a(api_, loop_, "a"), b(api_, loop_, "b");
  a.elector.start();
  loop_.advance(100ms);
  b.elector.start();
  loop_.advance(5s);
  loop_.jumpWallClock(10h);
  loop_.advance(20s);
  EXPECT_TRUE(a.elector.leading());
  EXPECT_FALSE(b.elector.leading());
}

}  // namespace
}  // namespace koord::kube
