#include "kube/informer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/core.h"
#include "base/virtual_loop.h"
#include "kube/fake_api.h"

namespace koord::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

std::string node(std::string_view name, int version, std::string_view uid = "u") {
  return fmt::format(
      R"({{"kind":"Node","metadata":{{"name":"{}","uid":"{}-{}","resourceVersion":"{}"}}}})", name, name,
      uid, version);
}

std::string listOf(int version, const std::vector<std::string>& items, std::string_view next = "") {
  return fmt::format(R"({{"metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[{}]}})", version,
                     next, fmt::join(items, ","));
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
  send(event("MODIFIED",
             R"({"metadata":{"name":"a","resourceVersion":"11"},"spec":{"unschedulable":"maybe"}})"));
  EXPECT_EQ(informer_.get({"", "a"})->metadata.resourceVersion, "1");
}

TEST_F(InformerTest, ALateHandlerSeesWhatIsThere) {
  lists_ = {listOf(10, {node("a", 1)})};
  informer_.start();
  loop_.advance(1s);
  std::vector<std::string> names;
  informer_.addHandler({[&](const auto& n) { names.push_back(n->metadata.name); }, {}, {}});
  EXPECT_THAT(names, ElementsAre("a"));
}

}  // namespace
}  // namespace koord::kube
