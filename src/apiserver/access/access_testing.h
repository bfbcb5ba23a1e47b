#pragma once

// For tests of authorization: a server with RBAC and service accounts behind its HTTP front end,
// and requests as different users in one line.

#include <gmock/gmock.h>

#include "apiserver/http_front.h"
#include "apiserver/testing.h"
#include "net/fake_responder.h"

namespace koord::apiserver::testing {

class AccessTest : public ServerTest {
 protected:
  void SetUp() override {
    loop.advance(std::chrono::hours(24));  // so that the clock is not near the epoch
    options.rbac = true;
    options.serviceAccounts.emplace().rootCaPem = "the authority";
    ServerTest::SetUp();
    HttpFrontOptions listen;
    listen.listen = "";
    listen.anonymous = true;
    front = *HttpFront::start(*server, std::move(listen));
  }

  struct As {
    std::string name;  // "" = no credentials
    std::vector<std::string> groups;
    std::string token;
    net::Headers headers;
  };
  inline static const As kAdmin{"root", {"system:masters"}, "", {}};
  inline static const As kNode{"system:node:n1", {"system:nodes"}, "", {}};
  static As user(std::string name, std::vector<std::string> groups = {}) {
    return {std::move(name), std::move(groups), "", {}};
  }
  static As bearer(std::string token) { return {"", {}, std::move(token), {}}; }
  static As admin(net::Headers headers) {
    return {"root", {"system:masters"}, "", std::move(headers)};
  }

  Answer send(const As& who, const std::string& method, const std::string& target,
              std::string body = "") {
    net::ServerRequest request;
    request.method = method;
    request.target = target;
    request.body = std::move(body);
    request.headers = who.headers;
    request.headers.push_back(
        {"Content-Type", method == "PATCH" ? "application/merge-patch+json" : "application/json"});
    if (!who.token.empty()) request.headers.push_back({"Authorization", "Bearer " + who.token});
    if (!who.name.empty())
      request.peer = std::make_shared<const net::PeerIdentity>(
          net::PeerIdentity{who.name, who.groups, "", WallTime::max()});
    const auto responder = std::make_shared<net::FakeResponder>();
    front->handle(std::move(request), responder);
    loop.runReady();
    Answer answer;
    answer.status = responder->status;
    if (auto body = parseJson(responder->body)) answer.body = *std::move(body);
    return answer;
  }

  // A Role or, without a namespace, a ClusterRole, bound to a subject: {"kind":"User","name":"x"}.
  void grant(const std::string& name, const std::string& namespace_, const std::string& rules,
             const std::string& subject) {
    const bool cluster = namespace_.empty();
    const std::string at =
        "/apis/rbac.authorization.k8s.io/v1/" + (cluster ? "" : "namespaces/" + namespace_ + "/");
    const auto role = send(kAdmin, "POST", at + (cluster ? "clusterroles" : "roles"),
                           R"({"metadata":{"name":")" + name + R"("},"rules":)" + rules + "}");
    EXPECT_EQ(role.status, 201) << role.message();
    bind(name, namespace_, cluster ? "ClusterRole" : "Role", name, subject);
  }
  void bind(const std::string& name, const std::string& namespace_, const std::string& kind,
            const std::string& role, const std::string& subject) {
    const bool cluster = namespace_.empty();
    const std::string at =
        "/apis/rbac.authorization.k8s.io/v1/" + (cluster ? "" : "namespaces/" + namespace_ + "/");
    const auto made =
        send(kAdmin, "POST", at + (cluster ? "clusterrolebindings" : "rolebindings"),
             R"({"metadata":{"name":")" + name +
                 R"("},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":")" + kind +
                 R"(","name":")" + role + R"("},"subjects":[)" + subject + "]}");
    EXPECT_EQ(made.status, 201) << made.message();
  }
  bool may(const As& who, const std::string& verb, const std::string& resource,
           const std::string& namespace_ = "default") {
    const auto review =
        send(who, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
             R"({"spec":{"resourceAttributes":{"verb":")" + verb + R"(","resource":")" + resource +
                 R"(","namespace":")" + namespace_ + R"("}}})");
    EXPECT_EQ(review.status, 201) << review.message();
    const auto* allowed = at(review.body, "status", "allowed");
    return allowed && allowed->get_bool();
  }

  std::unique_ptr<HttpFront> front;
};

}  // namespace koord::apiserver::testing
