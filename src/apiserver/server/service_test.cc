// Services: assigned fields, and rejected ones.

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "apiserver/testing.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::HasSubstr;

class ServiceTest : public ServerTest {
 protected:
  static constexpr const char* kServices = "/api/v1/namespaces/default/services";
  static std::string pathOf(const std::string& name) { return std::string(kServices) + "/" + name; }

  Answer make(const std::string& name, const std::string& spec) {
    return post(kServices, R"({"metadata":{"name":")" + name + R"("},"spec":)" + spec + "}");
  }
  static std::int64_t nodePort(const Answer& answer, std::size_t i = 0) {
    const auto& port = at(answer.body, "spec", "ports")->get_array().at(i);
    const auto* number = find(port, "nodePort");
    return number ? number->get_int64() : 0;
  }
};

TEST_F(ServiceTest, portsOfNodesAreGivenAndUnique) {
  const auto one = make("one", R"({"type":"NodePort","ports":[{"name":"a","port":80},
      {"name":"b","port":80,"protocol":"UDP"},{"name":"c","port":81}]})");
  ASSERT_EQ(one.status, 201) << one.message();
  EXPECT_GE(nodePort(one), 30086) << "lower ports are for services that name them";
  EXPECT_LE(nodePort(one), 32767);
  EXPECT_EQ(nodePort(one, 1), nodePort(one)) << "one port of both protocols";
  EXPECT_NE(nodePort(one, 2), nodePort(one));
  EXPECT_EQ(textAt(one.body, "spec", "externalTrafficPolicy"), "Cluster");

  ASSERT_EQ(make("two", R"({"type":"NodePort","ports":[{"port":80,"nodePort":30080}]})").status,
            201);
  const auto taken = make("three", R"({"type":"NodePort","ports":[{"port":80,"nodePort":30080}]})");
  EXPECT_EQ(taken.status, 422);
  EXPECT_EQ(taken.message(),
            "Service \"three\" is invalid: spec.ports[0].nodePort: Invalid value: 30080: provided "
            "port is already allocated");
  EXPECT_EQ(make("three", R"({"type":"NodePort","ports":[{"port":80,"nodePort":8080}]})").message(),
            "Service \"three\" is invalid: spec.ports[0].nodePort: Invalid value: 8080: provided "
            "port is not in the valid range. The range of valid ports is 30000-32767");
  remove(pathOf("two"));
  EXPECT_EQ(make("three", R"({"type":"NodePort","ports":[{"port":80,"nodePort":30080}]})").status,
            201);
}

TEST_F(ServiceTest, whatWasGivenStaysUntilTheTypeChanges) {
  const auto made = make("web", R"({"type":"NodePort","ports":[{"port":80}]})");
  const auto address = std::string(textAt(made.body, "spec", "clusterIP"));
  const auto put1 =
      put(pathOf("web"), *parseJson(R"({"metadata":{"name":"web"},"spec":{"type":"NodePort",
      "ports":[{"port":80},{"name":"x","port":81}]}})"));
  EXPECT_EQ(put1.status, 422) << "ports need names now";
  const auto same = put(pathOf("web"), *parseJson(R"({"metadata":{"name":"web"},"spec":
      {"type":"NodePort","ports":[{"port":8080}]}})"));
  ASSERT_EQ(same.status, 200) << same.message();
  EXPECT_EQ(nodePort(same), nodePort(made));
  EXPECT_EQ(textAt(same.body, "spec", "clusterIP"), address);

  const auto inside = mergePatch(pathOf("web"), R"({"spec":{"type":"ClusterIP"}})");
  ASSERT_EQ(inside.status, 200) << inside.message();
  EXPECT_EQ(nodePort(inside), 0);
  EXPECT_EQ(at(inside.body, "spec", "externalTrafficPolicy"), nullptr);
  EXPECT_EQ(mergePatch(pathOf("web"), R"({"spec":{"clusterIP":"10.96.3.3"}})").message(),
            "Service \"web\" is invalid: spec.clusterIPs[0]: Invalid value: [\"10.96.3.3\"]: may "
            "not change once set");
  const auto outside =
      mergePatch(pathOf("web"), R"({"spec":{"type":"ExternalName","externalName":"example.com"}})");
  ASSERT_EQ(outside.status, 200) << outside.message();
  EXPECT_EQ(at(outside.body, "spec", "clusterIP"), nullptr);
}

TEST_F(ServiceTest, addressesAreUniqueAndMayBeNone) {
  const auto headless = make("headless", R"({"clusterIP":"None"})");
  ASSERT_EQ(headless.status, 201) << headless.message();
  EXPECT_EQ(toJson(*at(headless.body, "spec", "clusterIPs")), R"(["None"])");
  ASSERT_EQ(make("one", R"({"clusterIP":"10.96.0.10","ports":[{"port":53}]})").status, 201);
  EXPECT_EQ(make("two", R"({"clusterIP":"10.96.0.10","ports":[{"port":53}]})").message(),
            "Service \"two\" is invalid: spec.clusterIPs: Invalid value: [\"10.96.0.10\"]: failed "
            "to allocate IP 10.96.0.10: provided IP is already allocated");
  // A dry run reserves nothing.
  EXPECT_EQ(
      request(
          "POST", std::string(kServices) + "?dryRun=All",
          R"({"metadata":{"name":"x"},"spec":{"clusterIP":"10.96.0.11","ports":[{"port":53}]}})")
          .status,
      201);
  EXPECT_EQ(make("x", R"({"clusterIP":"10.96.0.11","ports":[{"port":53}]})").status, 201);
}

TEST_F(ServiceTest, loadBalancersGetPortsAndOneForHealthChecks) {
  const auto made = make(
      "web", R"({"type":"LoadBalancer","externalTrafficPolicy":"Local","ports":[{"port":80}]})");
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_NE(nodePort(made), 0);
  EXPECT_GE(at(made.body, "spec", "healthCheckNodePort")->get_int64(), 30000);
  EXPECT_EQ(*at(made.body, "spec", "allocateLoadBalancerNodePorts"), true);
  const auto none = make(
      "bare",
      R"({"type":"LoadBalancer","allocateLoadBalancerNodePorts":false,"ports":[{"port":80}]})");
  EXPECT_EQ(nodePort(none), 0);
}

TEST_F(ServiceTest, wrongFieldsAreRefusedInTheWordsOfKubernetes) {
  struct Case {
    const char* spec;
    const char* expected;
  };
  const Case cases[] = {
      {R"({"ports":[{"port":70000}]})",
       "spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive"},
      {R"({"ports":[{"targetPort":80}]})",
       "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"},
      {R"({"ports":[{"port":80,"targetPort":70000}]})",
       "spec.ports[0].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive"},
      {R"({"ports":[{"port":80,"targetPort":"WEB"}]})",
       "spec.ports[0].targetPort: Invalid value: \"WEB\": must contain only alpha-numeric "
       "characters (a-z, 0-9), and hyphens (-)"},
      {R"({"ports":[{"port":80,"name":"Bad_Name"}]})",
       "spec.ports[0].name: Invalid value: \"Bad_Name\": a lowercase RFC 1123 label"},
      {R"({"ports":[{"port":80},{"port":81,"name":"b"}]})", "spec.ports[0].name: Required value"},
      {R"({"ports":[{"port":80,"name":"a"},{"port":81,"name":"a"}]})",
       "spec.ports[1].name: Duplicate value: \"a\""},
      {R"({"ports":[{"port":80,"name":"a"},{"port":80,"name":"b"}]})",
       "spec.ports[1]: Duplicate value: {\"protocol\":\"TCP\",\"port\":80}"},
      {R"({"ports":[{"port":80,"protocol":"HTTP"}]})",
       "spec.ports[0].protocol: Unsupported value: \"HTTP\": supported values: \"SCTP\", \"TCP\", "
       "\"UDP\""},
      {R"({"ports":[{"port":80,"nodePort":30000}]})",
       "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"},
      {R"({})", "spec.ports: Required value"},
      {R"({"type":"Inner","ports":[{"port":80}]})",
       "spec.type: Unsupported value: \"Inner\": supported values: \"ClusterIP\", "
       "\"ExternalName\", \"LoadBalancer\", \"NodePort\""},
      {R"({"type":"ExternalName"})", "spec.externalName: Required value"},
      {R"({"type":"NodePort","clusterIP":"None","ports":[{"port":80}]})",
       "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort "
       "services"},
      {R"({"clusterIP":"10.96.0.300","ports":[{"port":80}]})",
       "spec.clusterIPs[0]: Invalid value: \"10.96.0.300\": must be a valid IP address, (e.g. "
       "10.9.8.7 or 2001:db8::ffff)"},
      {R"({"clusterIP":"8.8.8.8","ports":[{"port":53}]})",
       "spec.clusterIPs: Invalid value: [\"8.8.8.8\"]: failed to allocate IP 8.8.8.8: the provided "
       "IP (8.8.8.8) is not in the valid range. The range of valid IPs is 10.96.0.0/12"},
      {R"({"clusterIP":"127.0.0.1","ports":[{"port":6443}]})", "is not in the valid range"},
      {R"({"clusterIP":"10.96.0.0","ports":[{"port":80}]})", "is not in the valid range"},
      {R"({"clusterIP":"10.111.255.255","ports":[{"port":80}]})", "is not in the valid range"},
      {R"({"clusterIP":"10.96.0.7\u0000","ports":[{"port":80}]})",
       "spec.clusterIPs[0]: Invalid value"},
      {R"({"clusterIP":"fd00::1","ports":[{"port":80}]})",
       "spec.clusterIPs[0]: Invalid value: [\"fd00::1\"]: IPv6 is not configured on this cluster"},
      {R"({"clusterIP":"10.96.0.7","clusterIPs":["10.96.0.7","10.96.0.8"],"ports":[{"port":80}]})",
       "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or "
       "'PreferDualStack' when multiple cluster IPs are specified"},
      {R"({"externalIPs":["127.0.0.1"],"ports":[{"port":80}]})",
       "spec.externalIPs[0]: Invalid value: \"127.0.0.1\": may not be in the loopback range "
       "(127.0.0.0/8, ::1/128)"},
      {R"({"sessionAffinity":"Sticky","ports":[{"port":80}]})",
       "spec.sessionAffinity: Unsupported value: \"Sticky\": supported values: \"ClientIP\", "
       "\"None\""},
      {R"({"externalTrafficPolicy":"Local","ports":[{"port":80}]})",
       "spec.externalTrafficPolicy: Invalid value: \"Local\": may only be set for "
       "externally-accessible services"},
      {R"({"selector":{"a b":"c"},"ports":[{"port":80}]})",
       "spec.selector: Invalid value: \"a b\": name part must consist of"}};
  for (const auto& [spec, expected] : cases) {
    const auto refused = make("web", spec);
    EXPECT_EQ(refused.status, 422) << spec;
    EXPECT_THAT(refused.message(), HasSubstr(expected)) << spec;
  }
}

TEST_F(ServiceTest, endpointsAndSlicesAreCheckedToo) {
  const auto endpoints = [&](const std::string& subset) {
    return post("/api/v1/namespaces/default/endpoints",
                R"({"metadata":{"name":"web"},"subsets":[)" + subset + "]}")
        .message();
  };
  EXPECT_THAT(endpoints(R"({"addresses":[{"ip":"10.0.0.1"}],"ports":[{"port":70000}]})"),
              HasSubstr("subsets[0].ports[0].port: Invalid value: 70000: must be between"));
  EXPECT_THAT(endpoints("{}"), HasSubstr("subsets[0]: Required value: must specify `addresses`"));
  EXPECT_THAT(endpoints(R"({"addresses":[{"ip":"127.0.0.1"}],"ports":[{"port":1}]})"),
              HasSubstr("may not be in the loopback range"));
  EXPECT_EQ(endpoints(R"({"addresses":[{"ip":"10.0.0.1"}],"ports":[{"port":1}]})"), "");
  const auto slice = [&](const std::string& rest) {
    return post("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
                R"({"metadata":{"name":"web"},"addressType":"IPv4",)" + rest + "}")
        .message();
  };
  EXPECT_THAT(slice(R"("endpoints":[{"addresses":["ten"]}])"),
              HasSubstr("endpoints[0].addresses[0]: Invalid value: \"ten\": must be a valid IPv4"));
  EXPECT_THAT(slice(R"("endpoints":[{"addresses":["10.0.0.1\u0000"]}])"),
              HasSubstr("must be a valid IPv4"));
  EXPECT_THAT(
      slice(R"("endpoints":[{"addresses":["10.0.0.1"]}],"ports":[{"port":1,"protocol":"X"}])"),
      HasSubstr("ports[0].protocol: Unsupported value: \"X\""));
  EXPECT_EQ(slice(R"("endpoints":[{"addresses":["10.0.0.1"]}],"ports":[{"port":1}])"), "");
}

TEST_F(ServiceTest, givenAddressesAreKnownAfterARestart) {
  const struct Folder {
    std::string path = ::testing::TempDir() + "service-addresses-" + std::to_string(::getpid());
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() { std::filesystem::remove_all(path); }
  } folder;
  options.database = folder.path + "/state.db";
  options.inlineCommits = true;
  server.reset();
  openServer();
  ASSERT_EQ(make("one", R"({"type":"NodePort","ports":[{"port":80,"nodePort":30080}]})").status,
            201);
  server.reset();
  openServer();
  EXPECT_THAT(
      make("two", R"({"type":"NodePort","ports":[{"port":80,"nodePort":30080}]})").message(),
      HasSubstr("already allocated"));
}

}  // namespace
}  // namespace koord::apiserver::testing
