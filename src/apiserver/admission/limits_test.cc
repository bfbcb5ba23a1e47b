// LimitRanges, ResourceQuotas, priorities and what kubelets may write, through the server.

#include <gmock/gmock.h>

#include "apiserver/testing.h"

namespace koord::apiserver {
namespace {

using ::testing::HasSubstr;

class LimitsTest : public testing::ServerTest {
 protected:
  using Answer = testing::Answer;

  static constexpr const char* kQuotas = "/api/v1/namespaces/default/resourcequotas";
  static constexpr const char* kRanges = "/api/v1/namespaces/default/limitranges";

  static std::string sized(const std::string& name, const std::string& resources,
                           const std::string& more = "") {
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
           R"("},"spec":{"containers":[{"name":"main","image":"busybox","resources":)" + resources +
           "}]" + more + "}}";
  }
  void limitRange(const std::string& limits) {
    const auto made =
        post(kRanges, R"({"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"l"},
        "spec":{"limits":[)" +
                          limits + "]}}");
    ASSERT_EQ(made.status, 201) << made.message();
  }
  void quota(const std::string& name, const std::string& spec) {
    const auto made =
        post(kQuotas, R"({"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":")" + name +
                          R"("},"spec":)" + spec + "}");
    ASSERT_EQ(made.status, 201) << made.message();
  }
  std::string used(const std::string& name, const std::string& resource) {
    return std::string(
        textAt(get(std::string(kQuotas) + "/" + name).body, "status", "used", resource));
  }
  // The same request as another user.
  Answer as(const std::string& user, const std::string& method, const std::string& path,
            const std::string& body = "", const std::string& type = "") {
    auto answer = std::make_shared<Answer>();
    answers.push_back(answer);
    auto call = routed(method, path, body, type, "");
    call.user = {user, "", {"system:nodes", "system:authenticated"}};
    tasks.spawn(collect(server.get(), std::move(call), answer.get()));
    loop.runReady();
    return *answer;
  }
};

TEST_F(LimitsTest, ContainersGetTheDefaultsOfTheirNamespace) {
  limitRange(
      R"({"type":"Container","default":{"cpu":"500m"},"defaultRequest":{"cpu":"100m","memory":"64Mi"}})");
  const auto made = post(kPods, pod("web"));
  ASSERT_EQ(made.status, 201) << made.message();
  const auto& container = made.body.at("spec").at("containers").at(0);
  EXPECT_EQ(textAt(container, "resources", "requests", "cpu"), "100m");
  EXPECT_EQ(textAt(container, "resources", "requests", "memory"), "64Mi");
  EXPECT_EQ(textAt(container, "resources", "limits", "cpu"), "500m");
  EXPECT_EQ(textAt(made.body, "metadata", "annotations", "kubernetes.io/limit-ranger"),
            "LimitRanger plugin set: cpu, memory request for container main; cpu limit for "
            "container main");
}

TEST_F(LimitsTest, ALimitRangeWithoutDefaultsTakesThemFromItsBounds) {
  limitRange(R"({"type":"Container","max":{"cpu":"2"},"min":{"memory":"32Mi"}})");
  const auto range = get(std::string(kRanges) + "/l").body;
  const auto& limit = range.at("spec").at("limits").at(0);
  EXPECT_EQ(textAt(limit, "default", "cpu"), "2");
  EXPECT_EQ(textAt(limit, "defaultRequest", "cpu"), "2");
  EXPECT_EQ(textAt(limit, "defaultRequest", "memory"), "32Mi");
}

TEST_F(LimitsTest, WhatIsOutsideOfTheBoundsIsRefusedInUpstreamsWords) {
  limitRange(
      R"({"type":"Container","min":{"cpu":"100m"},"max":{"memory":"1Gi"},"maxLimitRequestRatio":{"cpu":"2"}},
                {"type":"Pod","max":{"cpu":"1"}},
                {"type":"PersistentVolumeClaim","min":{"storage":"1Gi"},"max":{"storage":"5Gi"}})");
  const struct {
    const char* resources;
    const char* message;
  } cases[] = {
      {R"({"requests":{"cpu":"50m"},"limits":{"cpu":"100m"}})",
       "pods \"p\" is forbidden: minimum cpu usage per Container is 100m, but request is 50m"},
      {R"({"requests":{"cpu":"500m"},"limits":{"cpu":"1","memory":"2Gi"}})",
       "pods \"p\" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi"},
      {R"({"requests":{"cpu":"200m"},"limits":{"cpu":"1"}})",
       "pods \"p\" is forbidden: cpu max limit to request ratio per Container is 2, but provided "
       "ratio is 5.000000"},
      {R"({"requests":{"cpu":"2"},"limits":{"cpu":"2"}})",
       "pods \"p\" is forbidden: maximum cpu usage per Pod is 1, but limit is 2"},
      {R"({"requests":{"cpu":"50m"},"limits":{"cpu":"2"}})",
       "pods \"p\" is forbidden: [minimum cpu usage per Container is 100m, but request is 50m, cpu "
       "max limit to "
       "request ratio per Container is 2, but provided ratio is 40.000000, maximum cpu usage per "
       "Pod is 1, but limit is 2]"},
  };
  for (const auto& test : cases) {
    const auto answer = post(kPods, sized("p", test.resources));
    EXPECT_EQ(answer.status, 403);
    EXPECT_EQ(answer.message(), test.message);
    EXPECT_EQ(answer.reason(), "Forbidden");
  }
  const auto claim = [&](const std::string& storage) {
    return post(
               "/api/v1/namespaces/default/persistentvolumeclaims",
               R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c"},"spec":{"accessModes":
                ["ReadWriteOnce"],"resources":{"requests":{"storage":")" +
                   storage + "\"}}}}")
        .message();
  };
  EXPECT_EQ(claim("6Gi"),
            "persistentvolumeclaims \"c\" is forbidden: maximum storage usage per "
            "PersistentVolumeClaim is 5Gi, but request is 6Gi");
  EXPECT_EQ(claim("512Mi"),
            "persistentvolumeclaims \"c\" is forbidden: minimum storage usage per "
            "PersistentVolumeClaim is 1Gi, but request is 512Mi");
}

TEST_F(LimitsTest, AContradictoryLimitRangeIsInvalid) {
  const auto answer = post(
      kRanges, R"({"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"l"},"spec":{"limits":[
      {"type":"Container","min":{"cpu":"2"},"max":{"cpu":"1"},"defaultRequest":{"cpu":"2"},"default":{"cpu":"2"}}]}})");
  EXPECT_EQ(answer.status, 422);
  EXPECT_THAT(answer.message(), HasSubstr("spec.limits[0].min[cpu]: Invalid value: \"2\": min "
                                          "value 2 is greater than max value 1"));
}

TEST_F(LimitsTest, AQuotaRefusesWhatExceedsIt) {
  quota("q", R"({"hard":{"pods":"2","requests.cpu":"1","limits.memory":"1Gi"}})");
  EXPECT_EQ(used("q", "pods"), "0");
  ASSERT_EQ(
      post(kPods, sized("a", R"({"requests":{"cpu":"600m"},"limits":{"memory":"256Mi"}})")).status,
      201);
  EXPECT_EQ(used("q", "requests.cpu"), "600m");
  EXPECT_EQ(used("q", "limits.memory"), "256Mi");
  const auto refused =
      post(kPods, sized("b", R"({"requests":{"cpu":"600m"},"limits":{"memory":"2Gi"}})"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(
      refused.message(),
      "pods \"b\" is forbidden: exceeded quota: q, requested: limits.memory=2Gi,requests.cpu=600m, "
      "used: limits.memory=256Mi,requests.cpu=600m, limited: limits.memory=1Gi,requests.cpu=1");
  const auto silent = post(kPods, pod("c"));
  EXPECT_EQ(silent.message(),
            "pods \"c\" is forbidden: failed quota: q: must specify limits.memory for: main; "
            "requests.cpu for: main");
  // A dry run is checked but not charged.
  const auto path = std::string(kPods) + "?dryRun=All";
  ASSERT_EQ(post(path, sized("b", R"({"requests":{"cpu":"1m"},"limits":{"memory":"1Mi"}})")).status,
            201);
  EXPECT_EQ(used("q", "pods"), "1");
}

TEST_F(LimitsTest, APodGivesBackWhatItHadWhenItIsOverOrGone) {
  quota("q", R"({"hard":{"pods":"1","count/pods":"5"}})");
  ASSERT_EQ(post(kPods, pod("a")).status, 201);
  EXPECT_EQ(post(kPods, pod("b")).message(),
            "pods \"b\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: "
            "pods=1");
  mergePatch(std::string(kPods) + "/a/status", R"({"status":{"phase":"Succeeded"}})");
  EXPECT_EQ(used("q", "pods"), "0");
  EXPECT_EQ(used("q", "count/pods"), "1");
  ASSERT_EQ(post(kPods, pod("b")).status, 201);
  remove(std::string(kPods) + "/a");
  remove(std::string(kPods) + "/b");
  EXPECT_EQ(used("q", "pods"), "0");
  EXPECT_EQ(used("q", "count/pods"), "0");
}

TEST_F(LimitsTest, APodThatShouldHaveEndedLongAgoIsNotCounted) {
  quota("q", R"({"hard":{"pods":"1"}})");
  ASSERT_EQ(post(kPods, pod("a", R"(,"nodeName":"n")")).status, 201);
  remove(std::string(kPods) + "/a");
  EXPECT_EQ(used("q", "pods"), "1");
  loop.advance(std::chrono::seconds(62));
  EXPECT_EQ(used("q", "pods"), "0");
}

TEST_F(LimitsTest, ScopesSayWhichPodsAQuotaIsAbout) {
  post(
      "/apis/scheduling.k8s.io/v1/priorityclasses",
      R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"high"},"value":5})");
  quota("besteffort", R"({"hard":{"pods":"9"},"scopes":["BestEffort"]})");
  quota("long", R"({"hard":{"pods":"9"},"scopes":["NotTerminating"]})");
  quota(
      "high",
      R"({"hard":{"pods":"9"},"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In","values":["high"]}]}})");
  post(kPods, pod("plain"));
  post(kPods, pod("short", R"(,"activeDeadlineSeconds":5)"));
  post(kPods, sized("high", R"({"requests":{"cpu":"1"}})", R"(,"priorityClassName":"high")"));
  EXPECT_EQ(used("besteffort", "pods"), "2");
  EXPECT_EQ(used("long", "pods"), "2");
  EXPECT_EQ(used("high", "pods"), "1");
}

TEST_F(LimitsTest, ObjectsAreCountedByTheirNames) {
  quota(
      "q",
      R"({"hard":{"configmaps":"1","count/secrets":"1","count/deployments.apps":"0","services":"5",
      "services.nodeports":"1","requests.nvidia.com/gpu":"1","requests.storage":"2Gi",
      "fast.storageclass.storage.k8s.io/requests.storage":"1Gi"}})");
  const auto config = [&](const std::string& name) {
    return post("/api/v1/namespaces/default/configmaps",
                R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name + "\"}}");
  };
  EXPECT_EQ(config("a").status, 201);
  EXPECT_EQ(config("b").message(),
            "configmaps \"b\" is forbidden: exceeded quota: q, requested: "
            "configmaps=1, used: configmaps=1, limited: configmaps=1");
  EXPECT_EQ(
      post(
          "/apis/apps/v1/namespaces/default/deployments",
          R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},
                 "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})")
          .message(),
      "deployments.apps \"d\" is forbidden: exceeded quota: q, requested: "
      "count/deployments.apps=1, used: "
      "count/deployments.apps=0, limited: count/deployments.apps=0");
  const auto gpu = [&](const std::string& name) {
    return post(kPods, sized(name, R"({"limits":{"nvidia.com/gpu":"1"}})")).status;
  };
  EXPECT_EQ(gpu("g1"), 201);
  EXPECT_EQ(gpu("g2"), 403);
  const std::string services = "/api/v1/namespaces/default/services";
  ASSERT_EQ(
      post(
          services,
          R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"ports":[{"port":1,"name":"a"},{"port":2,"name":"b"}]}})")
          .status,
      201);
  EXPECT_EQ(
      mergePatch(services + "/s", R"({"spec":{"type":"NodePort"}})").message(),
      "services \"s\" is forbidden: exceeded quota: q, requested: services.nodeports=2, used: "
      "services.nodeports=0, limited: services.nodeports=1");
  const auto claim = [&](const std::string& name, const std::string& storageClass) {
    return post("/api/v1/namespaces/default/persistentvolumeclaims",
                R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":")" + name +
                    R"("},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":")" +
                    storageClass + R"(","resources":{"requests":{"storage":"1Gi"}}}})")
        .status;
  };
  EXPECT_EQ(claim("c1", "fast"), 201);
  EXPECT_EQ(claim("c2", "fast"), 403);
  EXPECT_EQ(claim("c3", "slow"), 201);
  EXPECT_EQ(used("q", "requests.storage"), "2Gi");
}

TEST_F(LimitsTest, AQuotaMadeLaterOrReadFromDiskCountsWhatIsThere) {
  post(kPods, pod("a"));
  post(kPods, pod("b"));
  quota("q", R"({"hard":{"pods":"2"}})");
  EXPECT_EQ(used("q", "pods"), "2");
  EXPECT_EQ(post(kPods, pod("c")).status, 403);
  mergePatch(std::string(kQuotas) + "/q", R"({"spec":{"hard":{"pods":"3","configmaps":"7"}}})");
  EXPECT_EQ(post(kPods, pod("c")).status, 201);
  EXPECT_EQ(used("q", "configmaps"), "0");
  remove(std::string(kQuotas) + "/q");
  EXPECT_EQ(post(kPods, pod("d")).status, 201);
}

TEST_F(LimitsTest, AQuotaOfAnUnknownNameIsInvalid) {
  const auto answer = post(
      kQuotas,
      R"({"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q"},"spec":{"hard":{"gold":"1"}}})");
  EXPECT_EQ(answer.status, 422);
  EXPECT_THAT(
      answer.message(),
      HasSubstr("spec.hard[gold]: Invalid value: \"gold\": must be a standard resource for quota"));
}

TEST_F(LimitsTest, ThereIsOneDefaultPriorityClassAndItsValueStays) {
  const std::string classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
  const auto make = [&](const std::string& name, const std::string& more) {
    return post(
        classes,
        R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":")" +
            name + "\"}," + more + "}");
  };
  ASSERT_EQ(make("base", R"("value":7,"globalDefault":true,"preemptionPolicy":"Never")").status,
            201);
  EXPECT_EQ(make("other", R"("value":8,"globalDefault":true)").message(),
            "priorityclasses.scheduling.k8s.io \"other\" is forbidden: PriorityClass base is "
            "already marked as default. "
            "Only one default can exist");
  EXPECT_EQ(make("system-mine", R"("value":8)").status, 422);
  EXPECT_THAT(mergePatch(classes + "/base", R"({"value":9})").message(),
              HasSubstr("value: Forbidden: may not be changed in an update."));
  const auto made = post(kPods, pod("a"));
  EXPECT_EQ(textAt(made.body, "spec", "priorityClassName"), "base");
  EXPECT_EQ(made.body.at("spec").at("priority"), 7);
  EXPECT_EQ(textAt(made.body, "spec", "preemptionPolicy"), "Never");
}

TEST_F(LimitsTest, ATerminatingNamespaceSaysWhyItTakesNothing) {
  post("/api/v1/namespaces",
       R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"going"}})");
  remove("/api/v1/namespaces/going");
  const auto answer = post("/api/v1/namespaces/going/pods", pod("a"));
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(answer.message(),
            "pods \"a\" is forbidden: unable to create new content in namespace going because it "
            "is being terminated");
  const auto& cause = answer.body.at("details").at("causes").at(0);
  EXPECT_EQ(textAt(cause, "reason"), "NamespaceTerminating");
  EXPECT_EQ(textAt(cause, "message"), "namespace going is being terminated");
  EXPECT_EQ(textAt(cause, "field"), "metadata.namespace");
  EXPECT_EQ(remove("/api/v1/namespaces/kube-system").message(),
            "namespaces \"kube-system\" is forbidden: this namespace may not be deleted");
}

TEST_F(LimitsTest, AKubeletWritesWhatIsItsOwn) {
  for (const auto* node : {"n1", "n2"})
    ASSERT_EQ(post("/api/v1/nodes", R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" +
                                        std::string(node) + "\"}}")
                  .status,
              201);
  ASSERT_EQ(post(kPods, pod("mine", R"(,"nodeName":"n1")")).status, 201);
  ASSERT_EQ(post(kPods, pod("theirs", R"(,"nodeName":"n2")")).status, 201);
  const std::string merge = "application/merge-patch+json", user = "system:node:n1";
  const auto patch = [&](const std::string& path, const std::string& body) {
    return as(user, "PATCH", path, body, merge);
  };
  EXPECT_EQ(patch("/api/v1/nodes/n1/status", R"({"status":{"phase":"Running"}})").status, 200);
  EXPECT_EQ(patch("/api/v1/nodes/n2/status", R"({"status":{"phase":"Running"}})").message(),
            "nodes \"n2\" is forbidden: node \"n1\" is not allowed to modify node \"n2\"");
  EXPECT_EQ(patch("/api/v1/nodes/n1", R"({"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}})")
                .message(),
            "nodes \"n1\" is forbidden: node \"n1\" is not allowed to modify taints");
  EXPECT_EQ(patch("/api/v1/nodes/n1",
                  R"({"metadata":{"labels":{"node-restriction.kubernetes.io/x":"y"}}})")
                .message(),
            "nodes \"n1\" is forbidden: is not allowed to modify labels: "
            "node-restriction.kubernetes.io/x");
  EXPECT_EQ(patch("/api/v1/nodes/n1",
                  R"({"metadata":{"labels":{"example.com/x":"y","kubernetes.io/os":"linux"}}})")
                .status,
            200);
  EXPECT_EQ(patch(std::string(kPods) + "/mine/status", R"({"status":{"phase":"Running"}})").status,
            200);
  EXPECT_EQ(
      patch(std::string(kPods) + "/theirs/status", R"({"status":{"phase":"Running"}})").message(),
      "pods \"theirs\" is forbidden: node \"n1\" can only update pod status for pods with "
      "spec.nodeName set to itself");
  EXPECT_EQ(as(user, "POST", kPods, pod("new")).message(),
            "pods \"new\" is forbidden: pod does not have \"kubernetes.io/config.mirror\" "
            "annotation, node \"n1\" can only create mirror pods");
  EXPECT_EQ(as(user, "DELETE", std::string(kPods) + "/theirs").status, 403);
  EXPECT_EQ(
      as(user, "POST", std::string(kPods) + "/theirs/eviction", R"({"metadata":{"name":"theirs"}})")
          .message(),
      "pods \"theirs\" is forbidden: node n1 can only evict pods with spec.nodeName set to itself");
  EXPECT_EQ(
      as(user, "POST", std::string(kPods) + "/mine/eviction", R"({"metadata":{"name":"mine"}})")
          .status,
      201);
  EXPECT_EQ(as(user, "DELETE", std::string(kPods) + "/mine").status, 200);
}

}  // namespace
}  // namespace koord::apiserver
