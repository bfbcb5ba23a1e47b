#include "apiserver/access/reviews.h"

#include <gtest/gtest.h>

namespace koord::apiserver {
namespace {

const User kNode{"system:node:n1", "", {"system:nodes"}};

TEST(ReviewsTest, AnAdminMayDoEverythingAndAKubeletWhatIsItsOwn) {
  const struct {
    const char* name;
    User user;
    Access access;
    bool allowed;
  } cases[] = {
      {"the admin deletes a node", {}, {"delete", "", "nodes", "", "", "n2"}, true},
      {"a kubelet reads another node", kNode, {"get", "", "nodes", "", "", "n2"}, true},
      {"a kubelet patches its node", kNode, {"patch", "", "nodes", "status", "", "n1"}, true},
      {"a kubelet patches another node", kNode, {"patch", "", "nodes", "", "", "n2"}, false},
      {"a kubelet renews its lease",
       kNode,
       {"update", "coordination.k8s.io", "leases", "", "kube-node-lease", "n1"},
       true},
      {"a kubelet takes the lease of a leader",
       kNode,
       {"update", "coordination.k8s.io", "leases", "", "kube-system", "n1"},
       false},
      {"a kubelet patches a pod", kNode, {"patch", "", "pods", "", "default", "p"}, false},
      {"a kubelet binds a pod", kNode, {"create", "", "pods", "binding", "default", "p"}, false},
      {"a kubelet evicts a pod", kNode, {"create", "", "pods", "eviction", "default", "p"}, true},
      {"a kubelet writes a custom object",
       kNode,
       {"update", "slo.koordinator.sh", "nodemetrics"},
       true},
      {"a kubelet of no node writes",
       {"kubelet", "", {"system:nodes"}},
       {"update", "", "nodes"},
       false},
  };
  for (const auto& test : cases)
    EXPECT_EQ(mayAccess(test.user, test.access).allowed, test.allowed) << test.name;
}

json::value ask(const std::string& path, const std::string& spec, const User& user = {}) {
  const User alice{"alice", "7", {"dev"}};
  const auto reply =
      answerReview(path, "{\"kind\":\"R\",\"spec\":" + spec + "}", user,
                   [&](std::string_view token) { return token == "t" ? &alice : nullptr; });
  EXPECT_TRUE(reply) << path;
  return reply ? *parseJson(*reply->body) : json::value{};
}

TEST(ReviewsTest, EveryReviewHasItsStatus) {
  const std::string authorization = "/apis/authorization.k8s.io/v1/";
  const std::string authentication = "/apis/authentication.k8s.io/v1/";
  const std::string patch =
      R"("resourceAttributes":{"verb":"patch","resource":"nodes","name":"n2"})";
  EXPECT_EQ(
      ask(authorization + "selfsubjectaccessreviews", "{" + patch + "}").at("status").at("allowed"),
      true);
  EXPECT_EQ(ask(authorization + "selfsubjectaccessreviews", "{" + patch + "}", kNode)
                .at("status")
                .at("allowed"),
            false);
  EXPECT_EQ(ask(authorization + "subjectaccessreviews",
                R"({"user":"system:node:n1","groups":["system:nodes"],)" + patch + "}")
                .at("status")
                .at("allowed"),
            false);
  EXPECT_EQ(ask(authorization + "selfsubjectrulesreviews", "{}").at("status").at("incomplete"),
            false);
  EXPECT_EQ(
      ask(authorization + "selfsubjectrulesreviews", "{}", kNode).at("status").at("incomplete"),
      true);
  EXPECT_EQ(textAt(ask(authentication + "tokenreviews", R"({"token":"t"})"), "status", "user",
                   "username"),
            "alice");
  EXPECT_EQ(
      ask(authentication + "tokenreviews", R"({"token":"x"})").at("status").at("authenticated"),
      false);
  EXPECT_EQ(textAt(ask(authentication + "selfsubjectreviews", "{}", kNode), "status", "userInfo",
                   "username"),
            "system:node:n1");
  EXPECT_FALSE(answerReview("/api/v1/pods", "{}", {}, {}));
}

}  // namespace
}  // namespace koord::apiserver
