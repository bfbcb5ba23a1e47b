#include "kube/request_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/virtual_loop.h"
#include "kube/fake_api.h"
#include "net/fake_responder.h"

namespace koord::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// A cluster that knows the tokens "reader" and "stranger", and lets reader get /metrics.
class RequestGuardTest : public ::testing::Test {
 protected:
  RequestGuardTest() {
    api_.answer = [this](const Request& request) -> Result<std::string> {
      if (!reachable) return fail(ErrorCode::Unavailable, "unreachable");
      const json::value body = *parseJson(request.body);
      const json::value* spec = at(body, "spec");
      if (!spec) return fail(ErrorCode::Invalid, "no spec");
      return toJson(
          json::object{{"status", request.resource == "tokenreviews" ? whoIs(textAt(*spec, "token"))
                                                                     : whether(*spec)}});
    };
  }
  json::object whoIs(std::string_view token) const {
    if (!known_ || (token != "reader" && token != "stranger")) return {{"authenticated", false}};
    return {
        {"authenticated", true},
        {"user", {{"username", token}, {"groups", json::array(groups_.begin(), groups_.end())}}}};
  }
  static Task<void> keepValid(const Caller* caller, Result<>* valid) {
    auto checking = caller->stillValid();
    *valid = co_await checking;
  }
  static json::object whether(const json::value& spec) {
    return {{"allowed", textAt(spec, "user") == "reader" &&
                            textAt(spec, "nonResourceAttributes", "path") == "/metrics" &&
                            textAt(spec, "nonResourceAttributes", "verb") == "get"}};
  }

  struct Answer {
    int status;
    std::string body;
  };
  Answer ask(RequestGuard& guard, net::ServerRequest request) {
    const auto responder = std::make_shared<net::FakeResponder>();
    guard.around([](net::ServerRequest, std::shared_ptr<net::Responder> to) {
      to->respond(200, {}, std::string("secret"));
    })(std::move(request), responder);
    loop_.advance(100ms);
    return {responder->status, responder->body};
  }
  static net::ServerRequest request(std::string target, std::string token = "") {
    net::ServerRequest request{.method = "GET", .target = std::move(target)};
    if (!token.empty()) request.headers.push_back({"Authorization", "Bearer " + token});
    return request;
  }
  static net::ServerRequest certified(std::string target, net::PeerIdentity peer) {
    net::ServerRequest request{.method = "GET", .target = std::move(target)};
    request.peer = std::make_shared<const net::PeerIdentity>(std::move(peer));
    return request;
  }

  static net::ServerRequest untrusted(std::string target) {
    net::ServerRequest request{.method = "GET", .target = std::move(target)};
    request.peerProblem = "unable to get local issuer certificate";
    return request;
  }

  VirtualLoop loop_;
  FakeApi api_{loop_};
  bool reachable = true;
  bool known_ = true;  // the tokens
  std::vector<std::string> groups_{"system:authenticated", "people"};
  RequestGuard guard_{loop_, &api_, &api_, {}};
};

TEST_F(RequestGuardTest, ACallerIsCheckedAgainAsLongAsAnAnswerLasts) {
  std::shared_ptr<const Caller> caller;
  RequestGuard guard(loop_, &api_, &api_, {.alwaysAllowPaths = {"/*"}, .tokenTtl = 5s});
  guard.around(RequestGuard::CallerHandler(
      [&](net::ServerRequest, std::shared_ptr<net::Responder>, std::shared_ptr<const Caller> by) {
        caller = std::move(by);
      }))(request("/feed", "reader"), std::make_shared<net::FakeResponder>());
  loop_.advance(1s);
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->name(), "reader");
  EXPECT_EQ(caller->token(), "reader");
  EXPECT_THAT(caller->identity(), HasSubstr(R"("groups":["system:authenticated","people"])"));
  Result<> valid;
  const auto check = [&] {
    TaskGroup tasks;
    tasks.spawn(keepValid(caller.get(), &valid));
    loop_.advance(6s);
    return valid ? std::string("valid") : std::string(reasonOf(valid.error().code));
  };
  EXPECT_EQ(check(), "valid");
  reachable = false;
  EXPECT_EQ(check(), reasonOf(ErrorCode::Unavailable));
  reachable = true;
  EXPECT_EQ(check(), "valid");
  groups_ = {"system:authenticated", "others"};
  EXPECT_EQ(check(), reasonOf(ErrorCode::Unauthorized)) << "another identity than before";
  groups_ = {"system:authenticated", "people"};
  known_ = false;
  EXPECT_EQ(check(), reasonOf(ErrorCode::Unauthorized));
}

TEST_F(RequestGuardTest, ATokenThatCannotBeCheckedIsNotValidOrIsReported) {
  RequestGuard telling(loop_, &api_, &api_, {.unavailableIs503 = true});
  EXPECT_EQ(ask(telling, request("/metrics", "nobody")).status, 401);
  reachable = false;
  EXPECT_EQ(ask(guard_, request("/metrics", "reader")).status, 401);
  const auto told = ask(telling, request("/metrics", "reader"));
  EXPECT_EQ(told.status, 503);
  EXPECT_THAT(told.body, HasSubstr("your token cannot be checked: unreachable"));
}

TEST_F(RequestGuardTest, WhoMayDoWhatIsAskedOfTheCluster) {
  struct Row {
    net::ServerRequest request;
    int status;
    const char* body;
  };
  const Row rows[] = {
      {request("/healthz?verbose"), 200, "secret"},
      {request("/healthz", "stranger"), 200, "secret"},
      {request("/healthz", "forged"), 401, R"("message":"Unauthorized")"},
      {request("/healthz/ping"), 403,
       R"(User \"system:anonymous\" cannot get path \"/healthz/ping\")"},
      {request("/metrics"), 403, R"(User \"system:anonymous\" cannot get path \"/metrics\")"},
      {request("/metrics?x=y", "reader"), 200, "secret"},
      {request("/configz", "reader"), 403, R"("reason":"Forbidden","details":{},"code":403)"},
      {request("/metrics", "stranger"), 403, R"(User \"stranger\" cannot get path \"/metrics\")"},
      {certified("/metrics", {"reader", {}}), 200, "secret"},
      {certified("/metrics", {"other", {}}), 403, R"(User \"other\" cannot get)"},
      {certified("/configz", {"admin", {"system:masters"}}), 200, "secret"},
      {certified("/metrics", {"reader", {}, "", WallTime{}}), 401, R"("message":"Unauthorized")"},
      {untrusted("/healthz"), 401, R"("message":"Unauthorized")"},
      {certified("/configz", {"", {"system:masters"}}), 401, R"("message":"Unauthorized")"},
      {request("/%6Detrics", "reader"), 200, "secret"},
      {request("/metrics#/healthz", "reader"), 200, "secret"},
      {request("/%zz", "reader"), 400, R"("reason":"BadRequest")"},
  };
  for (const Row& row : rows) {
    const auto answer = ask(guard_, row.request);
    EXPECT_EQ(answer.status, row.status) << row.request.target;
    EXPECT_THAT(answer.body, HasSubstr(row.body)) << row.request.target;
  }
}

TEST_F(RequestGuardTest, AnswersHoldForSomeSecondsAndRefusedTokensAreAskedAboutAgain) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(guard_, request("/metrics", "reader")).status, 200);
  EXPECT_EQ(api_.calls.size(), 2u);
  loop_.advance(11s);
  EXPECT_EQ(ask(guard_, request("/metrics", "reader")).status, 200);
  EXPECT_EQ(api_.calls.size(), 4u);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ask(guard_, request("/metrics", "forged")).status, 401);
  EXPECT_EQ(api_.calls.size(), 6u);
}

TEST_F(RequestGuardTest, WithoutAnAnswerNobodyIsLetIn) {
  reachable = false;
  EXPECT_EQ(ask(guard_, request("/metrics", "reader")).status, 401);
  const auto answer = ask(guard_, certified("/metrics", {"reader", {}}));
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body, "Internal Server Error: \"/metrics\": unreachable\n");
  EXPECT_EQ(ask(guard_, request("/livez")).status, 200);
}

TEST_F(RequestGuardTest, WithoutAClusterToAskTokensMeanNothing) {
  RequestGuard alone(loop_, nullptr, nullptr, {.alwaysAllowPaths = {"/debug/*"}});
  EXPECT_EQ(ask(alone, request("/metrics", "reader")).status, 403);
  EXPECT_EQ(ask(alone, request("/debug/flags", "forged")).status, 200);
  EXPECT_EQ(ask(alone, request("/healthz")).status, 403);
  EXPECT_EQ(ask(alone, certified("/metrics", {"admin", {"system:masters"}})).status, 200);
}

// A front proxy's certificate comes from the authority "fp", a client's from "ca".
class FrontProxyTest : public RequestGuardTest {
 protected:
  FrontProxyTest() {
    api_.answer = [this](const Request& request) -> Result<std::string> {
      asked_ = *parseJson(request.body);
      return toJson(json::object{{"status", {{"allowed", true}}}});
    };
  }
  static GuardOptions options() {
    GuardOptions options;
    options.clientAuthorities = {"ca"};
    options.requestHeaders.authorities = {"fp"};
    options.requestHeaders.allowedNames = {"proxy"};
    options.requestHeaders.uidHeaders = {"X-Remote-Uid"};
    return options;
  }
  int ask(std::string name, std::string authority, net::Headers headers) {
    auto request = certified("/metrics", {std::move(name), {"team"}, std::move(authority)});
    request.headers = std::move(headers);
    asked_ = nullptr;
    return RequestGuardTest::ask(proxied_, std::move(request)).status;
  }
  std::string spec() const {
    const json::value* spec = at(asked_, "spec");
    return spec ? toJson(*spec) : "";
  }

  json::value asked_;
  RequestGuard proxied_{loop_, &api_, &api_, options()};
};

TEST_F(FrontProxyTest, TheClientIsWhoTheProxySays) {
  EXPECT_EQ(ask("proxy", "fp",
                {{"x-remote-user", "anna"},
                 {"X-Remote-Group", "dev"},
                 {"x-remote-group", "ops"},
                 {"X-Remote-Uid", "7"},
                 {"X-Remote-Extra-Acme.com%2FProject", "one"},
                 {"x-remote-extra-acme.com%2fproject", "two"}}),
            200);
  EXPECT_EQ(spec(), R"({"user":"anna","groups":["dev","ops","system:authenticated"],)"
                    R"("nonResourceAttributes":{"path":"/metrics","verb":"get"},"uid":"7",)"
                    R"("extra":{"acme.com/project":["one","two"]}})");
}

TEST_F(FrontProxyTest, HeadersOfAnybodyElseMeanNothing) {
  const net::Headers forged{{"X-Remote-User", "admin"}, {"X-Remote-Group", "system:masters"}};
  EXPECT_EQ(ask("bert", "ca", forged), 200);
  EXPECT_THAT(spec(), HasSubstr(R"("user":"bert","groups":["team","system:authenticated"])"));
  EXPECT_EQ(ask("other", "fp", forged), 401);  // not one of the allowed names
  EXPECT_EQ(spec(), "");
  auto plain = request("/metrics");
  plain.headers = forged;
  EXPECT_EQ(RequestGuardTest::ask(proxied_, std::move(plain)).status, 200);
  EXPECT_THAT(spec(), HasSubstr("system:anonymous"));
}

TEST_F(FrontProxyTest, AProxyThatNamesNobodyIsNobody) {
  EXPECT_EQ(ask("proxy", "fp", {}), 401);
  EXPECT_EQ(ask("proxy", "fp", {{"X-Remote-User", ""}}), 401);
}

TEST_F(FrontProxyTest, AuthoritiesCanChange) {
  RequestHeaderOptions headers;
  headers.authorities = {"new"};
  proxied_.setAuthorities({"ca"}, headers);
  EXPECT_EQ(ask("whoever", "new", {{"X-Remote-User", "anna"}}), 200);
  EXPECT_THAT(spec(), HasSubstr("anna"));
  EXPECT_EQ(ask("proxy", "fp", {{"X-Remote-User", "anna"}}), 401);
}

TEST(RequestHeadersTest, TheClustersConfigMapIsReadWithItsMistakes) {
  const auto read =
      readRequestHeaders({{"requestheader-allowed-names", R"(["front-proxy-client"])"},
                          {"requestheader-username-headers", R"(["X-Remote-User"])"},
                          {"requestheader-group-headers", "null"}});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->allowedNames, std::vector<std::string>{"front-proxy-client"});
  EXPECT_EQ(read->usernameHeaders, std::vector<std::string>{"X-Remote-User"});
  EXPECT_TRUE(read->groupHeaders.empty());
  EXPECT_THAT(readRequestHeaders({{"requestheader-allowed-names", "[1]"}}).error().message,
              HasSubstr("requestheader-allowed-names"));
  EXPECT_FALSE(readRequestHeaders({{"requestheader-uid-headers", "x"}}));
}

}  // namespace
}  // namespace koord::kube
