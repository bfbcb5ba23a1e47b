#include "kube/retry.h"

#include <gtest/gtest.h>

#include "api/core.h"
#include "base/virtual_loop.h"
#include "kube/fake_api.h"

namespace koord::kube {
namespace {

using namespace std::chrono_literals;

constexpr const char* kLost = "the connection was lost";

class RetryTest : public ::testing::Test {
 protected:
  template <class T>
  static Task<void> keep(Task<T> task, std::optional<T>* into) {
    *into = co_await task;
  }
  template <class T>
  T run(Task<T> task, Duration limit = 5min) {
    std::optional<T> result;
    TaskGroup group;
    group.spawn(keep<T>(std::move(task), &result));
    loop_.advanceUntil([&] { return result.has_value(); }, limit);
    if (!result) throw std::runtime_error("did not end");
    return *std::move(result);
  }
  Result<json::value> change(Change change) {
    return run(
        changeObject(api_, loop_, Random(1), api::Node::kType, {"", "n"}, std::move(change)));
  }
  // One label, as callers write it.
  static Change label(std::string value) {
    return [value](const json::value& current) -> std::optional<json::value> {
      if (textAt(current, "metadata", "labels", "l") == value) return std::nullopt;
      return json::value{{"metadata", {{"labels", {{"l", value}}}}}};
    };
  }
  static std::string node(int version, std::string_view value) {
    return toJson({{"metadata",
                    {{"name", "n"},
                     {"resourceVersion", std::to_string(version)},
                     {"labels", {{"l", value}}}}}});
  }
  int count(Verb verb) const {
    return static_cast<int>(std::ranges::count(api_.calls, verb, &Request::verb));
  }

  VirtualLoop loop_;
  FakeApi api_{loop_};
};

TEST_F(RetryTest, AWriteWhoseAnswerWasLostIsNotRepeatedWhenItHasHappened) {
  std::string stored = node(5, "old");
  api_.answer = [&](const Request& request) -> Result<std::string> {
    if (request.verb == Verb::Get) return stored;
    EXPECT_EQ(textAt(*parseJson(request.body), "metadata", "resourceVersion"), "5");
    stored = node(6, "new");
    return fail(ErrorCode::Unavailable, kLost);
  };
  const auto changed = change(label("new"));
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(count(Verb::Patch), 1);
  EXPECT_EQ(textAt(*changed, "metadata", "resourceVersion"), "6");
}

TEST_F(RetryTest, AConflictIsReadAndTriedAgain) {
  int version = 5;
  api_.answer = [&](const Request& request) -> Result<std::string> {
    if (request.verb == Verb::Get) return node(version, "old");
    const auto body = parseJson(request.body);
    const auto wanted = textAt(*body, "metadata", "resourceVersion");
    if (version == 5) {
      ++version;
      return fail(ErrorCode::Conflict, "changed");
    }
    EXPECT_EQ(wanted, "6");
    return node(7, "new");
  };
  ASSERT_TRUE(change(label("new")));
  EXPECT_EQ(count(Verb::Patch), 2);
}

TEST_F(RetryTest, WhatIsThereAlreadyIsNotWritten) {
  api_.answer = [&](const Request&) { return Result<std::string>(node(5, "new")); };
  ASSERT_TRUE(change(label("new")));
  EXPECT_EQ(count(Verb::Patch), 0);
}

TEST_F(RetryTest, ErrorsThatARepeatCannotCureComeBackAtOnceOthersAfterTheLimit) {
  api_.answer = [](const Request&) {
    return Result<std::string>(fail(ErrorCode::Forbidden, "no"));
  };
  EXPECT_EQ(change(label("x")).error().code, ErrorCode::Forbidden);
  EXPECT_EQ(api_.calls.size(), 1u);
  api_.answer = [](const Request&) {
    return Result<std::string>(fail(ErrorCode::Unavailable, kLost));
  };
  const SteadyTime began = loop_.steadyNow();
  EXPECT_EQ(change(label("x")).error().message, kLost);
  EXPECT_GE(loop_.steadyNow() - began, 2min);
}

TEST_F(RetryTest, AServerThatWantsToBeLeftAloneForADayEndsNothingLater) {
  api_.answer = [&](const Request&) -> Result<std::string> {
    return fail(Error{ErrorCode::TooManyRequests, "later", 24h});
  };
  const auto changed = change(label("new"));
  EXPECT_FALSE(changed);
  EXPECT_EQ(count(Verb::Get), 2);
}

TEST_F(RetryTest, ACreationUnderAGeneratedNameHappensOnceHoweverOftenTheAnswerIsLost) {
  std::string stored;
  int answers = 0;
  api_.answer = [&](const Request& request) -> Result<std::string> {
    if (request.verb == Verb::Get) return stored;
    if (!stored.empty()) {
      EXPECT_EQ(textAt(*parseJson(request.body), "metadata", "name"),
                textAt(*parseJson(stored), "metadata", "name"));
      if (++answers < 3) return fail(ErrorCode::Unavailable, kLost);
      return fail(ErrorCode::AlreadyExists, "exists");
    }
    stored = request.body;
    return fail(ErrorCode::Timeout, kLost);
  };
  const json::value object{{"metadata", {{"generateName", "web-"}}}};
  const auto created = run(createOnce(api_, loop_, Random(1), api::Node::kType, object));
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_TRUE(textAt(*created, "metadata", "name").starts_with("web-"));
  EXPECT_EQ(count(Verb::Create), 4);
}

TEST_F(RetryTest, AnObjectWithANameOfItsOwnThatExistsIsLeftToTheCaller) {
  api_.answer = [](const Request&) {
    return Result<std::string>(fail(ErrorCode::AlreadyExists, "exists"));
  };
  const json::value object{{"metadata", {{"name", "web"}}}};
  const auto created = run(createOnce(api_, loop_, Random(1), api::Node::kType, object));
  EXPECT_EQ(created.error().code, ErrorCode::AlreadyExists);
  EXPECT_EQ(api_.calls.size(), 1u);
}

TEST_F(RetryTest, AnAnswerThatIsCutShortCountsAsLost) {
  std::string stored = node(5, "old");
  api_.answer = [&](const Request& request) -> Result<std::string> {
    if (request.verb == Verb::Get) return stored;
    stored = node(6, "new");
    return stored.substr(0, 20);
  };
  EXPECT_TRUE(change(label("new")));
  EXPECT_EQ(count(Verb::Patch), 1);
}

TEST_F(RetryTest, ADeletionIsDoneWhenThisIncarnationIsGone) {
  std::vector<Result<std::string>> answers{fail(ErrorCode::Unavailable, kLost),
                                           fail(ErrorCode::NotFound, "gone")};
  api_.answer = [&](const Request& request) -> Result<std::string> {
    EXPECT_EQ(textAt(*parseJson(request.body), "preconditions", "uid"), "u1");
    auto answer = answers.front();
    answers.erase(answers.begin());
    return answer;
  };
  EXPECT_TRUE(run(deleteOnce(api_, loop_, Random(1), api::Node::kType, {"", "n"}, "u1")));
  EXPECT_TRUE(answers.empty());
}

}  // namespace
}  // namespace koord::kube
