#include "kube/events.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/virtual_loop.h"
#include "kube/fake_api.h"

namespace koord::kube {
namespace {

using namespace std::chrono_literals;

class EventsTest : public ::testing::Test {
 protected:
  EventsTest() {
    api_.answer = [](const Request& request) { return Result<std::string>(request.body); };
  }
  int count(Verb verb) const {
    int n = 0;
    for (const auto& call : api_.calls) n += call.verb == verb;
    return n;
  }
  json::value lastBody() const { return *parseJson(api_.calls.back().body); }

  VirtualLoop loop_;
  FakeApi api_{loop_};
  EventRecorder recorder_{api_, loop_, "tester", Random(1)};
  api::ObjectReference pod_{.kind = "Pod", .namespace_ = "default", .name = "p", .uid = "1"};
};

TEST_F(EventsTest, TheFirstIsCreatedAndRepeatsRaiseItsCount) {
  for (int i = 0; i < 3; ++i) {
    recorder_.record(pod_, "Warning", "FailedScheduling", "0/1 nodes are available");
    loop_.advance(1s);
  }
  EXPECT_EQ(count(Verb::Create), 1);
  EXPECT_EQ(count(Verb::Patch), 2);
  EXPECT_EQ(lastBody().at("count").as_int64(), 3);
}

TEST_F(EventsTest, BytesThatAreNoTextDoNotCostTheEvent) {
  recorder_.record(pod_, "Warning", "Odd", "annotation a: got \"\xc3\"");
  loop_.advance(1s);
  ASSERT_EQ(count(Verb::Create), 1);
  EXPECT_EQ(textAt(lastBody(), "message"), "annotation a: got \"\ufffd\"");
}

TEST_F(EventsTest, AMessageOverTheLimitOfEventsIsCutBetweenCharacters) {
  recorder_.record(pod_, "Warning", "Long", std::string(1019, 'a') + "\u00e9 and more");
  loop_.advance(1s);
  EXPECT_EQ(textAt(lastBody(), "message"), std::string(1019, 'a') + " ...");
}

TEST_F(EventsTest, AnObjectThatFloodsIsHeldToItsBudget) {
  for (int i = 0; i < 100; ++i) {
    recorder_.record(pod_, "Normal", "Noise", "the same");
    loop_.advance(10ms);
  }
  EXPECT_EQ(count(Verb::Create) + count(Verb::Patch), 25);
  loop_.advance(301s);
  recorder_.record(pod_, "Normal", "Noise", "the same");
  loop_.advance(1s);
  EXPECT_EQ(count(Verb::Create) + count(Verb::Patch), 26);
}

TEST_F(EventsTest, WhatWasTooMuchToWriteCountsAllTheSame) {
  for (int i = 0; i < 40; ++i) recorder_.record(pod_, "Normal", "Flood", "text");
  loop_.advance(6min);
  recorder_.record(pod_, "Normal", "Flood", "text");
  loop_.advance(1s);
  EXPECT_EQ(count(Verb::Create), 1);
  EXPECT_EQ(count(Verb::Patch), 2) << "repeats that wait are one write";
  EXPECT_EQ(lastBody().at("count").as_int64(), 41);
}

TEST_F(EventsTest, ManyTextsOfOneReasonAreCombined) {
  for (int i = 0; i < 15; ++i) {
    recorder_.record(pod_, "Normal", "Varied", fmt::format("text {}", i));
    loop_.advance(10ms);
  }
  EXPECT_EQ(count(Verb::Create), 10);
  EXPECT_EQ(count(Verb::Patch), 5);
  EXPECT_EQ(textAt(lastBody(), "message"), "(combined from similar events): text 14");
}

TEST_F(EventsTest, AnEventThatExpiredOnTheServerIsWrittenAnewWithItsCount) {
  recorder_.record(pod_, "Normal", "Again", "text");
  loop_.advance(1s);
  api_.answer = [](const Request& request) -> Result<std::string> {
    if (request.verb == Verb::Patch) return fail(ErrorCode::NotFound, "gone");
    return request.body;
  };
  recorder_.record(pod_, "Normal", "Again", "text");
  loop_.advance(1s);
  EXPECT_EQ(count(Verb::Create), 2);
  EXPECT_EQ(lastBody().at("count").as_int64(), 2);
}

Result<std::string> refused(const Request&) {
  return fail(ErrorCode::Unavailable, "connection refused");
}

TEST_F(EventsTest, WhileTheApiCannotBeReachedRepeatsWaitAsOneEvent) {
  const auto works = std::exchange(api_.answer, refused);
  recorder_.record(pod_, "Normal", "First", "text");
  loop_.advance(100ms);
  for (int i = 0; i < 5; ++i) recorder_.record(pod_, "Normal", "Again", "text");
  api_.answer = works;
  loop_.advance(10s);
  EXPECT_EQ(count(Verb::Create), 3) << "the first one twice";
  EXPECT_EQ(count(Verb::Patch), 0);
  EXPECT_EQ(textAt(lastBody(), "reason"), "Again");
  EXPECT_EQ(lastBody().at("count").as_int64(), 5);
}

TEST_F(EventsTest, AnEventThatFailsDoesNotHoldUpOthers) {
  const auto works = std::exchange(api_.answer, refused);
  recorder_.record(pod_, "Normal", "First", "text");
  recorder_.record(pod_, "Normal", "Second", "text");
  api_.answer = [&](const Request& request) {
    return request.body.contains("First") ? refused(request) : works(request);
  };
  loop_.advance(5min);
  EXPECT_TRUE(std::ranges::any_of(
      api_.calls, [](const Request& call) { return call.body.contains("Second"); }));
  EXPECT_GE(count(Verb::Create), 10) << "the first is tried again";
}

TEST_F(EventsTest, ARepeatOfAnEventThatFailedCountsWithIt) {
  const auto works = std::exchange(api_.answer, refused);
  recorder_.record(pod_, "Normal", "First", "text");
  loop_.advance(100ms);
  recorder_.record(pod_, "Normal", "First", "text");
  api_.answer = works;
  loop_.advance(10s);
  EXPECT_EQ(count(Verb::Create), 2);
  EXPECT_EQ(lastBody().at("count").as_int64(), 2);
}

TEST_F(EventsTest, AnEventWhoseAnswerWasLostIsNotWrittenTwice) {
  api_.answer = [](const Request&) -> Result<std::string> {
    return fail(ErrorCode::Timeout, "no response in time");
  };
  recorder_.record(pod_, "Normal", "First", "text");
  loop_.advance(100ms);
  const std::string name(textAt(lastBody(), "metadata", "name"));
  api_.answer = [](const Request& request) -> Result<std::string> {
    if (request.verb == Verb::Create) return fail(ErrorCode::AlreadyExists, "it is there");
    return request.body;
  };
  loop_.advance(10s);
  EXPECT_EQ(api_.calls.back().verb, Verb::Patch);
  EXPECT_EQ(api_.calls.back().name, name);
  recorder_.record(pod_, "Normal", "First", "text");
  loop_.advance(1s);
  EXPECT_EQ(count(Verb::Create), 2);
  EXPECT_EQ(api_.calls.back().name, name);
  EXPECT_EQ(lastBody().at("count").as_int64(), 2);
}

TEST_F(EventsTest, AnUnreachableApiIsAskedForTwoMinutes) {
  api_.answer = refused;
  recorder_.record(pod_, "Normal", "First", "text");
  loop_.advance(10min);
  const int tries = count(Verb::Create);
  EXPECT_GE(tries, 10);
  EXPECT_LE(tries, 30);
  loop_.advance(10min);
  EXPECT_EQ(count(Verb::Create), tries);
}

TEST_F(EventsTest, AnEventThatTheApiRefusesIsDropped) {
  api_.answer = [](const Request&) -> Result<std::string> {
    return fail(ErrorCode::Forbidden, "may not");
  };
  recorder_.record(pod_, "Normal", "First", "text");
  loop_.advance(10min);
  EXPECT_EQ(count(Verb::Create), 1);
}

}  // namespace
}  // namespace koord::kube
