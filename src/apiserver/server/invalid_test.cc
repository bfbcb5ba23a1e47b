// The Status of a rejection: kubectl prints only the details of an invalid object.

#include <gmock/gmock.h>

#include "apiserver/testing.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::HasSubstr;

class InvalidTest : public ServerTest {
 protected:
  static std::string details(const Answer& answer) {
    auto copy = *find(answer.body, "details");
    copy.get_object().erase("causes");
    return toJson(copy);
  }
  static std::vector<std::string> fields(const Answer& answer) {
    std::vector<std::string> out;
    for (const auto& cause : at(answer.body, "details", "causes")->get_array())
      out.emplace_back(textAt(cause, "field"));
    return out;
  }
};

TEST_F(InvalidTest, aBadNameIsNamed) {
  const auto bad = post(kPods, pod("BAD_NAME"));
  EXPECT_EQ(bad.status, 422);
  EXPECT_THAT(bad.message(), ::testing::StartsWith("Pod \"BAD_NAME\" is invalid: metadata.name: "
                                                   "Invalid value: \"BAD_NAME\": a lowercase"));
  EXPECT_EQ(details(bad), R"({"name":"BAD_NAME","kind":"Pod"})");
  const auto& cause = at(bad.body, "details", "causes")->get_array()[0];
  EXPECT_EQ(textAt(cause, "reason"), "FieldValueInvalid");
  EXPECT_THAT(textAt(cause, "message"), HasSubstr("Invalid value: \"BAD_NAME\": a lowercase"));
  EXPECT_EQ(textAt(cause, "field"), "metadata.name");
}

TEST_F(InvalidTest, aGeneratedNameIsNamedAsItCameOut) {
  const auto bad = post(kPods, R"({"metadata":{"generateName":"BAD-"},"spec":{"containers":[]}})");
  const auto name = textAt(bad.body, "details", "name");
  EXPECT_EQ(name.size(), 9u);
  EXPECT_TRUE(name.starts_with("BAD-"));
  EXPECT_THAT(fields(bad),
              ::testing::ElementsAre("metadata.generateName", "metadata.name", "spec.containers"));
  EXPECT_THAT(bad.message(),
              HasSubstr("is invalid: [metadata.generateName: Invalid value: \"BAD-\": a low"));
  const auto none = post(kPods, pod(""));
  EXPECT_EQ(none.message(),
            "Pod \"\" is invalid: metadata.name: Required value: name or "
            "generateName is required");
  EXPECT_EQ(details(none), R"({"kind":"Pod"})");
  EXPECT_EQ(post(kPods, R"({"metadata":{"generateName":"good-"},
      "spec":{"containers":[{"name":"a","image":"i"}]}})")
                .status,
            201);
}

TEST_F(InvalidTest, numbersThatNoClientCouldReadAreRefused) {
  const std::string sets = "/apis/apps/v1/namespaces/default/deployments";
  const auto deployment = [](const std::string& replicas) {
    return R"({"metadata":{"name":"d"},"spec":{"replicas":)" + replicas +
           R"(,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})";
  };
  for (const auto* replicas :
       {"2147483648", "-2147483649", "99999999999", "9223372036854775808", "1e300"}) {
    const auto refused = post(sets, deployment(replicas));
    EXPECT_EQ(refused.status, 400) << replicas;
    EXPECT_THAT(refused.message(), HasSubstr("spec.replicas: expected an integer")) << replicas;
  }
  EXPECT_EQ(
      post(kPods, pod("p", R"(,"terminationGracePeriodSeconds":18446744073709551615)")).status,
      400);
  EXPECT_EQ(
      post(
          kPods,
          pod("p",
              R"(,"terminationGracePeriodSeconds":4294967296,"securityContext":{"supplementalGroups":[4294967]})"))
          .status,
      201);
  EXPECT_EQ(post(sets, deployment("2147483647")).status, 201);
  EXPECT_EQ(mergePatch(sets + "/d", R"({"spec":{"replicas":2147483648}})").status, 400);
  EXPECT_EQ(mergePatch(sets + "/d/scale", R"({"spec":{"replicas":2147483648}})").status, 400);
}

TEST_F(InvalidTest, kindsOfGroupsAndOtherFailuresNameTheirs) {
  const std::string sets = "/apis/apps/v1/namespaces/default/replicasets";
  const auto bad = post(sets, R"({"metadata":{"name":"web"},"spec":{"replicas":-1,
      "selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
      "spec":{"containers":[{"name":"a","image":"i"}]}}}})");
  EXPECT_EQ(bad.message(),
            "ReplicaSet.apps \"web\" is invalid: spec.replicas: Invalid value: -1: "
            "must be greater than or equal to 0");
  EXPECT_EQ(details(bad), R"({"name":"web","group":"apps","kind":"ReplicaSet"})");
  post(kPods, pod("web"));
  EXPECT_EQ(details(post(kPods, pod("web"))), R"({"name":"web","kind":"pods"})");
  EXPECT_EQ(details(get(sets + "/none")), R"({"name":"none","group":"apps","kind":"replicasets"})");
  EXPECT_EQ(details(post("/api/v1/namespaces/nowhere/pods", pod("x"))),
            R"({"name":"nowhere","kind":"namespaces"})");
  const auto option = request("POST", std::string(kPods) + "?dryRun=some", pod("x"));
  EXPECT_EQ(details(option), R"({"group":"meta.k8s.io","kind":"CreateOptions"})");
  EXPECT_THAT(fields(option), ::testing::ElementsAre("dryRun"));
  const auto unread = post(kPods, "{");
  EXPECT_EQ(unread.status, 400);
  EXPECT_EQ(find(unread.body, "details"), nullptr);
}

TEST_F(InvalidTest, anErrorThatIsFoundTwiceIsSaidOnce) {
  post(kPods, pod("web"));
  const auto bad =
      mergePatch(std::string(kPods) + "/web", R"({"spec":{"activeDeadlineSeconds":-1}})");
  EXPECT_EQ(fields(bad).size(), 2u);
  EXPECT_THAT(bad.message(), HasSubstr("is invalid: [spec.activeDeadlineSeconds"));
}

TEST_F(InvalidTest, dataBeyondAMebibyteIsRefused) {
  const auto of = [](const std::string& kind, const std::string& field, std::size_t bytes) {
    return R"({"kind":")" + kind + R"(","metadata":{"name":"big"},")" + field + R"(":{"a":")" +
           std::string(bytes, 'x') + R"("}})";
  };
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  const auto over = post(maps, of("ConfigMap", "data", (1 << 20) + 1));
  EXPECT_EQ(over.status, 422);
  EXPECT_EQ(over.message(),
            "ConfigMap \"big\" is invalid: []: Too long: may not be more than 1048576 bytes");
  EXPECT_EQ(post(maps, of("ConfigMap", "data", 1 << 20)).status, 201);
  EXPECT_EQ(post("/api/v1/namespaces/default/secrets", of("Secret", "stringData", (1 << 20) + 1))
                .message(),
            "Secret \"big\" is invalid: data: Too long: may not be more than 1048576 bytes");
  EXPECT_THAT(post(maps, R"({"metadata":{"name":"k"},"data":{"a b":""}})").message(),
              HasSubstr("data[a b]: Invalid value: \"a b\": a valid config key must consist of"));
  EXPECT_THAT(post("/api/v1/namespaces/default/secrets",
                   R"({"metadata":{"name":"s"},"type":"kubernetes.io/tls"})")
                  .message(),
              HasSubstr("[data[tls.crt]: Required value, data[tls.key]: Required value]"));
}

TEST_F(InvalidTest, portsAndProbesOfContainersAreChecked) {
  struct Case {
    const char* container;
    const char* expected;
  };
  const Case cases[] = {
      {R"("ports":[{"containerPort":70000}])",
       "ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive"},
      {R"("ports":[{"name":"http"}])", "ports[0].containerPort: Required value"},
      {R"("ports":[{"containerPort":1,"name":"HTTP"}])",
       "ports[0].name: Invalid value: \"HTTP\": must contain only alpha-numeric characters"},
      {R"("ports":[{"containerPort":1,"name":"a"},{"containerPort":2,"name":"a"}])",
       "ports[1].name: Duplicate value: \"a\""},
      {R"("ports":[{"containerPort":1,"hostPort":5},{"containerPort":2,"hostPort":5}])",
       "ports[1].hostPort: Duplicate value: \"TCP//5\""},
      {R"("livenessProbe":{"httpGet":{"port":0}})",
       "livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive"},
      {R"("livenessProbe":{})", "livenessProbe: Required value: must specify a handler type"},
      {R"("livenessProbe":{"exec":{"command":["x"]},"tcpSocket":{"port":1}})",
       "livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type"},
      {R"("startupProbe":{"exec":{"command":["x"]},"successThreshold":2})",
       "startupProbe.successThreshold: Invalid value: 2: must be 1"},
      {R"("readinessProbe":{"exec":{},"periodSeconds":-1})",
       "[spec.containers[0].readinessProbe.exec.command: Required value, "
       "spec.containers[0].readinessProbe.periodSeconds: Invalid value: -1: must be greater than "
       "or equal to 0]"}};
  for (const auto& [container, expected] : cases) {
    const auto refused =
        post(kPods, R"({"metadata":{"name":"web"},"spec":{"containers":[{"name":"a","image":"i",)" +
                        std::string(container) + "}]}}");
    EXPECT_EQ(refused.status, 422) << container;
    EXPECT_THAT(refused.message(), HasSubstr(expected));
  }
}

TEST_F(InvalidTest, amountsAreWrittenInOneWay) {
  const auto made = post(kPods, R"({"metadata":{"name":"web"},"spec":{"containers":[{"name":"a",
      "image":"i","resources":{"requests":{"cpu":"1000m","memory":"1024Mi"},
      "limits":{"cpu":2}}}]}})");
  const auto& resources = *find(at(made.body, "spec", "containers")->get_array()[0], "resources");
  EXPECT_EQ(textAt(resources, "requests", "cpu"), "1");
  EXPECT_EQ(textAt(resources, "requests", "memory"), "1Gi");
  EXPECT_EQ(textAt(resources, "limits", "cpu"), "2");
}

TEST_F(InvalidTest, zerosThatAreAlwaysThereAreShown) {
  const auto node = post("/api/v1/nodes", R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(*at(node.body, "status", "daemonEndpoints", "kubeletEndpoint", "Port"), 0);
  EXPECT_EQ(*at(node.body, "status", "nodeInfo", "kernelVersion"), "");
  const auto set = post("/apis/apps/v1/namespaces/default/replicasets",
                        R"({"metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"a":"b"}},
      "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"i"}]}}}})");
  EXPECT_EQ(toJson(*find(set.body, "status")), R"({"replicas":0})");
}

TEST_F(InvalidTest, aReplicationControllerSelectsByPlainLabels) {
  const auto controller = [&](const char* name, const char* selector) {
    return post("/api/v1/namespaces/default/replicationcontrollers",
                fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{{"selector":{},"template":)"
                            R"({{"metadata":{{"labels":{{"a":"b"}}}},"spec":{{"containers":)"
                            R"([{{"name":"a","image":"i"}}]}}}}}}}})",
                            name, selector));
  };
  EXPECT_EQ(controller("one", R"({"a":"b"})").status, 201);
  const auto defaulted = controller("of-its-template", "null");
  EXPECT_EQ(toJson(*at(defaulted.body, "spec", "selector")), R"({"a":"b"})");
  EXPECT_THAT(controller("two", R"({"a":"c"})").message(),
              HasSubstr("`selector` does not match template `labels`"));
}

}  // namespace
}  // namespace koord::apiserver::testing
