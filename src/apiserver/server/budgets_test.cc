// Small requests with large effects: their size is limited, and the answer names the limit.

#include <gmock/gmock.h>

#include "apiserver/objects/normalize.h"
#include "apiserver/registry/crd.h"
#include "apiserver/testing.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kConfigMaps = "/api/v1/namespaces/default/configmaps";

class BudgetsTest : public ServerTest {
 protected:
  static std::string repeated(const std::string& piece, int count, const char* separator = ",") {
    std::string out;
    for (int i = 0; i < count; ++i) out += (i ? separator : "") + piece;
    return out;
  }
  // Defines a namespaced kind Gizmo with this schema of its spec.
  static std::string definition(const std::string& spec, const std::string& columns = "[]") {
    return R"({"metadata":{"name":"gizmos.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
      "names":{"plural":"gizmos","kind":"Gizmo"},"versions":[{"name":"v1","served":true,"storage":true,
      "additionalPrinterColumns":)" +
           columns + R"(,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":)" +
           spec + "}}}}]}}";
  }
  Answer define(const std::string& spec, const std::string& columns = "[]") {
    return post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                definition(spec, columns));
  }
  Answer create(const std::string& spec) {
    return post("/apis/example.com/v1/namespaces/default/gizmos",
                R"({"metadata":{"name":"g"},"spec":)" + spec + "}");
  }
};

TEST_F(BudgetsTest, aJsonPatchThatCopiesIntoItselfIsRefused) {
  post(kConfigMaps, R"({"metadata":{"name":"c"}})");
  const auto before = get(std::string(kConfigMaps) + "/c").body;
  const auto refused = jsonPatch(std::string(kConfigMaps) + "/c",
                                 R"([{"op":"add","path":"/data","value":{"a":"b"}},)" +
                                     repeated(R"({"op":"copy","from":"/data","path":"/data/x"},
                                {"op":"copy","from":"/data","path":"/data/y"})",
                                              20) +
                                     "]");
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(refused.reason(), "Invalid");
  EXPECT_THAT(refused.message(),
              HasSubstr("Unable to complete the copy, the accumulated size increase of copy is"));
  EXPECT_EQ(get(std::string(kConfigMaps) + "/c").body, before);
  const auto many = jsonPatch(std::string(kConfigMaps) + "/c",
                              "[" + repeated(R"({"op":"test","path":"/kind"})", 10'001) + "]");
  EXPECT_EQ(many.status, 413);
  EXPECT_EQ(many.message(), "The allowed maximum operations in a JSON patch is 10000, got 10001");
}

TEST_F(BudgetsTest, anObjectCannotGrowByManySmallPatches) {
  ASSERT_EQ(define(R"({"type":"object","x-kubernetes-preserve-unknown-fields":true})").status, 201);
  create("{}");
  const std::string path = "/apis/example.com/v1/namespaces/default/gizmos/g";
  Answer last;
  int patches = 0;
  while (patches < 100 && (last.status == 0 || last.status == 200)) {
    last = mergePatch(path, R"({"spec":{"k)" + std::to_string(patches++) + R"(":")" +
                                std::string(100'000, 'x') + "\"}}");
  }
  EXPECT_EQ(patches, 16);
  EXPECT_EQ(last.status, 413);
  EXPECT_EQ(last.reason(), "RequestEntityTooLarge");
  EXPECT_THAT(last.message(), HasSubstr("more than the 1572864 that can be stored"));
  EXPECT_EQ(remove(path).status, 200);
}

TEST_F(BudgetsTest, defaultsThatHoldDefaultsAddThreeMebibytesAtMost) {
  // Ten elements at each of twelve levels.
  std::string schema = R"({"type":"object"})";
  for (int i = 0; i < 12; ++i)
    schema = R"({"type":"object","properties":{"x":{"type":"array","default":[)" +
             repeated("{}", 10) + R"(],"items":)" + schema + "}}}";
  ASSERT_EQ(define(schema).status, 201);
  const auto refused = create("{}");
  EXPECT_EQ(refused.status, 413);
  EXPECT_THAT(refused.message(), HasSubstr("the defaults of the CustomResourceDefinition's schema "
                                           "add more than 3145728 bytes"));
}

TEST_F(BudgetsTest, complaintsAreFewerThanWhatIsWrong) {
  ASSERT_EQ(
      define(R"({"type":"object","properties":{"list":{"type":"array","items":{"type":"object",
      "required":["a","b","c"]}},"text":{"type":"string","allOf":[)" +
             repeated(R"({"pattern":"^a$"})", 1'000) + "]}}}")
          .status,
      201);
  const auto many = create(R"({"list":[)" + repeated("{}", 100'000) + "]}");
  EXPECT_EQ(many.status, 422);
  EXPECT_LT(toJson(many.body).size(), 2u << 20);
  EXPECT_THAT(many.message(), HasSubstr("spec.list[0].a: Required value"));
  EXPECT_THAT(many.message(), ::testing::ContainsRegex(", and 29[0-9]+ more]"));
  // A long value with a thousand errors is shown in part.
  const auto text = create(R"({"text":")" + std::string(1'000'000, 'x') + "\"}");
  EXPECT_EQ(text.status, 422);
  EXPECT_LT(toJson(text.body).size(), 2u << 20);
}

TEST_F(BudgetsTest, ofUnknownFieldsAHundredAreNamed) {
  std::string data = R"("aaa":1)";
  for (int i = 0; i < 100'000; ++i) data += ",\"f" + std::to_string(i) + "\":1";
  const auto made = post(kConfigMaps, R"({"metadata":{"name":"c"},)" + data + "}");
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.warnings.size(), kMaxUnknownFields);
  EXPECT_EQ(made.warnings[0], "unknown field \"aaa\"");
  EXPECT_EQ(find(made.body, "f7"), nullptr);
}

TEST_F(BudgetsTest, alternativesOfASchemaHaveABudgetOfSteps) {
  ASSERT_EQ(define(R"({"type":"object","properties":{"list":{"type":"array","items":{"anyOf":[)" +
                   repeated(R"({"type":"string"})", 10'000) + R"(,{"type":"integer"}]}}}})")
                .status,
            201);
  EXPECT_EQ(create(R"({"list":[1,2,3]})").status, 201);
  const auto refused =
      post("/apis/example.com/v1/namespaces/default/gizmos",
           R"({"metadata":{"name":"h"},"spec":{"list":[)" + repeated("1", 100'000) + "]}}");
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.message(), HasSubstr("the validation takes more than 2000000 steps"));
}

TEST_F(BudgetsTest, longListsWithoutDuplicatesAreCheckedQuickly) {
  ASSERT_EQ(define(R"({"type":"object","properties":{"set":{"type":"array",
      "x-kubernetes-list-type":"set","items":{"type":"integer"}}}})")
                .status,
            201);
  std::string list = "0";
  for (int i = 1; i < 50'000; ++i) list += "," + std::to_string(i);
  EXPECT_EQ(create(R"({"set":[)" + list + "]}").status, 201);
  const auto twice = post("/apis/example.com/v1/namespaces/default/gizmos",
                          R"({"metadata":{"name":"h"},"spec":{"set":[)" + list + ",17]}}");
  EXPECT_EQ(twice.status, 422);
  EXPECT_THAT(twice.message(), HasSubstr("spec.set[50000]: Duplicate value: 17"));
}

TEST_F(BudgetsTest, aRowOfATableIsNotMuchLongerThanItsObject) {
  const auto columns = [&](int count) {
    return "[" + repeated(R"({"name":"C","type":"string","jsonPath":".spec"})", count) + "]";
  };
  const auto refused = define(R"({"type":"object"})", columns(129));
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.message(), HasSubstr("additionalPrinterColumns: Too many: 129: must have at "
                                           "most 128 items"));
  ASSERT_EQ(define(R"({"type":"object","x-kubernetes-preserve-unknown-fields":true})", columns(100))
                .status,
            201);
  ASSERT_EQ(create(R"({"text":")" + std::string(500'000, 'x') + "\"}").status, 201);
  const auto table = get("/apis/example.com/v1/namespaces/default/gizmos",
                         "application/json;as=Table;v=v1;g=meta.k8s.io");
  EXPECT_EQ(table.body.at("rows").get_array().at(0).at("cells").get_array().size(), 101u);
  EXPECT_LT(toJson(table.body).size(), 1'500'000u);
}

TEST_F(BudgetsTest, longNamesAboveManyMembersCostLittle) {
  // The path of a schema or value is formatted only for an error.
  std::string fields = R"("f":{"type":"string"})";
  for (int i = 0; i < 20'000; ++i) fields += ",\"f" + std::to_string(i) + "\":{}";
  ASSERT_EQ(define(R"({"type":"object","properties":{")" + std::string(500'000, 'n') +
                   R"(":{"type":"object","properties":{)" + fields + "}}}}")
                .status,
            201);
}

TEST_F(BudgetsTest, aBodyInYamlIsNoLargerThanOneInJson) {
  net::ServerRequest request;
  request.method = "PATCH";
  request.target = std::string(kConfigMaps) + "/c?fieldManager=m&force=true";
  request.headers = {{"Content-Type", "application/apply-patch+yaml"}};
  request.body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  k: &a " +
                 std::string(100'000, 'x') + "\n";
  const std::string body = request.body;
  for (int i = 0; i < 50; ++i) request.body += "  k" + std::to_string(i) + ": *a\n";
  auto call = routeCall(request, *net::parseTarget(request.target));
  ASSERT_TRUE(call && !*call);
  EXPECT_EQ(call->error().error.code, ErrorCode::RequestEntityTooLarge);
  EXPECT_EQ(call->error().error.message, "Request entity too large: limit is 3145728");
  request.body = body;
  for (int i = 0; i < 5'000; ++i) request.body += "  k" + std::to_string(i) + ": *a\n";
  call = routeCall(request, *net::parseTarget(request.target));
  ASSERT_TRUE(call && !*call);
  EXPECT_THAT(call->error().error.message, HasSubstr("anchors and aliases copy more than 32 MiB"));
}

}  // namespace
}  // namespace koord::apiserver::testing
