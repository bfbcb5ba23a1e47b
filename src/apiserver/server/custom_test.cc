// CustomResourceDefinitions and the objects they define.

#include <gmock/gmock.h>

#include "apiserver/objects/formats.h"
#include "apiserver/testing.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kCrds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr const char* kGizmos = "/apis/example.com/v1/namespaces/default/gizmos";

constexpr const char* kCrd =
    R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
  "metadata":{"name":"gizmos.example.com"},
  "spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"gizmos","kind":"Gizmo","shortNames":["gz"]},
    "versions":[
      {"name":"v1","served":true,"storage":true,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},
       "additionalPrinterColumns":[{"name":"Size","type":"integer","jsonPath":".spec.size"},{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}],
       "schema":{"openAPIV3Schema":{"type":"object","required":["spec"],"properties":{
         "spec":{"type":"object","required":["size"],"properties":{
           "size":{"type":"integer","minimum":1,"maximum":10},
           "color":{"type":"string","enum":["red","blue"],"default":"red"},
           "name":{"type":"string","pattern":"^[a-z]+$","maxLength":5},
           "replicas":{"type":"integer"},
           "amount":{"x-kubernetes-int-or-string":true},
           "free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
           "items":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string","default":"x"}}}}}},
         "status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}},
      {"name":"v1beta1","served":true,"storage":false,"deprecated":true,
       "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})";

class CustomTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    const auto made = post(kCrds, kCrd);
    ASSERT_EQ(made.status, 201) << made.message();
  }
};

TEST_F(CustomTest, aDefinitionMakesAResource) {
  const auto crd = get(std::string(kCrds) + "/gizmos.example.com").body;
  EXPECT_EQ(textAt(crd, "spec", "names", "singular"), "gizmo");
  EXPECT_EQ(textAt(crd, "status", "acceptedNames", "listKind"), "GizmoList");
  EXPECT_EQ(*at(crd, "status", "storedVersions"), json::value({"v1"}));
  const auto made = post(
      kGizmos,
      R"({"apiVersion":"example.com/v1","kind":"Gizmo","metadata":{"name":"g"},"spec":{"size":3}})");
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(textAt(get(kGizmos).body, "kind"), "GizmoList");
}

TEST_F(CustomTest, objectsArePrunedAndCompleted) {
  const auto made = post(
      kGizmos,
      R"({"metadata":{"name":"g"},"extra":1,"spec":{"size":3,"unknown":{},"free":{"any":["thing"]},"items":[{}],"amount":"10%"}})");
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(
      made.body.at("spec"),
      *parseJson(
          R"({"size":3,"free":{"any":["thing"]},"items":[{"a":"x"}],"amount":"10%","color":"red"})"));
  EXPECT_EQ(find(made.body, "extra"), nullptr);
  EXPECT_THAT(made.warnings,
              ElementsAre("unknown field \"extra\"", "unknown field \"spec.unknown\""));
  EXPECT_EQ(*at(made.body, "metadata", "generation"), 1);
}

TEST_F(CustomTest, invalidObjectsNameTheField) {
  const auto wrong = post(
      kGizmos, R"({"metadata":{"name":"g"},"spec":{"size":11,"color":"green","name":"TooLong"}})");
  EXPECT_EQ(wrong.status, 422);
  EXPECT_THAT(wrong.message(), HasSubstr("Gizmo.example.com \"g\" is invalid: ["));
  EXPECT_THAT(
      wrong.message(),
      HasSubstr(
          "spec.size: Invalid value: 11: spec.size in body should be less than or equal to 10"));
  EXPECT_THAT(
      wrong.message(),
      HasSubstr("spec.color: Unsupported value: \"green\": supported values: \"red\", \"blue\""));
  EXPECT_THAT(wrong.message(), HasSubstr("spec.name: Too long: may not be more than 5 bytes"));
  EXPECT_THAT(wrong.message(), HasSubstr("spec.name in body should match '^[a-z]+$'"));
  EXPECT_THAT(post(kGizmos, R"({"metadata":{"name":"g"}})").message(),
              HasSubstr("spec: Required value"));
  EXPECT_THAT(post(kGizmos, R"({"metadata":{"name":"g"},"spec":{"size":"big"}})").message(),
              HasSubstr("spec.size in body must be of type integer: \"string\""));
}

TEST_F(CustomTest, limitsAreReportedInTheWordsOfTheApi) {
  const auto crd = post(
      kCrds,
      R"({"metadata":{"name":"boxes.example.com"},"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"boxes","kind":"Box"},
      "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
        "one":{"type":"array","maxItems":1,"items":{"type":"string"}},
        "two":{"type":"array","minItems":2,"maxItems":2,"items":{"type":"string"}},
        "map":{"type":"object","minProperties":1,"maxProperties":2,"additionalProperties":{"type":"integer"}},
        "short":{"type":"string","minLength":2,"maxLength":4},
        "whole":{"type":"integer","minimum":1,"exclusiveMinimum":true,"maximum":2147483647,"multipleOf":5},
        "real":{"type":"number","maximum":1000000},
        "level":{"type":"integer","enum":[1,2]},
        "amount":{"x-kubernetes-int-or-string":true},
        "when":{"type":"string","format":"date-time"},
        "address":{"type":"string","format":"ipv4"},
        "plain":{"type":"string","format":"nobody-knows"},
        "any":{"anyOf":[{"type":"integer"},{"type":"boolean"}],"x-kubernetes-preserve-unknown-fields":true},
        "exact":{"type":"integer","oneOf":[{"minimum":5},{"maximum":10}]},
        "all":{"type":"integer","allOf":[{"minimum":5},{"maximum":3}]},
        "never":{"type":"string","not":{"enum":["x"]}},
        "ids":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}}}}]}})");
  ASSERT_EQ(crd.status, 201) << crd.message();
  struct Case {
    const char* name;
    const char* fields;
    const char* expected;  // without "Box.example.com "b" is invalid: "
  };
  const Case cases[] = {
      {"one too many", R"("one":["a","b"])", "one: Too many: 2: must have at most 1 item"},
      {"too many items", R"("two":["a","b","c"])", "two: Too many: 3: must have at most 2 items"},
      {"too few items", R"("two":["a"])",
       "two: Invalid value: 1: two in body should have at least 2 items"},
      {"too many properties", R"("map":{"a":1,"b":2,"c":3})",
       "map: Too many: 3: must have at most 2 items"},
      {"too few properties", R"("map":{})",
       "map: Invalid value: 0: map in body should have at least 1 properties"},
      {"a value of the wrong type", R"("map":{"a":"1"})",
       R"(map.a: Invalid value: "string": map.a in body must be of type integer: "string")"},
      {"too long", R"("short":"abcde")", "short: Too long: may not be more than 4 bytes"},
      {"too short", R"("short":"a")",
       R"(short: Invalid value: "a": short in body should be at least 2 chars long)"},
      {"a text for a number", R"("whole":"5")",
       R"(whole: Invalid value: "string": whole in body must be of type integer: "string")"},
      {"null", R"("whole":null)",
       R"(whole: Invalid value: "null": whole in body must be of type integer: "null")"},
      {"a fraction", R"("whole":5.5)",
       R"([whole: Invalid value: "number": whole in body must be of type integer: "number", whole: Invalid value: 5.5: whole in body should be a multiple of 5])"},
      {"the bound itself", R"("whole":1)",
       "[whole: Invalid value: 1: whole in body should be a multiple of 5, whole: Invalid value: "
       "1: whole in body should be greater than 1]"},
      {"above the maximum", R"("whole":2147483650)",
       "whole: Invalid value: 2147483650: whole in body should be less than or equal to "
       "2147483647"},
      {"above the maximum of a float", R"("real":1000000.5)",
       "real: Invalid value: 1.0000005e+06: real in body should be less than or equal to 1e+06"},
      {"not listed", R"("level":3)", R"(level: Unsupported value: 3: supported values: "1", "2")"},
      {"neither integer nor text", R"("amount":true)",
       R"(amount: Invalid value: "boolean": amount in body must be of type integer,string: "boolean")"},
      {"no time", R"("when":"noon")",
       R"(when: Invalid value: "noon": when in body must be of type date-time: "noon")"},
      {"no address", R"("address":"1.2.3")",
       R"(address: Invalid value: "1.2.3": address in body must be of type ipv4: "1.2.3")"},
      {"none of several", R"("any":"a")",
       R"([<nil>: Invalid value: "": "any" must validate at least one schema (anyOf), any: Invalid value: "string": any in body must be of type integer: "string"])"},
      {"too many of several", R"("exact":7)",
       R"(<nil>: Invalid value: "": "exact" must validate one and only one schema (oneOf). Found 2 valid alternatives)"},
      {"not all of several", R"("all":2)",
       R"([all: Invalid value: 2: all in body should be greater than or equal to 5, <nil>: Invalid value: "": "all" must validate all the schemas (allOf)])"},
      {"what must not be", R"("never":"x")",
       R"(<nil>: Invalid value: "": "never" must not validate the schema (not))"},
      {"twice in a set", R"("ids":["a","a"])", R"(ids[1]: Duplicate value: "a")"},
      {"all good",
       R"("two":["a","b"],"short":"äöüß","whole":10,"amount":5,"when":"2026-01-01T00:00:00Z","plain":"?","exact":3)",
       ""}};
  for (const auto& one : cases) {
    const auto answer = post("/apis/example.com/v1/boxes?dryRun=All",
                             R"({"metadata":{"name":"b"},)" + std::string(one.fields) + "}");
    const std::string expected = one.expected;
    EXPECT_EQ(answer.message(),
              expected.empty() ? "" : "Box.example.com \"b\" is invalid: " + expected)
        << one.name;
  }
}

TEST(FormatsTest, aTextHasItsFormatOrNot) {
  const struct {
    const char* format;
    const char* good;
    const char* bad;
  } cases[] = {
      {"date-time", "2026-01-02T03:04:05Z", "2026-01-02"},
      {"date", "2026-02-28", "2026-02-30"},
      {"duration", "1h30m", "1 hour"},
      {"ipv4", "10.0.0.1", "10.0.0.256"},
      {"ipv6", "fe80::1", "10.0.0.1"},
      {"cidr", "10.0.0.0/8", "10.0.0.0/33"},
      {"cidr", "fe80::/64", "fe80::/129"},
      {"byte", "aGk=", "a"},
      {"email", "a@b.c", "a b@c"},
      {"hexcolor", "#00ff7f", "#00ff7"},
      {"hostname", "a-1.example.com", "-a.example.com"},
      {"mac", "00:1b:44:11:3a:b7", "00:1b:44:11:3a"},
      {"uri", "https://example.com/x", "example com"},
      {"uuid", "6F1C1C1E-0000-1000-8000-000000000001", "6f1c1c1e"},
      {"uuid4", "6f1c1c1e-0000-4000-8000-000000000001", "6f1c1c1e-0000-1000-8000-000000000001"}};
  for (const auto& one : cases) {
    EXPECT_TRUE(hasFormat(one.good, one.format)) << one.format;
    EXPECT_FALSE(hasFormat(one.bad, one.format)) << one.format;
  }
  EXPECT_TRUE(hasFormat("whatever", "nobody-knows"));
}

TEST_F(CustomTest, whatAnAnswerShowsOfARequestIsText) {
  std::string odd = "\"a";
  for (int i = 0; i < 60; ++i) odd += "\u20ac";
  const auto refused = post(kGizmos, odd + "\"");
  EXPECT_EQ(refused.status, 400);
  ASSERT_TRUE(refused.body.is_object()) << "clients can read it";
  EXPECT_THAT(refused.message(), HasSubstr("the body must be a JSON object, got \"a\u20ac\u20ac"));
}

TEST_F(CustomTest, anObjectThatIsTooDeepIsRefusedSoThatListsCanBeRead) {
  // The object, its spec, "free" and its content.
  const auto gizmo = [](const std::string& name, int levels) {
    std::string open, close;
    for (int i = 0; i < levels; ++i) {
      open += R"({"a":)";
      close += "}";
    }
    return R"({"metadata":{"name":")" + name + R"("},"spec":{"size":1,"free":)" + open + "1" +
           close + "}}";
  };
  const auto deepest = post(kGizmos, gizmo("deepest", 254));
  EXPECT_EQ(deepest.status, 201) << deepest.message();
  const auto deeper = post(kGizmos, gizmo("deeper", 255));
  EXPECT_EQ(deeper.status, 400);
  EXPECT_THAT(deeper.message(), HasSubstr("is nested 257 levels deep, more than the 256"));
  EXPECT_EQ(post(kGizmos, gizmo("far", 5000)).status, 400);

  // Nor can a patch make it so deep.
  std::string around = "1";
  for (int i = 0; i < 100; ++i) around = R"({"a":)" + around + "}";
  std::string path = "/spec/free";
  for (int i = 0; i < 253; ++i) path += "/a";
  EXPECT_EQ(mergePatch(std::string(kGizmos) + "/deepest", gizmo("deepest", 253)).status, 200);
  const auto patched =
      jsonPatch(std::string(kGizmos) + "/deepest",
                R"([{"op":"replace","path":")" + path + R"(","value":)" + around + "}]");
  EXPECT_EQ(patched.status, 422);
  EXPECT_THAT(patched.message(), HasSubstr("nested more than 256 levels deep"));

  const auto list = get(kGizmos);
  ASSERT_EQ(list.status, 200);
  ASSERT_TRUE(list.body.is_object()) << "clients can read it";
  EXPECT_EQ(list.body.at("items").get_array().size(), 1u);
  auto& events = watch(std::string(kGizmos) + "?resourceVersion=0");
  loop.runReady();
  EXPECT_THAT(events.lines, ElementsAre("ADDED deepest"));
  const auto yours = mergePatch(std::string(kGizmos) + "/deepest?fieldManager=you",
                                R"({"metadata":{"labels":{"a":"b"}}})");
  EXPECT_EQ(yours.status, 200) << yours.message();
}

TEST_F(CustomTest, statusScaleAndGeneration) {
  post(kGizmos, R"({"metadata":{"name":"g"},"spec":{"size":3,"replicas":1},"status":{"x":1}})");
  const std::string path = std::string(kGizmos) + "/g";
  EXPECT_EQ(find(get(path).body, "status"), nullptr);
  const auto status =
      mergePatch(path + "/status",
                 R"({"metadata":{"labels":{"a":"b"}},"spec":{"size":4},"status":{"replicas":1}})");
  ASSERT_EQ(status.status, 200) << status.message();
  EXPECT_EQ(*at(status.body, "spec", "size"), 3);
  EXPECT_EQ(at(status.body, "metadata", "labels"), nullptr);
  EXPECT_EQ(*at(status.body, "metadata", "generation"), 1);
  EXPECT_EQ(*at(mergePatch(path, R"({"spec":{"size":5}})").body, "metadata", "generation"), 2);
  EXPECT_EQ(mergePatch(path + "/scale", R"({"spec":{"replicas":6}})").status, 200);
  EXPECT_EQ(*at(get(path).body, "spec", "replicas"), 6);
  EXPECT_EQ(strategicPatch(path, "{}").status, 415);
}

TEST_F(CustomTest, allServedVersionsShowTheSameObjects) {
  post(kGizmos, R"({"metadata":{"name":"g"},"spec":{"size":3}})");
  const auto old = get("/apis/example.com/v1beta1/namespaces/default/gizmos/g");
  EXPECT_EQ(textAt(old.body, "apiVersion"), "example.com/v1beta1");
  EXPECT_THAT(old.warnings, ElementsAre("version v1beta1 is deprecated"));
  EXPECT_EQ(
      mergePatch("/apis/example.com/v1beta1/namespaces/default/gizmos/g", R"({"spec":{"size":4}})")
          .status,
      200);
  const auto now = get(std::string(kGizmos) + "/g").body;
  EXPECT_EQ(textAt(now, "apiVersion"), "example.com/v1");
  EXPECT_EQ(*at(now, "spec", "size"), 4);
}

TEST_F(CustomTest, printerColumnsFillTheTable) {
  post(kGizmos, R"({"metadata":{"name":"g"},"spec":{"size":3}})");
  mergePatch(
      std::string(kGizmos) + "/g/status",
      R"({"status":{"conditions":[{"type":"Other","status":"x"},{"type":"Ready","status":"True"}]}})");
  const auto table = get(kGizmos, "application/json;as=Table;v=v1;g=meta.k8s.io").body;
  EXPECT_EQ(table.at("rows").get_array()[0].at("cells"), json::value({"g", 3, "True"}));
}

TEST_F(CustomTest, withTheDefinitionItsObjectsGo) {
  post(kGizmos, R"({"metadata":{"name":"g"},"spec":{"size":3}})");
  auto& log = watch(kGizmos);
  EXPECT_EQ(remove(std::string(kCrds) + "/gizmos.example.com").status, 200);
  loop.advance(std::chrono::seconds(2));
  EXPECT_THAT(log.lines, ElementsAre("ADDED g", "DELETED g"));
  EXPECT_EQ(get(kGizmos).status, 404);
  EXPECT_EQ(post(kCrds, kCrd).status, 201);
  EXPECT_TRUE(get(kGizmos).body.at("items").get_array().empty());
}

TEST_F(CustomTest, aDefinitionWaitsForTheFinalizersOfItsObjects) {
  const std::string definition = std::string(kCrds) + "/gizmos.example.com";
  post(kGizmos, R"({"metadata":{"name":"kept","finalizers":["x/cleanup"]},"spec":{"size":3}})");
  for (int i = 0; i < 200; ++i)
    post(kGizmos, R"({"metadata":{"name":"g)" + std::to_string(i) + R"("},"spec":{"size":3}})");
  EXPECT_EQ(remove(definition).status, 200);
  loop.advance(std::chrono::seconds(1));

  const auto waiting = get(definition);
  ASSERT_EQ(waiting.status, 200);
  EXPECT_EQ(waiting.body.at("metadata").at("finalizers"),
            json::value({"customresourcecleanup.apiextensions.k8s.io"}));
  const auto& conditions = waiting.body.at("status").at("conditions").get_array();
  EXPECT_TRUE(std::ranges::any_of(conditions, [](const json::value& condition) {
    return textAt(condition, "type") == "Terminating" && textAt(condition, "status") == "True";
  }));
  const auto left = get(kGizmos);
  ASSERT_EQ(left.body.at("items").get_array().size(), 1u) << "those without finalizers go";
  EXPECT_FALSE(
      textAt(left.body.at("items").get_array()[0], "metadata", "deletionTimestamp").empty());
  const auto refused = post(kGizmos, R"({"metadata":{"name":"late"},"spec":{"size":3}})");
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(refused.message(),
            "create not allowed while custom resource definition is terminating");
  loop.advance(std::chrono::hours(1));
  EXPECT_EQ(get(std::string(kGizmos) + "/kept").status, 200);

  EXPECT_EQ(
      mergePatch(std::string(kGizmos) + "/kept", R"({"metadata":{"finalizers":null}})").status,
      200);
  loop.advance(std::chrono::seconds(2));
  EXPECT_EQ(get(definition).status, 404);
  EXPECT_EQ(get(kGizmos).status, 404);
  EXPECT_EQ(post(kCrds, kCrd).status, 201);
}

TEST_F(CustomTest, fieldsThatBecomeSelectableSelectObjectsThatAreThere) {
  post(kGizmos, R"({"metadata":{"name":"red"},"spec":{"size":3}})");
  post(kGizmos, R"({"metadata":{"name":"blue"},"spec":{"size":3,"color":"blue"}})");
  const std::string byColor = std::string(kGizmos) + "?fieldSelector=spec.color%3Dblue";
  EXPECT_EQ(get(byColor).status, 400);
  auto& log = watch(kGizmos);
  ASSERT_EQ(
      jsonPatch(
          std::string(kCrds) + "/gizmos.example.com",
          R"([{"op":"add","path":"/spec/versions/0/selectableFields","value":[{"jsonPath":".spec.size"},{"jsonPath":".spec.color"}]}])")
          .status,
      200);
  const auto chosen = get(byColor);
  ASSERT_EQ(chosen.status, 200) << chosen.message();
  ASSERT_EQ(chosen.body.at("items").get_array().size(), 1u);
  EXPECT_EQ(textAt(chosen.body.at("items").get_array()[0], "metadata", "name"), "blue");
  EXPECT_THAT(watch(byColor).lines, ElementsAre("ADDED blue"));
  EXPECT_THAT(log.lines, ElementsAre("ADDED blue", "ADDED red"));
}

TEST_F(CustomTest, aBrokenDefinitionIsRefused) {
  const auto scope = post(
      kCrds,
      R"({"metadata":{"name":"a.b.c"},"spec":{"group":"b.c","scope":"World","names":{"plural":"a","kind":"A"},"versions":[]}})");
  EXPECT_EQ(scope.status, 422);
  EXPECT_THAT(scope.message(), HasSubstr("spec.scope: Unsupported value: \"World\""));
  const auto name = post(
      kCrds,
      R"({"metadata":{"name":"x"},"spec":{"group":"b.c","scope":"Cluster","names":{"plural":"a","kind":"A"},"versions":[{"name":"v1","served":true,"storage":true}]}})");
  EXPECT_THAT(name.message(), HasSubstr("must be spec.names.plural+\".\"+spec.group"));
  const auto pattern = post(
      kCrds,
      R"({"metadata":{"name":"a.b.c"},"spec":{"group":"b.c","scope":"Cluster","names":{"plural":"a","kind":"A"},"versions":[
      {"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"p":{"type":"string","pattern":"("}}}}}]}})");
  EXPECT_THAT(pattern.message(), HasSubstr("properties[p].pattern: Invalid value"));
}

TEST_F(CustomTest, definitionsThatKubernetesRefusesAreRefused) {
  struct Row {
    const char* plural;
    const char* group;
    const char* versions;
    const char* message;
    const char* approved = "";
  };
  constexpr const char* kV1 = R"({"name":"v1","served":true,"storage":true})";
  constexpr const char* kUrl =
      R"("api-approved.kubernetes.io":"https://github.com/kubernetes/pull/1")";
  const Row rows[] = {
      {"deployments", "apps", kV1, "metadata.name: Invalid value: \"deployments.apps\""},
      {"leases", "coordination.k8s.io", kV1, "this server has it built in", kUrl},
      {"as", "alone", kV1,
       "spec.group: Invalid value: \"alone\": should be a domain with at least one dot"},
      {"as", "x.k8s.io", kV1, "metadata.annotations[api-approved.kubernetes.io]: Required value"},
      {"as", "x.kubernetes.io", kV1, "with either a URL or a reason starting with \"unapproved\"",
       R"("api-approved.kubernetes.io":"yes")"},
      {"as", "b.c", R"({"name":"v1/x","served":true,"storage":true})",
       "spec.versions[0].name: Invalid value: \"v1/x\": a DNS-1035 label"},
      {"as", "b.c", R"({"name":"v1","served":true,"storage":true},{"name":"v1","served":true})",
       "must contain unique version names"},
  };
  const auto crd = [](const Row& row) {
    return fmt::format(
        R"({{"metadata":{{"name":"{0}.{1}","annotations":{{{3}}}}},"spec":{{"group":"{1}","scope":"Namespaced","names":{{"plural":"{0}","kind":"A"}},"versions":[{2}]}}}})",
        row.plural, row.group, row.versions, row.approved);
  };
  for (const auto& row : rows) {
    const auto answer = post(kCrds, crd(row));
    EXPECT_EQ(answer.status, 422) << row.message;
    EXPECT_THAT(answer.message(), HasSubstr(row.message));
  }
  EXPECT_EQ(post(kCrds, crd({"as", "x.k8s.io", kV1, "", kUrl})).status, 201);
  EXPECT_EQ(get("/apis/apps/v1/deployments").status, 200);
}

// A database of a server that had fewer rules.
class StoredDefinitionsTest : public ServerTest {
 protected:
  class OldStorage final : public Storage {
   public:
    explicit OldStorage(std::vector<StoredObject> objects) : objects_(std::move(objects)) {}
    Result<StoredState> load() override { return StoredState{5, objects_}; }
    Result<> apply(std::span<const Change>) override { return {}; }
    Result<> probe() override { return {}; }

   private:
    std::vector<StoredObject> objects_;
  };

  void SetUp() override {
    options.inlineCommits = true;
    options.openStorage = [this]() -> Result<std::unique_ptr<Storage>> {
      return std::make_unique<OldStorage>(stored);
    };
  }
  void add(const std::string& plural, const std::string& versions) {
    const std::string name = plural + ".b.c";
    stored.push_back(
        {"customresourcedefinitions.apiextensions.k8s.io", name, 4,
         fmt::format(
             R"({{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"{}","uid":"{}","finalizers":["b.c/keep"],"creationTimestamp":"2024-01-01T00:00:00Z","generation":1}},"spec":{{"group":"b.c","scope":"Cluster","names":{{"plural":"{}","kind":"A","singular":"a","listKind":"AList"}},"versions":[{}],"conversion":{{"strategy":"None"}}}},"status":{{}}}})",
             name, plural, plural, versions)});
  }
  std::vector<StoredObject> stored;
};

TEST_F(StoredDefinitionsTest, oneThatBreaksARuleCanChangeElsewhereAndEnd) {
  std::string columns;
  for (int i = 0; i < 200; ++i)
    columns +=
        fmt::format(R"({}{{"name":"c{}","type":"string","jsonPath":".a"}})", i ? "," : "", i);
  const std::string storage = R"("served":true,"storage":true)";
  add("names", R"({"name":"V1",)" + storage + "}");
  add("wides", R"({"name":"v1","additionalPrinterColumns":[)" + columns + "]," + storage + "}");
  add("twins", R"({"name":"v1",)" + storage + R"(},{"name":"v1","served":true,"storage":false})");
  add("broken", R"({"name":"v1","schema":{"openAPIV3Schema":{"type":"string","pattern":"("}},)" +
                    storage + "}");
  stored.push_back({"broken.b.c", "left", 4,
                    R"({"apiVersion":"b.c/v1","kind":"A","metadata":{"name":"left","uid":"l"}})"});
  openServer();
  for (const char* name : {"names", "wides", "twins", "broken"}) {
    const std::string path = std::string(kCrds) + "/" + name + ".b.c";
    const auto labelled = mergePatch(path, R"({"metadata":{"labels":{"a":"b"}}})");
    EXPECT_EQ(labelled.status, 200) << name << ": " << labelled.message();
    EXPECT_EQ(remove(path).status, 200) << name;
    const auto freed = mergePatch(path, R"({"metadata":{"finalizers":null}})");
    EXPECT_EQ(freed.status, 200) << name << ": " << freed.message();
    loop.advance(std::chrono::seconds(5));
    EXPECT_EQ(get(path).status, 404) << name;
  }
}

TEST_F(StoredDefinitionsTest, whatChangesMustFollowTheRules) {
  const std::string first = R"({"name":"V1","served":true,"storage":true})";
  add("names", first);
  openServer();
  const std::string path = std::string(kCrds) + "/names.b.c";
  const auto with = [&](const std::string& more) {
    return mergePatch(path, R"({"spec":{"versions":[)" + first + "," + more + "]}}");
  };
  EXPECT_THAT(with(R"({"name":"V2","served":true,"storage":false})").message(),
              HasSubstr("spec.versions[1].name: Invalid value: \"V2\""));
  EXPECT_THAT(with(R"({"name":"V1","served":true,"storage":false})").message(),
              HasSubstr("must contain unique version names"));
  const auto added = with(R"({"name":"v2","served":true,"storage":false})");
  EXPECT_EQ(added.status, 200) << added.message();
  EXPECT_EQ(get("/apis/b.c/v2/names").status, 200);
}

struct RulesTest : CustomTest {
  Answer define(std::string_view rules) {
    return post(
        kCrds,
        fmt::format(
            R"({{"metadata":{{"name":"a.b.c"}},"spec":{{"group":"b.c","scope":"Cluster","names":{{"plural":"a","kind":"A"}},"versions":[
      {{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{{"type":"object","properties":{{
        "spec":{{"type":"object","required":["min"],"properties":{{"min":{{"type":"integer"}},"max":{{"type":"integer"}}}},
        "x-kubernetes-validations":{}}}}}}}}}}}]}}}})",
            rules));
  }
  const std::string kObjects = "/apis/b.c/v1/a";
};

TEST_F(RulesTest, anObjectThatBreaksARuleIsRefused) {
  ASSERT_EQ(
      define(
          R"([{"rule":"!has(self.max) || self.min <= self.max","message":"min is above max","fieldPath":".min"}])")
          .status,
      201);
  EXPECT_EQ(
      post(kObjects,
           R"({"apiVersion":"b.c/v1","kind":"A","metadata":{"name":"x"},"spec":{"min":1,"max":2}})")
          .status,
      201);
  const auto refused = post(
      kObjects,
      R"({"apiVersion":"b.c/v1","kind":"A","metadata":{"name":"y"},"spec":{"min":3,"max":2}})");
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(refused.message(), "A.b.c \"y\" is invalid: spec.min: Invalid value: min is above max");
  const auto invalid =
      post(kObjects, R"({"apiVersion":"b.c/v1","kind":"A","metadata":{"name":"y"},"spec":{}})");
  EXPECT_EQ(invalid.status, 422);
  EXPECT_THAT(invalid.message(),
              HasSubstr("some validation rules were not checked because the object was invalid"));
}

TEST_F(RulesTest, aRuleAboutAChangeIsForUpdates) {
  ASSERT_EQ(define(R"([{"rule":"self.min >= oldSelf.min"}])").status, 201);
  ASSERT_EQ(post(kObjects,
                 R"({"apiVersion":"b.c/v1","kind":"A","metadata":{"name":"x"},"spec":{"min":3}})")
                .status,
            201);
  EXPECT_EQ(mergePatch(kObjects + "/x", R"({"spec":{"min":4}})").status, 200);
  const auto refused = mergePatch(kObjects + "/x", R"({"spec":{"min":2}})");
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.message(),
              HasSubstr("spec: Invalid value: failed rule: self.min >= oldSelf.min"));
}

TEST_F(RulesTest, aDefinitionWithAWrongRuleIsRefused) {
  const auto refused = define(R"([{"rule":"self.none > 1"}])");
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(
      refused.message(),
      HasSubstr("spec.versions[0].schema.openAPIV3Schema.properties[spec].x-kubernetes-"
                "validations[0].rule: Invalid value: \"self.none > 1\": compilation failed: "
                "ERROR: <input>:1:5: undefined field 'none'"));
}

}  // namespace
}  // namespace koord::apiserver::testing
