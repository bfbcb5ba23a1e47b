// The kinds of resource.k8s.io: what the API server fills in, refuses and shows.

#include <gmock/gmock.h>

#include "apiserver/testing.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kClaims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
constexpr const char* kTemplates =
    "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates";
constexpr const char* kSlices = "/apis/resource.k8s.io/v1/resourceslices";
constexpr const char* kClasses = "/apis/resource.k8s.io/v1/deviceclasses";
constexpr const char* kRules = "/apis/resource.k8s.io/v1beta2/devicetaintrules";
constexpr const char* kTable = "application/json;as=Table;v=v1;g=meta.k8s.io";

std::string repeated(std::string_view item, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    std::string one(item);
    for (auto at = one.find('#'); at != std::string::npos; at = one.find('#'))
      one.replace(at, 1, std::to_string(i));
    out += (i > 0 ? "," : "") + one;
  }
  return out;
}

std::string claim(const std::string& devices, const std::string& name = "c") {
  return R"({"metadata":{"name":")" + name + R"("},"spec":{"devices":)" + devices + "}}";
}
std::string requests(const std::string& list) {
  return claim(R"({"requests":[)" + list + "]}");
}
std::string slice(const std::string& devices, const std::string& more = R"("nodeName":"n1")") {
  return R"({"metadata":{"name":"s"},"spec":{"driver":"d.example.com","pool":{"name":"n1","generation":1,)"
         R"("resourceSliceCount":1},)" +
         more + R"(,"devices":[)" + devices + "]}}";
}

class ResourceKindsTest : public ServerTest {
 protected:
  // "field: message" of each cause.
  static std::vector<std::string> causes(const Answer& answer) {
    std::vector<std::string> out;
    const auto* list = at(answer.body, "details", "causes");
    if (!list) return {std::to_string(answer.status) + " " + answer.message()};
    for (const auto& cause : list->get_array())
      out.push_back(std::string(textAt(cause, "field")) + ": " +
                    std::string(textAt(cause, "message")));
    return out;
  }
  struct Row {
    const char* what;
    const char* path;
    std::string body;
    std::vector<std::string> causes;
  };
  void expectRefused(const std::vector<Row>& rows) {
    for (const auto& row : rows) {
      const auto answer = post(row.path, row.body);
      EXPECT_EQ(answer.status, 422) << row.what << ": " << answer.message();
      const auto found = causes(answer);
      ASSERT_EQ(found.size(), row.causes.size())
          << row.what << ": " << ::testing::PrintToString(found);
      for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_THAT(found[i], ::testing::StartsWith(row.causes[i])) << row.what;
    }
  }
};

TEST_F(ResourceKindsTest, aClaimGetsItsDefaults) {
  const auto made = post(
      kClaims,
      requests(R"({"name":"a","exactly":{"deviceClassName":"gpu","tolerations":[{"key":"k"}]}},)"
               R"({"name":"b","firstAvailable":[{"name":"x","deviceClassName":"gpu"}]},)"
               R"({"name":"c","exactly":{"deviceClassName":"gpu","allocationMode":"All"}})"));
  ASSERT_EQ(made.status, 201) << made.message();
  const auto& list = at(made.body, "spec", "devices", "requests")->get_array();
  EXPECT_EQ(
      toJson(list[0]),
      R"({"name":"a","exactly":{"deviceClassName":"gpu","tolerations":[{"key":"k","operator":"Equal"}],"allocationMode":"ExactCount","count":1}})");
  EXPECT_EQ(at(list[1].at("firstAvailable").get_array()[0], "count")->get_int64(), 1);
  EXPECT_EQ(at(list[2], "exactly", "count"), nullptr);
  EXPECT_EQ(toJson(*find(made.body, "status")), "{}");
  EXPECT_EQ(at(made.body, "metadata", "generation"), nullptr);
}

TEST_F(ResourceKindsTest, aClaimIsRefusedWithTheFieldThatIsInvalid) {
  const std::string exactly = R"({"name":"a","exactly":{"deviceClassName":"gpu"}})";
  expectRefused({
      {"no kind of request",
       kClaims,
       requests(R"({"name":"a"})"),
       {"spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is "
        "required"}},
      {"both kinds of requests",
       kClaims,
       requests(
           R"({"name":"a","exactly":{"deviceClassName":"g"},"firstAvailable":[{"name":"x"}]})"),
       {"spec.devices.requests[0]: Invalid value: null: exactly one of `exactly` or "
        "`firstAvailable` is required, but multi"}},
      {"no class, and a bad name",
       kClaims,
       requests(R"({"name":"A","exactly":{}})"),
       {"spec.devices.requests[0].name: Invalid value: \"A\": a lowercase RFC 1123 label",
        "spec.devices.requests[0].exactly.deviceClassName: Required value"}},
      {"a name with dots",
       kClaims,
       requests(R"({"name":"a.b","exactly":{"deviceClassName":"g"}})"),
       {"spec.devices.requests[0].name: Invalid value: \"a.b\": must not contain dots"}},
      {"a long name",
       kClaims,
       requests(R"({"name":")" + std::string(64, 'a') + R"(","exactly":{"deviceClassName":"g"}})"),
       {"spec.devices.requests[0].name: Invalid value: \"" + std::string(64, 'a') +
        "\": must be no more than 63 characters"}},
      {"two requests of one name",
       kClaims,
       requests(exactly + "," + exactly),
       {"spec.devices.requests[1]: Duplicate value: \"a\""}},
      {"more than 32 requests",
       kClaims,
       requests(repeated(R"({"name":"r#","exactly":{"deviceClassName":"g"}})", 33)),
       {"spec.devices.requests: Too many: 33: must have at most 32 items"}},
      {"a count of all devices",
       kClaims,
       requests(
           R"({"name":"a","exactly":{"deviceClassName":"g","allocationMode":"All","count":2}})"),
       {"spec.devices.requests[0].exactly.count: Invalid value: 2: must not be specified when "
        "allocationMode is 'All'"}},
      {"a negative count",
       kClaims,
       requests(R"({"name":"a","exactly":{"deviceClassName":"g","count":-1}})"),
       {"spec.devices.requests[0].exactly.count: Invalid value: -1: must be greater than zero"}},
      {"an unknown mode",
       kClaims,
       requests(R"({"name":"a","exactly":{"deviceClassName":"g","allocationMode":"Some"}})"),
       {"spec.devices.requests[0].exactly.allocationMode: Unsupported value: \"Some\": supported "
        "values: \"All\", \"ExactCount\""}},
      {"a selector without an expression",
       kClaims,
       requests(R"({"name":"a","exactly":{"deviceClassName":"g","selectors":[{}]}})"),
       {"spec.devices.requests[0].exactly.selectors[0].cel: Required value"}},
      {"an expression that is too long",
       kClaims,
       requests(
           R"({"name":"a","exactly":{"deviceClassName":"g","selectors":[{"cel":{"expression":")" +
           std::string(10241, 'a') + R"("}}]}})"),
       {"spec.devices.requests[0].exactly.selectors[0].cel.expression: Too long: may not be more "
        "than 10240 bytes"}},
      {"tolerations",
       kClaims,
       requests(
           R"({"name":"a","exactly":{"deviceClassName":"g","tolerations":[{"operator":"Exists","value":"v"},{"operator":"In"},{"key":"k","effect":"Never"}]}})"),
       {"spec.devices.requests[0].exactly.tolerations[0].value: Invalid value: \"v\": must be "
        "empty "
        "for operator `Exists`",
        "spec.devices.requests[0].exactly.tolerations[1].operator: Unsupported value: \"In\": "
        "supported values: \"Equal\", \"Exists\"",
        "spec.devices.requests[0].exactly.tolerations[2].effect: Unsupported value: \"Never\": "
        "supported values: \"NoExecute\", \"NoSchedule\", \"None\""}},
      {"a constraint on an unknown request",
       kClaims,
       claim(R"({"requests":[)" + exactly +
             R"(],"constraints":[{"requests":["b"],"matchAttribute":"numa"}]})"),
       {"spec.devices.constraints[0].requests[0]: Invalid value: \"b\": must be the name of a "
        "request in the claim or the name of a request",
        "spec.devices.constraints[0].matchAttribute: Invalid value: \"numa\": a fully qualified "
        "name must be a domain and a name"}},
      {"a constraint without an attribute",
       kClaims,
       claim(R"({"requests":[)" + exactly + R"(],"constraints":[{"requests":["a"]}]})"),
       {"spec.devices.constraints[0]: Required value: exactly one of \"matchAttribute\" or "
        "\"distinctAttribute\" is required"}},
      {"a configuration that is no object",
       kClaims,
       claim(R"({"requests":[)" + exactly +
             R"(],"config":[{"opaque":{"driver":"","parameters":[1]}},{}]})"),
       {"spec.devices.config[0].opaque.driver: Required value",
        "spec.devices.config[0].opaque.parameters: Invalid value: \"<value omitted>\": must be a "
        "valid JSON object",
        "spec.devices.config[1].opaque: Required value"}},
      {"a template",
       kTemplates,
       R"({"metadata":{"name":"t"},"spec":{"metadata":{"labels":{"a b":"c"}},"spec":{"devices":{"requests":[{"name":"a"}]}}}})",
       {"spec.metadata.labels: Invalid value: \"a b\": name part",
        "spec.spec.devices.requests[0]: Required value: exactly one of"}},
  });
}

TEST_F(ResourceKindsTest, anExpressionThatCanCostTooMuchIsRefused) {
  const auto selector = [](const std::string& text) {
    return R"("selectors":[{"cel":{"expression":")" + text + R"("}}])";
  };
  const std::string pairs =
      "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, a == b)))";
  EXPECT_EQ(
      post(kClasses, R"({"metadata":{"name":"pairs"},"spec":{)" + selector(pairs) + "}}").status,
      201);
  const auto costly = selector("device.attributes.all(d, " + pairs + ")");
  expectRefused({
      {"in a claim",
       kClaims,
       requests(R"({"name":"a","exactly":{"deviceClassName":"g",)" + costly + "}}"),
       {"spec.devices.requests[0].exactly.selectors[0].cel.expression: Forbidden: too complex, "
        "exceeds cost limit"}},
      {"in a class",
       kClasses,
       R"({"metadata":{"name":"c"},"spec":{)" + costly + "}}",
       {"spec.selectors[0].cel.expression: Forbidden: too complex, exceeds cost limit"}},
  });
}

TEST_F(ResourceKindsTest, aSliceIsRefusedWithTheFieldThatIsInvalid) {
  const auto device = [](const std::string& more) { return R"({"name":"d")" + more + "}"; };
  expectRefused({
      {"more than 128 devices",
       kSlices,
       slice(repeated(R"({"name":"d#"})", 129)),
       {"spec.devices: Too many: 129: must have at most 128 items"}},
      {"more than 64 devices with taints",
       kSlices,
       slice(repeated(R"({"name":"d#","taints":[{"key":"k","effect":"NoSchedule"}]})", 65)),
       {"spec.devices: Too many: 65: must have at most 64 items"}},
      {"no place",
       kSlices,
       slice(device(""), R"("allNodes":false)"),
       {"spec.allNodes: Invalid value: false: must be either unset or set to true",
        "spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, "
        "`perDeviceNodeSelection` is required"}},
      {"two places",
       kSlices,
       slice(device(""), R"("nodeName":"n1","allNodes":true)"),
       {"spec: Invalid value: \"{`nodeName`, `allNodes`}\": exactly one of `nodeName`, "
        "`nodeSelector`, `allNodes`, `perDe"}},
      {"no driver and no pool",
       kSlices,
       R"({"metadata":{"name":"s"},"spec":{"nodeName":"n1"}})",
       {"spec.driver: Required value", "spec.pool.name: Required value",
        "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero"}},
      {"two devices of one name",
       kSlices,
       slice(device("") + "," + device("")),
       {"spec.devices[1]: Duplicate value: \"d\""}},
      {"attributes",
       kSlices,
       slice(device(
           R"(,"attributes":{"a":{},"b":{"int":1,"bool":true},"c":{"version":"1.0"},"example.com/":{"int":1},"d-e":{"int":1}})")),
       {"spec.devices[0].attributes[a]: Invalid value: \"\": exactly one value must be specified",
        "spec.devices[0].attributes[b]: Invalid value: {\"int\":1,\"bool\":true}: exactly one "
        "value",
        "spec.devices[0].attributes[c].version: Invalid value: \"1.0\": must be a string "
        "compatible "
        "with semver.org spec 2.0.0",
        "spec.devices[0].attributes: Invalid value: \"\": the name must not be empty",
        "spec.devices[0].attributes: Invalid value: \"d-e\": a valid C identifier must start"}},
      {"33 attributes and capacities",
       kSlices,
       slice(device(R"(,"attributes":{)" + repeated(R"("a#":{"int":1})", 32) +
                    R"(},"capacity":{"memory":{"value":"1Gi"}})")),
       {"spec.devices[0]: Invalid value: 33: the total number of attributes and capacities must "
        "not "
        "exceed 32"}},
      {"a policy of a device for one claim",
       kSlices,
       slice(device(R"(,"capacity":{"memory":{"value":"1Gi","requestPolicy":{"default":"1"}}})")),
       {"spec.devices[0].capacity[memory].requestPolicy: Forbidden: allowMultipleAllocations must "
        "be true"}},
      {"a policy that does not fit the capacity",
       kSlices,
       slice(device(
           R"(,"allowMultipleAllocations":true,"capacity":{"memory":{"value":"4Gi","requestPolicy":{"default":"3Gi","validValues":["2Gi","1Gi","8Gi"]}}})")),
       {"spec.devices[0].capacity[memory].requestPolicy.validValues[1]: Invalid value: \"1Gi\": "
        "values must be sorted in ascending order",
        "spec.devices[0].capacity[memory].requestPolicy.validValues[2]: Invalid value: \"8Gi\": "
        "option is larger than capacity value: 4Gi",
        "spec.devices[0].capacity[memory].requestPolicy.validValues: Invalid value: \"3Gi\": "
        "default "
        "value is not valid"}},
      {"a range",
       kSlices,
       slice(device(
           R"(,"allowMultipleAllocations":true,"capacity":{"memory":{"value":"4Gi","requestPolicy":{"default":"3Gi","validRange":{"min":"1Gi","max":"2Gi","step":"2Gi"}}}})")),
       {"spec.devices[0].capacity[memory].requestPolicy.validRange.max: Invalid value: \"3Gi\": "
        "default is more than max: 2Gi",
        "spec.devices[0].capacity[memory].requestPolicy.validRange.step: Invalid value: \"2Gi\": "
        "value is not a multiple"}},
      {"taints",
       kSlices,
       slice(device(R"(,"taints":[{"key":"","effect":"No"}])")),
       {"spec.devices[0].taints[0].key: Invalid value: \"\": name part must be non-empty",
        "spec.devices[0].taints[0].effect: Unsupported value: \"No\": supported values: "
        "\"NoExecute\", \"NoSchedule\", \"None\""}},
      {"binding conditions",
       kSlices,
       slice(device(R"(,"bindingConditions":["a","a"])")),
       {"spec.devices[0].bindingConditions[1]: Duplicate value: \"a\"",
        "spec.devices[0].bindingFailureConditions: Invalid value: null: bindingFailureConditions "
        "are "
        "required to use binding"}},
      {"counters and devices",
       kSlices,
       slice(device(""), R"("nodeName":"n1","sharedCounters":[{"name":"a","counters":{}}])"),
       {"spec: Invalid value: \"\": only one of `sharedCounters` or `devices` is allowed",
        "spec.sharedCounters[0].counters: Required value"}},
      {"a place of a device",
       kSlices,
       slice(device(R"(,"allNodes":true)")),
       {"spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only "
        "be set if `perDeviceNodeSele"}},
      {"a node selector",
       kSlices,
       slice(
           device(""),
           R"("nodeSelector":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"k","operator":"In"}],"matchFields":[{"key":"x","operator":"In","values":["n"]}]}]})"),
       {"spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must "
        "be "
        "specified when `operator` is 'In' or 'NotIn'",
        "spec.nodeSelector.nodeSelectorTerms[0].matchFields[0].key: Invalid value: \"x\": not a "
        "valid field selector key"}},
      {"a class",
       kClasses,
       R"({"metadata":{"name":"c"},"spec":{"selectors":[{"cel":{"expression":" "}}],"config":[{}],"extendedResourceName":"cpu"}})",
       {"spec.selectors[0].cel.expression: Invalid value: \" \": compilation failed: ERROR",
        "spec.config[0].opaque: Required value",
        "spec.extendedResourceName: Invalid value: \"cpu\": must be a valid extended resource "
        "name"}},
      {"a rule",
       kRules,
       R"({"metadata":{"name":"r"},"spec":{"deviceSelector":{"driver":"","device":"A"},"taint":{"key":"k"}}})",
       {"spec.deviceSelector.driver: Required value",
        "spec.deviceSelector.device: Invalid value: \"A\": a lowercase RFC 1123 label",
        "spec.taint.effect: Required value"}},
  });
}

TEST_F(ResourceKindsTest, attributesHaveIntegersOf64Bits) {
  const auto made = post(kSlices, slice(R"({"name":"d","attributes":{
      "serial":{"int":9223372036854775807},"least":{"int":-9223372036854775808}}})"));
  ASSERT_EQ(made.status, 201) << made.message();
  const auto& attributes = at(made.body, "spec", "devices")->get_array()[0].at("attributes");
  EXPECT_EQ(attributes.at("serial").at("int").as_int64(), 9223372036854775807);
}

TEST_F(ResourceKindsTest, theStepOfARangeMayBeAnyNumber) {
  const auto range = [](const std::string& fallback, const std::string& min,
                        const std::string& step) {
    return slice(
        R"({"name":"d","allowMultipleAllocations":true,"capacity":{"memory":{"value":"4Gi","requestPolicy":{"default":")" +
        fallback + R"(","validRange":{"min":")" + min + R"(","step":")" + step + R"("}}}}})");
  };
  const std::string path = "spec.devices[0].capacity[memory].requestPolicy.validRange.";
  expectRefused({
      {"a distance of -2^63 in steps of -1",
       kSlices,
       range("-1", "9223372036854775807", "-1"),
       {path + "min: Invalid value", path + "min: Invalid value", path + "step: Invalid value"}},
      {"a distance of more than 63 bits",
       kSlices,
       range("9223372036854775807", "-9223372036854775807", "4"),
       {path + "step: Invalid value: \"9223372036854775807\": value is not a multiple"}},
      {"steps of zero",
       kSlices,
       range("2", "1", "0"),
       {path + "step: Invalid value: \"2\": value is not a multiple of a given step (0) from (1)"}},
  });
}

TEST_F(ResourceKindsTest, theSpecOfAClaimAndOfATemplateIsImmutable) {
  const std::string one = R"({"name":"a","exactly":{"deviceClassName":"gpu"}})";
  ASSERT_EQ(post(kClaims, requests(one)).status, 201);
  const std::string path = std::string(kClaims) + "/c";
  EXPECT_EQ(mergePatch(path, R"({"metadata":{"labels":{"a":"b"}}})").status, 200);
  EXPECT_EQ(mergePatch(path, R"({"spec":{"devices":{"requests":[]}}})").status, 422);
  const auto changed = mergePatch(path, R"({"spec":{"devices":{"constraints":[{}]}}})");
  EXPECT_THAT(changed.message(), HasSubstr("spec: Invalid value: {"));
  EXPECT_THAT(changed.message(), HasSubstr(": field is immutable"));
  ASSERT_EQ(post(kTemplates, R"({"metadata":{"name":"t"},"spec":{"spec":{"devices":{"requests":[)" +
                                 one + "]}}}}")
                .status,
            201);
  EXPECT_EQ(causes(mergePatch(std::string(kTemplates) + "/t",
                              R"({"spec":{"metadata":{"labels":{"a":"b"}}}})"))
                .size(),
            1U);
}

TEST_F(ResourceKindsTest, theDriverPoolNameAndNodeOfASliceAreImmutable) {
  ASSERT_EQ(post(kSlices, slice(R"({"name":"d"})")).status, 201);
  const std::string path = std::string(kSlices) + "/s";
  const auto changed = mergePatch(
      path, R"({"spec":{"driver":"e.example.com","nodeName":"n2","pool":{"name":"n2"}}})");
  EXPECT_THAT(causes(changed),
              ElementsAre("spec.pool.name: Invalid value: \"n2\": field is immutable",
                          "spec.driver: Invalid value: \"e.example.com\": field is immutable",
                          "spec.nodeName: Invalid value: \"n2\": field is immutable"));
  const auto next = mergePatch(path, R"({"spec":{"pool":{"generation":2}}})");
  EXPECT_EQ(next.status, 200) << next.message();
  EXPECT_EQ(at(next.body, "metadata", "generation")->get_int64(), 2);
}

TEST_F(ResourceKindsTest, taintsHaveTheTimeAtWhichTheyWereAdded) {
  const auto made =
      post(kSlices, slice(R"({"name":"d","taints":[{"key":"k","effect":"NoSchedule"}]})"));
  ASSERT_EQ(made.status, 201) << made.message();
  const auto& device = at(made.body, "spec", "devices")->get_array()[0];
  EXPECT_FALSE(textAt(device.at("taints").get_array()[0], "timeAdded").empty());

  const auto rule =
      post(kRules, R"({"metadata":{"name":"r"},"spec":{"taint":{"key":"k","effect":"None"}}})");
  ASSERT_EQ(rule.status, 201) << rule.message();
  const std::string first(textAt(rule.body, "spec", "taint", "timeAdded"));
  loop.advance(std::chrono::seconds(5));
  const std::string path = std::string(kRules) + "/r";
  const auto same = mergePatch(path, R"({"spec":{"taint":{"value":"v"}}})");
  EXPECT_EQ(textAt(same.body, "spec", "taint", "timeAdded"), first);
  const auto now = mergePatch(path, R"({"spec":{"taint":{"effect":"NoExecute"}}})");
  EXPECT_GT(textAt(now.body, "spec", "taint", "timeAdded"), first);
}

class ClaimStatusTest : public ResourceKindsTest {
 protected:
  void SetUp() override {
    ResourceKindsTest::SetUp();
    ASSERT_EQ(post(kClaims, requests(R"({"name":"a","exactly":{"deviceClassName":"gpu"}})")).status,
              201);
  }
  Answer status(const std::string& status) {
    return mergePatch(std::string(kClaims) + "/c/status", R"({"status":)" + status + "}");
  }
  static constexpr const char* kAllocation =
      R"({"devices":{"results":[{"request":"a","driver":"d.example.com","pool":"n1","device":"gpu-0"}]}})";
};

TEST_F(ClaimStatusTest, anAllocationIsSetOnceAndCleared) {
  ASSERT_EQ(status(std::string(R"({"allocation":)") + kAllocation + "}").status, 200);
  const auto changed = status(R"({"allocation":{"devices":{"results":[]}}})");
  EXPECT_THAT(causes(changed), ElementsAre(::testing::StartsWith("status.allocation: Invalid")));
  EXPECT_EQ(status(R"({"allocation":null})").status, 200);
}

TEST_F(ClaimStatusTest, aNewAllocationIsChecked) {
  EXPECT_THAT(
      causes(status(
          R"({"allocation":{"devices":{"results":[{"request":"b","driver":"d","pool":"","device":"A","shareID":"x"}],"config":[{"source":"x","opaque":{"driver":"d","parameters":{}}}]}}})")),
      ElementsAre(::testing::StartsWith("status.allocation.devices.results[0].request: Invalid"),
                  "status.allocation.devices.results[0].pool: Required value",
                  ::testing::StartsWith("status.allocation.devices.results[0].device: Invalid"),
                  ::testing::StartsWith("status.allocation.devices.results[0].shareID: Invalid"),
                  "status.allocation.devices.config[0].source: Unsupported value: \"x\": supported "
                  "values: \"FromClaim\", \"FromClass\""));
}

TEST_F(ClaimStatusTest, onlyAnAllocatedClaimIsReserved) {
  const std::string pod = R"({"resource":"pods","name":"p","uid":"1"})";
  EXPECT_THAT(causes(status(R"({"reservedFor":[)" + pod + "]}")),
              ElementsAre("status.reservedFor: Forbidden: may not be specified when `allocated` is "
                          "not set"));
  const std::string allocated = std::string(R"({"allocation":)") + kAllocation;
  EXPECT_EQ(status(allocated + R"(,"reservedFor":[)" + pod + "]}").status, 200);
  EXPECT_THAT(causes(status(R"({"reservedFor":[{"resource":"pods","name":"p","uid":"1"},)"
                            R"({"resource":"pods","name":"q","uid":"1"},{"name":"x"}]})")),
              ElementsAre("status.reservedFor[2].resource: Required value",
                          "status.reservedFor[2].uid: Required value",
                          "status.reservedFor[1]: Duplicate value: \"1\""));
  EXPECT_THAT(causes(status(R"({"reservedFor":[)" +
                            repeated(R"({"resource":"pods","name":"p","uid":"#"})", 257) + "]}")),
              ElementsAre("status.reservedFor: Too many: 257: must have at most 256 items"));
}

TEST_F(ClaimStatusTest, aDeletedClaimGetsNoNewConsumers) {
  ASSERT_EQ(
      mergePatch(std::string(kClaims) + "/c",
                 R"({"metadata":{"finalizers":["resource.kubernetes.io/delete-protection"]}})")
          .status,
      200);
  const std::string allocated = std::string(R"({"allocation":)") + kAllocation;
  ASSERT_EQ(status(allocated + "}").status, 200);
  ASSERT_EQ(remove(std::string(kClaims) + "/c").status, 200);
  EXPECT_THAT(causes(status(R"({"reservedFor":[{"resource":"pods","name":"p","uid":"1"}]})")),
              ElementsAre(::testing::StartsWith(
                  "status.reservedFor: Forbidden: new entries may not be added while")));
}

TEST_F(ClaimStatusTest, driversReportOnAllocatedDevicesOnly) {
  const std::string report =
      R"("devices":[{"driver":"d.example.com","pool":"n1","device":"gpu-0","data":{"a":1},)"
      R"("conditions":[{"type":"Ready","status":"True","reason":"R","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}])";
  EXPECT_THAT(causes(status("{" + report + "}")),
              ElementsAre(::testing::StartsWith(
                  "status.devices[0]: Invalid value: \"d.example.com/n1/gpu-0\": must be an "
                  "allocated device in the claim")));
  const std::string allocated = std::string(R"({"allocation":)") + kAllocation;
  const auto both = status(allocated + "," + report + "}");
  ASSERT_EQ(both.status, 200) << both.message();
  // What was reported goes with the allocation.
  const auto none = status(R"({"allocation":null})");
  ASSERT_EQ(none.status, 200) << none.message();
  EXPECT_EQ(at(none.body, "status", "devices"), nullptr);
}

TEST_F(ClaimStatusTest, aStatusUpdateDoesNotChangeMetadata) {
  const auto patched = mergePatch(std::string(kClaims) + "/c/status",
                                  R"({"metadata":{"labels":{"a":"b"},"finalizers":["a/b"]}})");
  EXPECT_EQ(patched.status, 200);
  EXPECT_EQ(at(patched.body, "metadata", "labels"), nullptr);
  EXPECT_EQ(at(patched.body, "metadata", "finalizers"), nullptr);
}

TEST_F(ResourceKindsTest, kubectlShowsTheStateOfClaimsAndThePlacesOfSlices) {
  const auto cells = [&](const std::string& path) {
    const auto table = get(path, kTable);
    std::string out;
    for (const auto& row : find(table.body, "rows")->get_array())
      out += toJson(row.at("cells")) + " ";
    return out;
  };
  ASSERT_EQ(post(kClaims, requests(R"({"name":"a","exactly":{"deviceClassName":"g"}})")).status,
            201);
  EXPECT_EQ(cells(kClaims), R"(["c","pending","0s"] )");
  const std::string path = std::string(kClaims) + "/c/status";
  ASSERT_EQ(mergePatch(path, R"({"status":{"allocation":{},"reservedFor":[{"resource":"pods",)"
                             R"("name":"p","uid":"1"}]}})")
                .status,
            200);
  EXPECT_EQ(cells(kClaims), R"(["c","allocated,reserved","0s"] )");
  ASSERT_EQ(post(kSlices, slice(R"({"name":"d"})")).status, 201);
  EXPECT_EQ(cells(kSlices), R"(["s","n1","d.example.com","n1","0s"] )");
  ASSERT_EQ(
      post(kRules, R"({"metadata":{"name":"r"},"spec":{"taint":{"key":"k","effect":"None"}}})")
          .status,
      201);
  EXPECT_EQ(cells(kRules), R"(["r","k","","None","0s","0s"] )");
}

TEST_F(ResourceKindsTest, slicesAreSelectedByNodeAndDriver) {
  ASSERT_EQ(post(kSlices, slice(R"({"name":"d"})")).status, 201);
  const auto count = [&](const std::string& selector) {
    const auto list = get(std::string(kSlices) + "?fieldSelector=" + selector);
    return list.status == 200 ? find(list.body, "items")->get_array().size() : 1000 + list.status;
  };
  EXPECT_EQ(count("spec.nodeName=n1"), 1U);
  EXPECT_EQ(count("spec.nodeName=n2"), 0U);
  EXPECT_EQ(count("spec.driver=d.example.com,metadata.name=s"), 1U);
  EXPECT_EQ(count("spec.pool.name=n1"), 1400U);
}

TEST_F(ResourceKindsTest, aQuotaLimitsTheDevicesOfAClass) {
  ASSERT_EQ(post("/api/v1/namespaces/default/resourcequotas",
                 R"({"metadata":{"name":"q"},"spec":{"hard":{"gpu.deviceclass.resource.k8s.io/)"
                 R"(devices":"3","count/resourceclaims.resource.k8s.io":"5"}}})")
                .status,
            201);
  ASSERT_EQ(
      post(kClaims,
           requests(
               R"({"name":"a","firstAvailable":[{"name":"x","deviceClassName":"gpu","count":2},)"
               R"({"name":"y","deviceClassName":"gpu"},{"name":"z","deviceClassName":"other"}]})"))
          .status,
      201);
  const auto refused = post(
      kClaims,
      claim(R"({"requests":[{"name":"a","exactly":{"deviceClassName":"gpu","count":2}}]})", "d"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.message(),
              HasSubstr("exceeded quota: q, requested: gpu.deviceclass.resource.k8s.io/devices=2, "
                        "used: gpu.deviceclass.resource.k8s.io/devices=2, limited: "
                        "gpu.deviceclass.resource.k8s.io/devices=3"));
}

TEST_F(ResourceKindsTest, aQuotaCountsExtendedResourcesOfPodsAndClaims) {
  const auto used = [&] {
    loop.runReady();
    return toJson(*at(get("/api/v1/namespaces/default/resourcequotas/q").body, "status", "used"));
  };
  ASSERT_EQ(post(kClasses,
                 R"({"metadata":{"name":"gpu"},"spec":{"extendedResourceName":"example.com/gpu"}})")
                .status,
            201);
  ASSERT_EQ(post("/api/v1/namespaces/default/resourcequotas",
                 R"({"metadata":{"name":"q"},"spec":{"hard":{"requests.example.com/gpu":"4",)"
                 R"("requests.deviceclass.resource.kubernetes.io/gpu":"9"}}})")
                .status,
            201);
  const auto two = [](const std::string& metadata) {
    return R"({"metadata":{)" + metadata +
           R"(},"spec":{"devices":{"requests":[{"name":"a",)"
           R"("exactly":{"deviceClassName":"gpu","count":2}}]}}})";
  };
  ASSERT_EQ(post(kClaims, two(R"("name":"own")")).status, 201);
  EXPECT_EQ(
      used(),
      R"({"requests.deviceclass.resource.kubernetes.io/gpu":"2","requests.example.com/gpu":"2"})");
  const auto pod =
      post(kPods, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i",)"
                  R"("resources":{"requests":{"example.com/gpu":"2"},)"
                  R"("limits":{"example.com/gpu":"2"}}}]}})");
  ASSERT_EQ(pod.status, 201) << pod.message();
  EXPECT_EQ(
      used(),
      R"({"requests.deviceclass.resource.kubernetes.io/gpu":"2","requests.example.com/gpu":"4"})");
  // The claim that the scheduler creates for the pod is charged once, by the names that the pod is
  // not charged for.
  const std::string extended =
      R"("annotations":{"resource.kubernetes.io/extended-resource-claim":"true"},)"
      R"("ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","controller":true,"uid":")" +
      std::string(textAt(pod.body, "metadata", "uid")) + R"("}])";
  const auto made = post(kClaims, two(R"("name":"made",)" + extended));
  ASSERT_EQ(made.status, 201) << made.message();
  const std::string both =
      R"({"requests.deviceclass.resource.kubernetes.io/gpu":"4","requests.example.com/gpu":"4"})";
  EXPECT_EQ(used(), both);
  // A second claim that names the pod is not covered by it.
  const auto second = post(kClaims, two(R"("name":"zzz",)" + extended));
  EXPECT_EQ(second.status, 403);
  EXPECT_THAT(second.message(), HasSubstr("requested: requests.example.com/gpu=2"));
  // The class backs nothing now.
  ASSERT_EQ(
      request("PUT", std::string(kClasses) + "/gpu", R"({"metadata":{"name":"gpu"},"spec":{}})")
          .status,
      200);
  EXPECT_EQ(
      used(),
      R"({"requests.deviceclass.resource.kubernetes.io/gpu":"4","requests.example.com/gpu":"2"})");
}

TEST_F(ResourceKindsTest, thePodsThatUseClaimsAreChecked) {
  const auto bad = post(
      kPods,
      R"({"metadata":{"name":"p"},"spec":{"resourceClaims":[{"name":"a"},{"name":"a","resourceClaimName":"x"},)"
      R"({"name":"b","resourceClaimName":"x","resourceClaimTemplateName":"A"}],"containers":[{"name":"c",)"
      R"("image":"i","resources":{"claims":[{"name":"a"},{"name":"a","request":"r"},{"name":"z"}]}}]}})");
  EXPECT_THAT(
      causes(bad),
      ElementsAre(
          ::testing::StartsWith("spec.resourceClaims[0]: Invalid value: {\"name\":\"a\"}: must "
                                "specify one of: `resourceClaimName`"),
          "spec.resourceClaims[1].name: Duplicate value: \"a\"",
          ::testing::StartsWith("spec.resourceClaims[2]: Invalid value: {"),
          ::testing::StartsWith("spec.resourceClaims[2].resourceClaimTemplateName: Invalid"),
          "spec.containers[0].resources.claims[1]: Duplicate value: \"a\"",
          "spec.containers[0].resources.claims[2]: Not found: \"z\": must be one of the names in "
          "pod.spec.resourceClaims: a, b"));
  ASSERT_EQ(
      post(kPods, pod("p", R"(,"resourceClaims":[{"name":"a","resourceClaimTemplateName":"t"}])"))
          .status,
      201);
  const auto status = mergePatch(
      std::string(kPods) + "/p/status",
      R"({"status":{"resourceClaimStatuses":[{"name":"b"}],"extendedResourceClaimStatus":{}}})");
  EXPECT_THAT(
      causes(status),
      ElementsAre(
          "status.resourceClaimStatuses[0].name: Invalid value: \"b\": must match the name "
          "of an entry in `spec.resourceClaims`",
          "status.extendedResourceClaimStatus.requestMappings: Required value: at least one "
          "request mapping is required",
          "status.extendedResourceClaimStatus.resourceClaimName: Required value"));
}

}  // namespace
}  // namespace koord::apiserver::testing
