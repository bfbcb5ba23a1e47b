// Deletion: grace periods, finalizers, preconditions, collections, namespaces, binding.

#include <gmock/gmock.h>

#include "apiserver/testing.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::HasSubstr;

class DeleteTest : public ServerTest {
 protected:
  void bindTo(const std::string& pod, const std::string& node) {
    ASSERT_EQ(post(std::string(kPods) + "/" + pod + "/binding",
                   R"({"metadata":{"name":")" + pod + R"("},"target":{"kind":"Node","name":")" +
                       node + "\"}}")
                  .status,
              201);
  }
  std::string path(const std::string& pod) { return std::string(kPods) + "/" + pod; }
};

TEST_F(DeleteTest, aPodOnANodeGoesInTwoSteps) {
  post(kPods, pod("web"));
  bindTo("web", "n1");
  const auto first = remove(path("web"));
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(textAt(first.body, "metadata", "deletionTimestamp"), "2026-01-01T00:00:30Z");
  EXPECT_EQ(*at(get(path("web")).body, "metadata", "deletionGracePeriodSeconds"), 30);
  // A second deletion shortens the time, never lengthens it.
  remove(path("web"), R"({"gracePeriodSeconds":5})");
  EXPECT_EQ(*at(get(path("web")).body, "metadata", "deletionGracePeriodSeconds"), 5);
  remove(path("web"), R"({"gracePeriodSeconds":60})");
  EXPECT_EQ(*at(get(path("web")).body, "metadata", "deletionGracePeriodSeconds"), 5);
  EXPECT_EQ(remove(path("web"), R"({"gracePeriodSeconds":0})").status, 200);
  EXPECT_EQ(get(path("web")).status, 404);
}

TEST_F(DeleteTest, aGracePeriodOfCenturiesEndsAsLateAsCanBeSaid) {
  for (const char* seconds : {"9000000000", "9223372036854775807"}) {
    post(kPods, pod("web"));
    bindTo("web", "n1");
    const auto deleted =
        remove(path("web"), std::string(R"({"gracePeriodSeconds":)") + seconds + "}");
    EXPECT_EQ(textAt(deleted.body, "metadata", "deletionTimestamp").substr(0, 5), "2262-");
    EXPECT_EQ(toJson(*at(deleted.body, "metadata", "deletionGracePeriodSeconds")), seconds);
    EXPECT_EQ(remove(path("web"), R"({"gracePeriodSeconds":0})").status, 200);
  }
}

TEST_F(DeleteTest, aPodThatWasNeverPlacedGoesAtOnce) {
  post(kPods, pod("web"));
  EXPECT_EQ(remove(path("web")).status, 200);
  EXPECT_EQ(get(path("web")).status, 404);
}

TEST_F(DeleteTest, finalizersKeepAnObjectUntilTheLastIsGone) {
  post("/api/v1/namespaces/default/configmaps",
       R"({"metadata":{"name":"c","finalizers":["example.com/a","example.com/b"]}})");
  const std::string at_ = "/api/v1/namespaces/default/configmaps/c";
  EXPECT_EQ(remove(at_).status, 200);
  EXPECT_FALSE(textAt(get(at_).body, "metadata", "deletionTimestamp").empty());
  const auto more =
      mergePatch(at_, R"({"metadata":{"finalizers":["example.com/a","example.com/c"]}})");
  EXPECT_EQ(more.status, 422);
  EXPECT_THAT(more.message(), HasSubstr("no new finalizers can be added"));
  EXPECT_EQ(mergePatch(at_, R"({"metadata":{"finalizers":["example.com/b"]}})").status, 200);
  EXPECT_EQ(get(at_).status, 200);
  EXPECT_EQ(mergePatch(at_, R"({"metadata":{"finalizers":null}})").status, 200);
  EXPECT_EQ(get(at_).status, 404);
}

TEST_F(DeleteTest, propagationPoliciesBecomeFinalizers) {
  for (const auto& [policy, finalizer] :
       {std::pair{"Foreground", "foregroundDeletion"}, std::pair{"Orphan", "orphan"}}) {
    const std::string name = policy == std::string("Orphan") ? "o" : "f";
    post("/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":")" + name + "\"}}");
    remove("/api/v1/namespaces/default/configmaps/" + name,
           std::string(R"({"propagationPolicy":")") + policy + "\"}");
    const auto left = get("/api/v1/namespaces/default/configmaps/" + name).body;
    EXPECT_EQ(*at(left, "metadata", "finalizers"), json::value({finalizer}));
  }
  post("/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"b"}})");
  remove("/api/v1/namespaces/default/configmaps/b?propagationPolicy=Background");
  EXPECT_EQ(get("/api/v1/namespaces/default/configmaps/b").status, 404);
}

TEST_F(DeleteTest, preconditionsGuardAgainstDeletingAnother) {
  const auto made = post(kPods, pod("web"));
  const auto wrong = remove(path("web"), R"({"preconditions":{"uid":"other"}})");
  EXPECT_EQ(wrong.status, 409);
  EXPECT_THAT(wrong.message(), HasSubstr("Precondition failed: UID in precondition: other"));
  EXPECT_EQ(remove(path("web"), R"({"preconditions":{"resourceVersion":"1"}})").status, 409);
  EXPECT_EQ(remove(path("web"), R"({"preconditions":{"uid":")" +
                                    std::string(textAt(made.body, "metadata", "uid")) + "\"}}")
                .status,
            200);
}

TEST_F(DeleteTest, aCollectionIsDeletedBySelector) {
  for (const auto* name : {"a", "b", "c"})
    post(kPods, pod(name, "", name == std::string("b") ? R"({"keep":"yes"})" : "{}"));
  EXPECT_EQ(remove(std::string(kPods) + "?labelSelector=!keep").status, 200);
  const auto left = get(kPods).body.at("items").get_array();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(textAt(left[0], "metadata", "name"), "b");
}

TEST_F(DeleteTest, aDryRunInTheBodyDeletesNothing) {
  post(kPods, pod("a"));
  EXPECT_EQ(remove(std::string(kPods) + "/a", R"({"dryRun":["All"]})").status, 200);
  EXPECT_EQ(remove(kPods, R"({"dryRun":["All"]})").status, 200);
  for (const auto* body :
       {R"({"dryRun":["Rubbish"]})", R"({"dryRun":["All","x"]})", R"({"dryRun":[1]})"})
    for (const std::string path : {std::string(kPods) + "/a", std::string(kPods)})
      EXPECT_EQ(remove(path, body).status, 422) << body;
  EXPECT_EQ(remove(std::string(kPods) + "/a", R"({"dryRun":"All"})").status, 400);
  EXPECT_EQ(
      remove(std::string(kPods) + "/a", R"({"propagationPolicy":"Orphan","orphanDependents":true})")
          .status,
      422);
  EXPECT_EQ(get(std::string(kPods) + "/a").status, 200);
}

TEST_F(DeleteTest, aNamespaceTakesNothingNewWhileItGoes) {
  post("/api/v1/namespaces", R"({"metadata":{"name":"team"}})");
  EXPECT_EQ(remove("/api/v1/namespaces/team").status, 200);
  const auto now = get("/api/v1/namespaces/team").body;
  EXPECT_EQ(textAt(now, "status", "phase"), "Terminating");
  const auto late = post("/api/v1/namespaces/team/pods", pod("web"));
  EXPECT_EQ(late.status, 403);
  EXPECT_EQ(late.message(),
            "pods \"web\" is forbidden: unable to create new content in namespace team because it "
            "is being terminated");
  json::value done = now;
  done.at("spec").get_object()["finalizers"] = json::array{};
  EXPECT_EQ(put("/api/v1/namespaces/team/finalize", done).status, 200);
  EXPECT_EQ(get("/api/v1/namespaces/team").status, 404);
}

TEST_F(DeleteTest, aBindingWithOddTypesIsRefused) {
  post(kPods, pod("a"));
  for (const auto* body :
       {R"([])", R"("x")", R"({"target":{"name":"n1"},"metadata":{"annotations":{"a":5}}})",
        R"({"target":{"name":"n1"},"metadata":{"labels":{"a":{}}}})", R"({"target":"n1"})",
        R"({"target":{"name":7}})"})
    EXPECT_EQ(post(std::string(kPods) + "/a/binding", body).status, 400) << body;
  EXPECT_EQ(
      post(std::string(kPods) + "/a/eviction", R"({"metadata":{"name":"a"},"deleteOptions":7})")
          .status,
      400);
  EXPECT_EQ(post(std::string(kPods) + "/a/eviction",
                 R"({"metadata":{"name":"a"},"deleteOptions":{"dryRun":["No"]}})")
                .status,
            422);
  EXPECT_EQ(textAt(get(std::string(kPods) + "/a").body, "spec", "nodeName"), "");
}

TEST_F(DeleteTest, aPodIsBoundOnce) {
  post(kPods, pod("web"));
  bindTo("web", "n1");
  const auto bound = get(path("web")).body;
  EXPECT_EQ(textAt(bound, "spec", "nodeName"), "n1");
  EXPECT_EQ(textAt(at(bound, "status", "conditions")->get_array()[0], "type"), "PodScheduled");
  const auto again = post(path("web") + "/binding", R"({"target":{"kind":"Node","name":"n2"}})");
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.message(),
            "Operation cannot be fulfilled on pods/binding \"web\": pod web is already assigned to "
            "node \"n1\"");
  post(kPods, pod("other"));
  const auto stranger =
      post(path("other") + "/binding", R"({"metadata":{"uid":"x"},"target":{"name":"n2"}})");
  EXPECT_EQ(stranger.status, 409);
  // The same through the collection of bindings, with annotations for the pod.
  EXPECT_EQ(post("/api/v1/namespaces/default/bindings",
                 R"({"metadata":{"name":"other","annotations":{"a":"b"}},"target":{"name":"n2"}})")
                .status,
            201);
  EXPECT_EQ(textAt(get(path("other")).body, "metadata", "annotations", "a"), "b");
}

TEST_F(DeleteTest, scaleChangesTheReplicas) {
  const std::string deployments = "/apis/apps/v1/namespaces/default/deployments";
  post(
      deployments,
      R"({"metadata":{"name":"d"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},"template":
      {"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  const auto scale = get(deployments + "/d/scale").body;
  EXPECT_EQ(textAt(scale, "kind"), "Scale");
  EXPECT_EQ(textAt(scale, "status", "selector"), "a=b");
  json::value next = scale;
  next.at("spec").get_object()["replicas"] = 7;
  EXPECT_EQ(put(deployments + "/d/scale", next).status, 200);
  EXPECT_EQ(*at(get(deployments + "/d").body, "spec", "replicas"), 7);
  EXPECT_EQ(mergePatch(deployments + "/d/scale", R"({"spec":{"replicas":"3"}})").message(),
            "Scale in version \"v1\" cannot be handled as a Scale: spec.replicas: expected an "
            "integer, got \"3\"");
  EXPECT_EQ(put(deployments + "/d/scale", "none").status, 400);
  next.at("metadata").get_object()["uid"] = "other";
  EXPECT_EQ(put(deployments + "/d/scale", next).status, 409);
  EXPECT_EQ(*at(mergePatch(deployments + "/d/scale", R"({"spec":{"replicas":3}})").body, "spec",
                "replicas"),
            3);
}

}  // namespace
}  // namespace koord::apiserver::testing
