// Service accounts: their identity, their tokens, and what their pods get.

#include "apiserver/access/access_testing.h"

namespace koord::apiserver::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr const char* kAccounts = "/api/v1/namespaces/default/serviceaccounts";

class ServiceAccountsTest : public AccessTest {
 protected:
  std::string token(const std::string& spec = "", const std::string& account = "default") {
    const auto answer = send(kAdmin, "POST", std::string(kAccounts) + "/" + account + "/token",
                             R"({"spec":{)" + spec + "}}");
    EXPECT_EQ(answer.status, 201) << answer.message();
    return std::string(textAt(answer.body, "status", "token"));
  }
  std::string whoIs(const std::string& token) {
    const auto answer =
        send(bearer(token), "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews");
    if (answer.status != 201) return std::to_string(answer.status);
    return std::string(textAt(answer.body, "status", "userInfo", "username"));
  }
};

TEST_F(ServiceAccountsTest, everyNamespaceHasItsAccountAtOnceAndAgain) {
  ASSERT_EQ(send(kAdmin, "POST", "/api/v1/namespaces", R"({"metadata":{"name":"shop"}})").status,
            201);
  const std::string shop = "/api/v1/namespaces/shop/";
  const auto uid = std::string(
      textAt(send(kAdmin, "GET", shop + "serviceaccounts/default").body, "metadata", "uid"));
  EXPECT_FALSE(uid.empty());
  EXPECT_EQ(
      textAt(send(kAdmin, "GET", shop + "configmaps/kube-root-ca.crt").body, "data", "ca.crt"),
      "the authority");
  EXPECT_EQ(send(kAdmin, "DELETE", shop + "serviceaccounts/default").status, 200);
  const auto again = send(kAdmin, "GET", shop + "serviceaccounts/default");
  EXPECT_EQ(again.status, 200);
  EXPECT_NE(textAt(again.body, "metadata", "uid"), uid);
  // Not while the namespace is being deleted.
  send(kAdmin, "DELETE", "/api/v1/namespaces/shop");
  send(kAdmin, "DELETE", shop + "serviceaccounts/default");
  EXPECT_EQ(send(kAdmin, "GET", shop + "serviceaccounts/default").status, 404);
}

TEST_F(ServiceAccountsTest, aTokenIsItsAccountUntilItExpires) {
  const auto text = token(R"("expirationSeconds":600)");
  EXPECT_EQ(whoIs(text), "system:serviceaccount:default:default");
  const auto review = send(kAdmin, "POST", "/apis/authentication.k8s.io/v1/tokenreviews",
                           R"({"spec":{"token":")" + text + "\"}}");
  EXPECT_EQ(
      toJson(review.body.at("status").at("user").at("groups")),
      R"(["system:serviceaccounts","system:serviceaccounts:default","system:authenticated"])");
  EXPECT_EQ(toJson(review.body.at("status").at("audiences")),
            R"(["https://kubernetes.default.svc.cluster.local"])");
  EXPECT_THAT(toJson(review.body),
              HasSubstr(R"("authentication.kubernetes.io/credential-id":["JTI=)"));
  EXPECT_EQ(
      send(bearer(text), "GET", kPods).message(),
      R"(pods is forbidden: User "system:serviceaccount:default:default" cannot list resource "pods" in API group "" in the namespace "default")");
  loop.advance(599s);
  EXPECT_EQ(whoIs(text), "system:serviceaccount:default:default");
  loop.advance(2s);
  EXPECT_EQ(whoIs(text), "401");
}

TEST_F(ServiceAccountsTest, forgedTokensAndThoseForOthersAreRefused) {
  auto text = token();
  const auto last = text.size() - 2;
  text[last] = text[last] == 'A' ? 'B' : 'A';
  EXPECT_EQ(whoIs(text), "401");
  EXPECT_EQ(whoIs("a.b.c"), "401");
  EXPECT_EQ(whoIs("wrong"), "401");
  const auto vault = token(R"("audiences":["vault"])");
  EXPECT_EQ(whoIs(vault), "401");
  const auto review = send(kAdmin, "POST", "/apis/authentication.k8s.io/v1/tokenreviews",
                           R"({"spec":{"audiences":["vault","x"],"token":")" + vault + "\"}}");
  EXPECT_EQ(review.body.at("status").at("authenticated"), true);
  EXPECT_EQ(toJson(review.body.at("status").at("audiences")), R"(["vault"])");
  const auto wrong = send(kAdmin, "POST", "/apis/authentication.k8s.io/v1/tokenreviews",
                          R"({"spec":{"token":"x.y.z"}})");
  EXPECT_EQ(find(wrong.body.at("status"), "authenticated"), nullptr);
}

TEST_F(ServiceAccountsTest, aTokenEndsWithWhatItIsBoundTo) {
  send(kAdmin, "POST", kAccounts, R"({"metadata":{"name":"robot"}})");
  const auto unbound = token("", "robot");
  send(kAdmin, "POST", kPods, pod("web", R"(,"serviceAccountName":"robot")"));
  send(kAdmin, "POST", "/api/v1/namespaces/default/secrets", R"({"metadata":{"name":"s"}})");
  const auto toPod =
      token(R"("boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":"web"})", "robot");
  const auto toSecret =
      token(R"("boundObjectRef":{"apiVersion":"v1","kind":"Secret","name":"s"})", "robot");
  for (const auto& text : {unbound, toPod, toSecret})
    EXPECT_EQ(whoIs(text), "system:serviceaccount:default:robot");
  send(kAdmin, "DELETE", std::string(kPods) + "/web");
  EXPECT_EQ(whoIs(toPod), "401");
  send(kAdmin, "POST", kPods, pod("web", R"(,"serviceAccountName":"robot")"));
  EXPECT_EQ(whoIs(toPod), "401") << "another pod of that name";
  send(kAdmin, "DELETE", "/api/v1/namespaces/default/secrets/s");
  EXPECT_EQ(whoIs(toSecret), "401");
  EXPECT_EQ(whoIs(unbound), "system:serviceaccount:default:robot");
  send(kAdmin, "DELETE", std::string(kAccounts) + "/robot");
  EXPECT_EQ(whoIs(unbound), "401");
}

TEST_F(ServiceAccountsTest, tokenRequestsAreChecked) {
  const auto ask = [&](const std::string& spec, const std::string& account = "default") {
    return send(kAdmin, "POST", std::string(kAccounts) + "/" + account + "/token",
                R"({"spec":{)" + spec + "}}");
  };
  EXPECT_THAT(ask(R"("expirationSeconds":599)").message(),
              HasSubstr("spec.expirationSeconds: Invalid value: 599: may not specify a duration "
                        "less than 10 minutes"));
  EXPECT_EQ(ask("", "none").message(), R"(serviceaccounts "none" not found)");
  EXPECT_EQ(ask(R"("boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":"none"})").message(),
            R"(pods "none" not found)");
  EXPECT_EQ(ask(R"("boundObjectRef":{"apiVersion":"v1","kind":"ConfigMap","name":"x"})").status,
            400);
  send(kAdmin, "POST", kAccounts, R"({"metadata":{"name":"robot"}})");
  send(kAdmin, "POST", kPods, pod("web"));
  EXPECT_EQ(
      ask(R"("boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":"web"})", "robot").message(),
      R"(cannot bind token for serviceaccount "robot" to pod running with serviceaccount "default")");
}

TEST_F(ServiceAccountsTest, podsRunAsAnAccountThatIsThere) {
  EXPECT_EQ(
      send(kAdmin, "POST", kPods, pod("web", R"(,"serviceAccountName":"robot")")).message(),
      R"(pods "web" is forbidden: error looking up service account default/robot: serviceaccount "robot" not found)");
  send(kAdmin, "POST", kAccounts,
       R"({"metadata":{"name":"robot"},"imagePullSecrets":[{"name":"pull"}],
           "automountServiceAccountToken":false})");
  const auto robot = send(kAdmin, "POST", kPods, pod("web", R"(,"serviceAccountName":"robot")"));
  ASSERT_EQ(robot.status, 201);
  EXPECT_EQ(toJson(robot.body.at("spec").at("imagePullSecrets")), R"([{"name":"pull"}])");
  EXPECT_EQ(at(robot.body, "spec", "volumes"), nullptr);

  const auto plain = send(kAdmin, "POST", kPods, pod("plain"));
  ASSERT_EQ(plain.status, 201);
  EXPECT_EQ(textAt(plain.body, "spec", "serviceAccountName"), "default");
  const auto& volumes = plain.body.at("spec").at("volumes").get_array();
  ASSERT_EQ(volumes.size(), 1u);
  const auto name = textAt(volumes[0], "name");
  EXPECT_TRUE(name.starts_with("kube-api-access-"));
  EXPECT_EQ(name.size(), std::string_view("kube-api-access-xxxxx").size());
  EXPECT_EQ(toJson(volumes[0].at("projected").at("sources").at(0)),
            R"({"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}})");
  const auto& mounts = plain.body.at("spec").at("containers").at(0).at("volumeMounts").get_array();
  ASSERT_EQ(mounts.size(), 1u);
  EXPECT_EQ(textAt(mounts[0], "mountPath"), "/var/run/secrets/kubernetes.io/serviceaccount");
  EXPECT_EQ(textAt(mounts[0], "name"), name);

  const auto own =
      send(kAdmin, "POST", kPods, pod("own", R"(,"automountServiceAccountToken":false)"));
  EXPECT_EQ(at(own.body, "spec", "volumes"), nullptr);
}

TEST_F(ServiceAccountsTest, theServiceKubernetesLeadsHere) {
  server->publish("127.0.0.1", 6443);
  const std::string default_ = "/api/v1/namespaces/default/";
  EXPECT_EQ(textAt(send(kAdmin, "GET", default_ + "services/kubernetes").body, "spec", "clusterIP"),
            "10.96.0.1");
  EXPECT_THAT(toJson(send(kAdmin, "GET", default_ + "endpoints/kubernetes").body),
              HasSubstr(R"("addresses":[{"ip":"127.0.0.1"}])"));
  send(kAdmin, "DELETE", default_ + "services/kubernetes");
  EXPECT_EQ(send(kAdmin, "GET", default_ + "services/kubernetes").status, 200);
  server->publish("127.0.0.1", 7443);
  EXPECT_THAT(toJson(send(kAdmin, "GET", default_ + "endpoints/kubernetes").body),
              HasSubstr("7443"));
}

TEST_F(ServiceAccountsTest, credentialsThatAreNoGoodAreNobodys) {
  EXPECT_EQ(
      send(bearer(""), "GET", kPods).message(),
      R"(pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group "" in the namespace "default")");
  EXPECT_EQ(send(bearer("wrong"), "GET", "/version").status, 200) << "open to all";
  const auto refused = [&](net::ServerRequest request) {
    request.method = "GET";
    request.target = kPods;
    const auto responder = std::make_shared<net::FakeResponder>();
    front->handle(std::move(request), responder);
    loop.runReady();
    return responder->status;
  };
  net::ServerRequest foreign;
  foreign.peerProblem = "unable to get local issuer certificate";
  EXPECT_EQ(refused(std::move(foreign)), 401);
  net::ServerRequest expired;
  expired.peer = std::make_shared<const net::PeerIdentity>(
      net::PeerIdentity{"root", {"system:masters"}, "", loop.wallNow() - 1s});
  EXPECT_EQ(refused(std::move(expired)), 401);
  net::ServerRequest nameless;
  nameless.peer = std::make_shared<const net::PeerIdentity>(
      net::PeerIdentity{"", {"system:masters"}, "", WallTime::max()});
  EXPECT_EQ(refused(std::move(nameless)), 403) << "a certificate without a name is nobody's";
}

TEST_F(ServiceAccountsTest, tokensThatWereGivenToTheServerAreForTheServer) {
  server->authenticator().setTokens({{"secret", User{"alice", "", {"dev"}, {}}}});
  const auto review = [&](const std::string& audiences) {
    return toJson(send(kAdmin, "POST", "/apis/authentication.k8s.io/v1/tokenreviews",
                       R"({"spec":{"token":"secret")" + audiences + "}}")
                      .body.at("status"));
  };
  const std::string own = "https://kubernetes.default.svc.cluster.local";
  EXPECT_THAT(review(""), HasSubstr(R"("authenticated":true)"));
  EXPECT_THAT(review(R"(,"audiences":["x",")" + own + R"("])"),
              HasSubstr(R"("audiences":[")" + own + R"("])"));
  EXPECT_THAT(review(R"(,"audiences":["x"])"), HasSubstr("invalid bearer token"));
}

TEST_F(ServiceAccountsTest, othersCanVerifyTokens) {
  const auto keys =
      send(user("system:serviceaccount:a:b", {"system:serviceaccounts"}), "GET", "/openid/v1/jwks");
  ASSERT_EQ(keys.status, 200);
  EXPECT_EQ(textAt(keys.body.at("keys").at(0), "crv"), "P-256");
  EXPECT_EQ(textAt(send(kAdmin, "GET", "/.well-known/openid-configuration").body, "issuer"),
            "https://kubernetes.default.svc.cluster.local");
  EXPECT_EQ(send(user("alice"), "GET", "/openid/v1/jwks").status, 403);
}

}  // namespace
}  // namespace koord::apiserver::testing
