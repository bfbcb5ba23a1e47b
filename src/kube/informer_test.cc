#include "kube/informer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/core.h"
#include "api/protobuf/envelope.h"
#include "base/virtual_loop.h"
#include "kube/client.h"
#include "kube/fake_api.h"

namespace koord::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

std::string node(std::string_view name, int version, std::string_view uid = "u") {
  return fmt::format(
      R"({{"kind":"Node","metadata":{{"name":"{}","uid":"{}-{}","resourceVersion":"{}"}}}})", name,
      name, uid, version);
}

std::string listOf(int version, const std::vector<std::string>& items, std::string_view next = "") {
  return fmt::format(R"({{"metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[{}]}})",
                     version, next, fmt::join(items, ","));
}

std::string event(std::string_view type, const std::string& object) {
  return fmt::format(R"({{"type":"{}","object":{}}})", type, object);
}

class InformerTest : public ::testing::Test {
 protected:
  InformerTest() {
    api_.answer = [this](const Request& request) -> Result<std::string> {
      if (lists_.empty()) return fail(ErrorCode::Unavailable, "no more lists");
      auto next = lists_.front();
      lists_.erase(lists_.begin());
      (void)request;
      return next;
    };
    informer_.addHandler(
        {[this](const auto& n) { log_.push_back("+" + n->metadata.name); },
         [this](const auto&, const auto& n) { log_.push_back("~" + n->metadata.name); },
         [this](const auto& n) { log_.push_back("-" + n->metadata.name); }});
  }

  void send(const std::string& text) { api_.watches.front().sink.onEvent(text); }
  void close(Error error = {}) {
    const auto onClosed = api_.watches.front().sink.onClosed;
    onClosed(std::move(error));
    loop_.runReady();
  }
  // How many objects listObjects returns, or its error.
  std::string numberListed() {
    std::string outcome;
    TaskGroup tasks;
    tasks.spawn([](Api& api, std::string& text) -> Task<void> {
      auto listing = listObjects(api, api::Node::kType, "", "", "");
      const auto listed = co_await listing;
      text = listed ? std::to_string(find(*listed, "items")->get_array().size())
                    : listed.error().message;
    }(api_, outcome));
    loop_.advance(1s);
    return outcome;
  }
  std::vector<std::string> takeLog() { return std::exchange(log_, {}); }

  VirtualLoop loop_;
  FakeApi api_{loop_};
  std::vector<Result<std::string>> lists_;
  std::vector<std::string> log_;
  Informer<api::Node> informer_{api_, loop_};
};

TEST_F(InformerTest, ListsThenFollowsTheWatch) {
  lists_ = {listOf(10, {node("a", 3), node("b", 4)})};
  informer_.start();
  EXPECT_FALSE(informer_.synced());
  loop_.advance(10ms);
  EXPECT_TRUE(informer_.synced());
  EXPECT_THAT(takeLog(), ElementsAre("+a", "+b"));
  ASSERT_EQ(api_.watches.size(), 1u);
  EXPECT_EQ(api_.watches.front().request.query["resourceVersion"], "10");
  send(event("MODIFIED", node("a", 11)));
  send(event("DELETED", node("b", 12)));
  send(event("ADDED", node("c", 13)));
  EXPECT_THAT(takeLog(), ElementsAre("~a", "-b", "+c"));
  EXPECT_EQ(informer_.get({"", "a"})->metadata.resourceVersion, "11");
  EXPECT_EQ(informer_.get({"", "b"}), nullptr);
}

TEST_F(InformerTest, AnOptionalResourceThatIsNotThereHasNoObjectsAndIsAskedForAgain) {
  int syncs = 0;
  Informer<api::Node> optional(api_, loop_, {.optional = true});
  optional.onSynced([&] { ++syncs; });
  lists_ = {fail(ErrorCode::NotFound, "the server could not find the requested resource"),
            fail(ErrorCode::Forbidden, "not for you"), listOf(10, {node("a", 3)})};
  optional.start();
  loop_.advance(10ms);
  EXPECT_TRUE(optional.synced());
  EXPECT_EQ(optional.size(), 0u);
  loop_.advance(3min);
  EXPECT_EQ(optional.size(), 1u);
  EXPECT_EQ(syncs, 1);
}

TEST_F(InformerTest, WhatWasThereStaysWhenAServerThatStartsForbidsItForAWhile) {
  Informer<api::Node> optional(api_, loop_, {.optional = true});
  lists_ = {listOf(10, {node("a", 3)})};
  optional.start();
  loop_.advance(10ms);
  ASSERT_EQ(optional.size(), 1u);
  const Error forbidden{ErrorCode::Forbidden, "not yet", {}};
  lists_ = {fail(forbidden), fail(forbidden), listOf(20, {node("a", 3), node("b", 15)})};
  for (int i = 0; i < 6 && !api_.watches.empty(); ++i) {
    close(forbidden);
    loop_.advance(1min);
    EXPECT_GE(optional.size(), 1u);
  }
  loop_.advance(3min);
  EXPECT_EQ(optional.size(), 2u);

  // Its definition is gone: so are its objects.
  lists_ = {fail(ErrorCode::NotFound, "the server could not find the requested resource")};
  send(event("ERROR", R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})"));
  close();
  loop_.advance(10s);
  EXPECT_EQ(optional.size(), 0u);
}

TEST_F(InformerTest, AnAnswerThatIsNoListForgetsNothing) {
  lists_ = {listOf(10, {node("a", 3)})};
  informer_.start();
  loop_.advance(1s);
  takeLog();
  for (const char* odd : {"{}", R"({"kind":"Status","status":"Success"})", R"({"items":{}})", "[]"})
    lists_.emplace_back(odd);
  lists_.emplace_back(api::sealEnvelope("v1", "Status", ""));
  lists_.emplace_back(listOf(20, {node("b", 15)}));
  send(event("ERROR", R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})"));
  close();
  loop_.advance(100ms);
  EXPECT_EQ(informer_.size(), 1u);
  loop_.advance(1min);
  EXPECT_THAT(takeLog(), ElementsAre("+b", "-a"));
}

TEST_F(InformerTest, AnAnswerThatIsNoListIsNoListOfWholeObjectsEither) {
  for (const char* odd : {"{}", R"({"kind":"Status","status":"Success"})", R"({"items":{}})", "[]"})
    lists_.emplace_back(odd);
  lists_.emplace_back(listOf(10, {node("a", 3)}));
  lists_.emplace_back(R"({"items":null})");
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(numberListed(), "the response is not a list: it has no items") << i;
  EXPECT_EQ(numberListed(), "1");
  EXPECT_EQ(numberListed(), "0");
}

TEST_F(InformerTest, AClosedWatchGoesOnFromTheLastVersionSeenBookmarksIncluded) {
  lists_ = {listOf(10, {})};
  informer_.start();
  loop_.advance(10s);
  send(event("ADDED", node("a", 11)));
  send(event("BOOKMARK", node("", 50)));
  close();
  ASSERT_EQ(api_.watches.size(), 1u);
  EXPECT_EQ(api_.watches.front().request.query["resourceVersion"], "50");
  EXPECT_EQ(api_.calls.size(), 1u);
}

TEST_F(InformerTest, AnExpiredVersionListsAgainAndReportsWhatWasMissed) {
  lists_ = {listOf(10, {node("a", 1), node("b", 2), node("c", 3)}),
            listOf(90, {node("a", 1), node("c", 80, "reborn"), node("d", 81)})};
  informer_.start();
  loop_.advance(10s);
  takeLog();
  send(event("ERROR", R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})"));
  close();
  loop_.advance(1s);
  EXPECT_THAT(takeLog(), ElementsAre("-c", "+c", "+d", "-b"));
  EXPECT_EQ(api_.calls.back().query["limit"], "500");
  EXPECT_FALSE(api_.calls.back().query.contains("resourceVersion"));
}

TEST_F(InformerTest, FailedListsAreRepeatedWithBackOff) {
  lists_ = {fail(ErrorCode::Unavailable, "refused"), fail(ErrorCode::Unavailable, "refused"),
            listOf(10, {node("a", 1)})};
  informer_.start();
  loop_.advance(50ms);
  EXPECT_EQ(api_.calls.size(), 1u);
  loop_.advance(5s);
  EXPECT_EQ(api_.calls.size(), 3u);
  EXPECT_TRUE(informer_.synced());
}

TEST_F(InformerTest, PagesOfAListBecomeOneReplacement) {
  lists_ = {fail(ErrorCode::Gone, "too old"), listOf(10, {node("a", 1)}, "next"),
            listOf(10, {node("b", 2)})};
  informer_.start();
  loop_.advance(5s);
  EXPECT_THAT(takeLog(), ElementsAre("+a", "+b"));
  EXPECT_EQ(api_.calls.back().query["continue"], "next");
}

TEST_F(InformerTest, AnObjectThatCannotBeReadKeepsItsLastGoodVersion) {
  lists_ = {listOf(10, {node("a", 1)})};
  informer_.start();
  loop_.advance(1s);
  send(event(
      "MODIFIED",
      R"({"metadata":{"name":"a","resourceVersion":"11"},"spec":{"unschedulable":"maybe"}})"));
  EXPECT_EQ(informer_.get({"", "a"})->metadata.resourceVersion, "1");
}

TEST_F(InformerTest, AnObjectThatCannotBeReadIsNotTheOneThatWasThereBeforeIt) {
  lists_ = {listOf(10, {node("a", 1), node("b", 2)}),
            listOf(20, {R"({"metadata":{"name":"a","uid":"new","resourceVersion":"15"},
                            "spec":{"unschedulable":"maybe"}})",
                        node("b", 2)})};
  informer_.start();
  loop_.advance(1s);
  EXPECT_EQ(takeLog().size(), 2u);
  send(event("ERROR", R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})"));
  close();
  loop_.advance(1s);
  EXPECT_THAT(takeLog(), ElementsAre("-a"));
  EXPECT_EQ(informer_.get({"", "a"}), nullptr);
}

TEST_F(InformerTest, AHandlerThatThrowsKeepsNothingFromTheOthers) {
  lists_ = {listOf(10, {node("a", 1)})};
  std::vector<std::string> seen;
  const auto odd = [](const auto&) { throw std::out_of_range("an odd annotation"); };
  informer_.addHandler({odd, [](const auto&, const auto&) { throw 1; }, odd});
  informer_.addHandler({[&](const auto& n) { seen.push_back("+" + n->metadata.name); },
                        [&](const auto&, const auto& n) { seen.push_back("~" + n->metadata.name); },
                        [&](const auto& n) { seen.push_back("-" + n->metadata.name); }});
  informer_.start();
  loop_.advance(1s);
  EXPECT_TRUE(informer_.synced());
  send(event("MODIFIED", node("a", 11)));
  send(event("ADDED", node("b", 12)));
  send(event("DELETED", node("a", 13)));
  EXPECT_THAT(seen, ElementsAre("+a", "~a", "+b", "-a"));
}

TEST_F(InformerTest, ALateHandlerSeesWhatIsThere) {
  lists_ = {listOf(10, {node("a", 1)})};
  informer_.start();
  loop_.advance(1s);
  std::vector<std::string> names;
  informer_.addHandler({[&](const auto& n) { names.push_back(n->metadata.name); }, {}, {}});
  EXPECT_THAT(names, ElementsAre("a"));
}

TEST_F(InformerTest, ATransformAppliesToWhatIsKeptAndHandedOut) {
  lists_ = {listOf(10, {node("a", 1)})};
  informer_.setTransform([](api::Node& n) { n.metadata.labels["seen"] = "yes"; });
  informer_.start();
  loop_.advance(1s);
  EXPECT_EQ(informer_.get({"", "a"})->metadata.labels.at("seen"), "yes");
}

TEST_F(InformerTest, AResyncHandsOutEveryObjectAgain) {
  lists_ = {listOf(10, {node("a", 1)})};
  informer_.setResync(10min);
  informer_.start();
  loop_.advance(9min);
  EXPECT_THAT(takeLog(), ElementsAre("+a"));
  loop_.advance(2min);
  EXPECT_THAT(takeLog(), ElementsAre("~a"));
}

TEST_F(InformerTest, PagesThatExpireOnTheWayAreFollowedByAWholeList) {
  lists_ = {fail(ErrorCode::Gone, "too old"), listOf(10, {node("a", 1)}, "next"),
            fail(ErrorCode::Gone, "the continue token is too old"), listOf(20, {node("b", 2)})};
  informer_.start();
  loop_.advance(10s);
  ASSERT_EQ(api_.calls.size(), 4u);
  EXPECT_EQ(api_.calls[1].query["limit"], "500");
  EXPECT_FALSE(api_.calls[3].query.contains("limit"));
  EXPECT_THAT(takeLog(), ElementsAre("+a", "+b", "-a"));
}

TEST_F(InformerTest, AnOutageOfTheWatchDoesNotListAgain) {
  lists_ = {listOf(10, {node("a", 1)})};
  informer_.start();
  loop_.advance(10s);
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(api_.watches.size(), 1u);
    close({ErrorCode::Unavailable, "refused", {}});
    loop_.advance(2min);
  }
  EXPECT_EQ(api_.calls.size(), 1u);
}

// A server that knows streaming lists, as far as the test drives it.
class StreamingInformerTest : public InformerTest {
 protected:
  class StreamingApi final : public Api {
   public:
    explicit StreamingApi(FakeApi& fake) : fake_(fake) {}
    Task<Result<std::string>> call(Request request) override {
      return fake_.call(std::move(request));
    }
    std::unique_ptr<Watch> watch(Request request, WatchSink sink) override {
      asked.push_back(request);
      request.query.erase("sendInitialEvents");
      return fake_.watch(std::move(request), std::move(sink));
    }
    std::vector<Request> asked;

   private:
    FakeApi& fake_;
  };

  StreamingInformerTest() {
    streamed_.addHandler(
        {[this](const auto& n) { log_.push_back("+" + n->metadata.name); },
         [this](const auto&, const auto& n) { log_.push_back("~" + n->metadata.name); },
         [this](const auto& n) { log_.push_back("-" + n->metadata.name); }});
    streamed_.start();
    loop_.runReady();
  }
  void sendEnd(int version) {
    send(fmt::format(
        R"({{"type":"BOOKMARK","object":{{"kind":"Node","metadata":{{"resourceVersion":"{}",)"
        R"("annotations":{{"k8s.io/initial-events-end":"true"}}}}}}}})",
        version));
  }

  StreamingApi streaming_{api_};
  Informer<api::Node> streamed_{streaming_, loop_};
};

TEST_F(StreamingInformerTest, TheStateComesInTheWatchAndEndsWithABookmark) {
  EXPECT_EQ(streaming_.asked[0].query["sendInitialEvents"], "true");
  EXPECT_EQ(streaming_.asked[0].query["resourceVersionMatch"], "NotOlderThan");
  EXPECT_FALSE(streaming_.asked[0].query.contains("resourceVersion"));
  send(event("ADDED", node("a", 3)));
  send(event("ADDED", node("b", 9)));
  EXPECT_FALSE(streamed_.synced());
  sendEnd(12);
  EXPECT_TRUE(streamed_.synced());
  loop_.advance(5min);
  close();
  EXPECT_EQ(streaming_.asked[1].query["resourceVersion"], "12");
  EXPECT_FALSE(streaming_.asked[1].query.contains("sendInitialEvents"));
  EXPECT_TRUE(api_.calls.empty());
}

TEST_F(StreamingInformerTest, WhatIsMissingFromANewStateHasBeenDeleted) {
  send(event("ADDED", node("a", 3)));
  send(event("ADDED", node("b", 4)));
  sendEnd(12);
  loop_.advance(10s);
  send(event("ERROR", R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})"));
  close();
  EXPECT_FALSE(streaming_.asked[1].query.contains("resourceVersion"));
  takeLog();
  send(event("ADDED", node("b", 4)));
  send(event("ADDED", node("c", 20)));
  EXPECT_EQ(streamed_.size(), 3u);  // nothing is known to be gone before the state is complete
  sendEnd(21);
  EXPECT_THAT(takeLog(), ElementsAre("+c", "-a"));
}

TEST_F(StreamingInformerTest, AStateThatIsAlwaysCutIsAskedForEverMoreRarely) {
  for (int i = 0; i < 600; ++i) {
    if (!api_.watches.empty()) {
      send(event("ADDED", node("a", 3)));
      close({ErrorCode::Unavailable, "connection reset", {}});
    }
    loop_.advance(1s);
  }
  // 200 ms doubling to 30 s, each up to twice as long.
  EXPECT_LT(streaming_.asked.size(), 40u);
  EXPECT_GT(streaming_.asked.size(), 10u);
}

TEST_F(StreamingInformerTest, AServerThatNeverEndsTheStateIsAskedForAList) {
  lists_ = {listOf(30, {node("a", 3)})};
  send(event("ADDED", node("a", 3)));
  loop_.advance(5s);
  send(event("ADDED", node("b", 4)));
  loop_.advance(9s);
  EXPECT_TRUE(api_.calls.empty());
  loop_.advance(2s);
  EXPECT_EQ(api_.calls.size(), 1u);
  EXPECT_TRUE(streamed_.synced());
  EXPECT_EQ(streamed_.size(), 1u);
  EXPECT_EQ(streaming_.asked.back().query["resourceVersion"], "30");
}

}  // namespace
}  // namespace koord::kube
