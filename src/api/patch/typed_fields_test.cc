#include "api/patch/typed_fields.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>

#include "api/schema/builtin.h"

namespace koord::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TypedFieldsTest : public ::testing::Test {
 protected:
  const Schema* schema(const char* kind) { return types.find(kind); }
  static json::value value(std::string_view text) { return parseJson(text).value(); }
  static std::string textOf(const FieldSet& set) {
    std::string out;
    appendText(out, set);
    return out;
  }
  static FieldSet set(std::string_view text) { return parseFieldSet(value(text)).value(); }

  SchemaSet types = builtinTypes();
};

TEST_F(TypedFieldsTest, fieldsV1ComesBackAsItWas) {
  const std::string text =
      R"({"f:metadata":{"f:labels":{".":{},"f:a\"b":{}}},"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}},)"
      R"("f:x":{"v:\"one\"":{},"i:0":{}}})";
  EXPECT_EQ(textOf(set(text)), text);
  // Keys are put in order.
  EXPECT_EQ(set(R"({"k:{\"b\": 1,\"a\":2}":{}})"), set(R"({"k:{\"a\":2,\"b\":1}":{}})"));
  EXPECT_THAT(parseFieldSet(value(R"({"q:a":{}})")).error().message,
              HasSubstr("is not a path element"));
  EXPECT_THAT(parseFieldSet(value(R"({"k:[":{}})")).error().message, HasSubstr("k:["));
}

TEST_F(TypedFieldsTest, setsAreAddedAndTakenApart) {
  const auto a = set(R"({"f:a":{},"f:b":{".":{},"f:c":{},"f:d":{}}})");
  const auto b = set(R"({"f:b":{"f:c":{}},"f:e":{}})");
  EXPECT_EQ(textOf(unite(a, b)), R"({"f:a":{},"f:b":{".":{},"f:c":{},"f:d":{}},"f:e":{}})");
  EXPECT_EQ(textOf(subtract(a, b)), R"({"f:a":{},"f:b":{".":{},"f:d":{}}})");
  EXPECT_EQ(textOf(intersect(a, b)), R"({"f:b":{"f:c":{}}})");
  EXPECT_EQ(textOf(subtractBelow(a, fieldSetOf({"b"}))), R"({"f:a":{}})");
  EXPECT_EQ(textOf(subtract(b, b)), "{}");
}

// A body of three megabytes has as many fields as this, in any order. One by one, each would be put
// into its place by moving all behind it: minutes in which a server does nothing else.
TEST_F(TypedFieldsTest, setsOfManyFieldsInAnyOrderTakeNoLongerThanInOrder) {
  constexpr int kCount = 50'000;
  const auto began = std::chrono::steady_clock::now();
  json::object even, odd, all;
  json::array items;
  for (int i = kCount; i-- > 0;) {
    const std::string name = fmt::format("f:{:06}", i);
    (i % 2 == 0 ? even : odd)[name] = json::object{};
    all[name] = json::object{};
    items.push_back(json::object{{"name", fmt::format("{:06}", i)}});
  }
  const auto one = parseFieldSet(even).value();
  const auto other = parseFieldSet(odd).value();
  const auto both = parseFieldSet(all).value();
  EXPECT_TRUE(unite(one, other) == both);
  EXPECT_TRUE(uniteAll({one, other, one}) == both);
  std::vector<FieldSet> singles;
  for (const auto& node : one.nodes()) singles.push_back(FieldSet::of({node}));
  EXPECT_TRUE(uniteAll(std::move(singles)) == one);
  const auto* spec = schema("PodSpec");
  EXPECT_EQ(
      fieldsOf(json::object{{"containers", items}}, spec).nodes().front().children.nodes().size(),
      kCount);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
}

TEST_F(TypedFieldsTest, pathsAreShownAsConflictsNameThem) {
  EXPECT_THAT(
      pathsOf(set(R"({"f:spec":{"f:c":{"k:{\"name\":\"web\",\"port\":80}":{"f:image":{}}}},)"
                  R"("f:z":{"v:\"q\"":{}}})")),
      ElementsAre(R"(.spec.c[name="web",port=80].image)", R"(.z[="q"])"));
}

TEST_F(TypedFieldsTest, fieldsOfANewObjectAreThoseThatComparingFinds) {
  const auto without =
      set(R"({"f:apiVersion":{},"f:metadata":{".":{},"f:name":{}},"f:status":{}})");
  const struct {
    const char* kind;  // "" without a schema
    const char* text;
  } cases[] = {
      {"Pod",
       R"({"apiVersion":"v1","metadata":{"name":"p","labels":{"b":"1","a":"2"},"finalizers":["x","y","x"],
         "ownerReferences":[{"uid":"u","name":"o"}]},"spec":{"containers":[{"name":"b","resources":{"limits":{"cpu":1}},
         "ports":[{"containerPort":80},{"containerPort":80,"protocol":"UDP"}],"command":["a"]},{"name":"a","env":[]}],
         "securityContext":{},"nodeSelector":{"a":"b"},"tolerations":[{"key":"k"}],"hostNetwork":false},
         "status":{"phase":"Pending","conditions":[{"type":"Ready"}]}})"},
      {"Pod", R"({"metadata":{"name":"p","labels":{}},"spec":{"containers":[],"volumes":null}})"},
      {"Pod", R"({"metadata":{"name":"p"},"spec":{}})"},
      {"Pod", "{}"},
      {"Service", R"({"spec":{"selector":{"a":"b"},"ports":[{"port":80}],"clusterIP":""}})"},
      {"Event",
       R"({"metadata":{"name":"e"},"involvedObject":{"kind":"Pod"},"source":{},"firstTimestamp":null})"},
      {"ClusterRoleBinding",
       R"({"roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"User"}]})"},
      {"APIService", R"({"metadata":{"name":"a"},"spec":{"group":"g","service":{"name":"s"}}})"},
      {"",
       R"({"metadata":{"name":"x","labels":{"a":"b"}},"spec":{"list":[1,{"a":2}],"map":{"k\"":{}},"none":null}})"}};
  for (const auto& one : cases) {
    const auto object = value(one.text);
    const auto changes = compareFields(json::object{}, object, schema(one.kind));
    auto expected = subtract(unite(changes.added, changes.modified), without);
    expected = subtractBelow(std::move(expected), fieldSetOf({"status"}));
    EXPECT_EQ(newFieldsText(object, schema(one.kind), without), textOf(expected)) << one.text;
  }
}

// What a new pod's creator owns, as a real API server records it.
TEST_F(TypedFieldsTest, aNewObjectBelongsToItsCreatorFieldByField) {
  const auto changes = compareFields(json::object{}, value(R"({"metadata":{"labels":{"app":"web"}},
      "spec":{"containers":[{"name":"c","image":"i","resources":{},"ports":[{"containerPort":80}],
      "env":[{"name":"A","value":"1"}]}],"securityContext":{},"nodeSelector":{"a":"b"}}})"),
                                     schema("Pod"));
  EXPECT_EQ(
      textOf(changes.added),
      R"({"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},)"
      R"("f:env":{".":{},"k:{\"name\":\"A\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:name":{},)"
      R"("f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}},"f:resources":{}}},)"
      R"("f:nodeSelector":{},"f:securityContext":{}}})");
  EXPECT_TRUE(changes.removed.empty());
}

TEST_F(TypedFieldsTest, structsThatAreAlwaysThereDoNotCountAsAdded) {
  const auto changes = compareFields(
      json::object{}, value(R"({"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},
        "strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}},
        "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[]}}}})"),
      schema("Deployment"));
  EXPECT_EQ(
      textOf(changes.added),
      R"({"f:spec":{"f:replicas":{},"f:selector":{},"f:strategy":{"f:rollingUpdate":{".":{},"f:maxSurge":{}},"f:type":{}},)"
      R"("f:template":{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}}})");
}

TEST_F(TypedFieldsTest, changesAreToldApart) {
  const auto changes =
      compareFields(value(R"({"metadata":{"labels":{"a":"1","b":"2"}},"spec":{"replicas":1,
          "template":{"spec":{"containers":[{"name":"x","image":"1"},{"name":"y"}],
          "tolerations":[{"key":"a"}]}}}})"),
                    value(R"({"metadata":{"labels":{"b":"3","c":"4"}},"spec":{"replicas":1,
          "template":{"spec":{"containers":[{"name":"x","image":"2"},{"name":"z","tty":true}],
          "tolerations":[{"key":"b"}]}}}})"),
                    schema("Deployment"));
  EXPECT_EQ(
      textOf(changes.added),
      R"({"f:metadata":{"f:labels":{"f:c":{}}},"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"z\"}":{".":{},"f:name":{},"f:tty":{}}}}}}})");
  EXPECT_EQ(
      textOf(changes.modified),
      R"({"f:metadata":{"f:labels":{"f:b":{}}},"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"x\"}":{"f:image":{}}},"f:tolerations":{}}}}})");
  EXPECT_EQ(
      textOf(changes.removed),
      R"({"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"y\"}":{".":{},"f:name":{}}}}}}})");
}

TEST_F(TypedFieldsTest, anElementThatIsThereTwiceCountsAsOneValue) {
  const auto twice = [&](const char* second) {
    return value(
        std::string(
            R"({"spec":{"containers":[{"name":"c","env":[{"name":"A","value":"1"},{"name":"A","value":")") +
        second + "\"}]}]}}");
  };
  const auto changes = compareFields(twice("2"), twice("3"), schema("Pod"));
  EXPECT_EQ(
      textOf(changes.modified),
      R"({"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{"f:env":{"k:{\"name\":\"A\"}":{}}}}}})");
  EXPECT_TRUE(compareFields(twice("2"), twice("2"), schema("Pod")).empty());
}

TEST_F(TypedFieldsTest, anAppliedConfigurationOwnsWhatItSays) {
  EXPECT_EQ(
      textOf(fieldsOf(value(R"({"metadata":{"labels":{"a":"b"},"finalizers":["x"]},
          "spec":{"ports":[{"port":80}],"selector":{"a":"b"},"clusterIPs":["None"]}})"),
                      schema("Service"))),
      R"({"f:metadata":{"f:finalizers":{"v:\"x\"":{}},"f:labels":{"f:a":{}}},"f:spec":{"f:clusterIPs":{},)"
      R"("f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}},"f:selector":{}}})");
  // Without a schema maps go key by key and lists as one.
  EXPECT_EQ(textOf(fieldsOf(value(R"({"spec":{"a":{"b":1},"c":[1]}})"), nullptr)),
            R"({"f:spec":{".":{},"f:a":{".":{},"f:b":{}},"f:c":{}}})");
}

TEST_F(TypedFieldsTest, listsMergeInTheOrderThatIsApplied) {
  struct Case {
    const char* live;
    const char* applied;
    const char* merged;
  };
  const auto names = [&](std::string_view letters) {
    json::array containers;
    for (const char c : letters) containers.push_back(json::object{{"name", std::string(1, c)}});
    return json::value{{"spec", {{"containers", std::move(containers)}}}};
  };
  for (const auto& c : {Case{"abc", "cd", "abcd"}, Case{"axb", "ba", "xba"},
                        Case{"xa", "ca", "xca"}, Case{"ax", "ac", "axc"}, Case{"", "ab", "ab"},
                        Case{"ab", "", "ab"}, Case{"ab", "cab", "cab"}})
    EXPECT_EQ(mergeFields(names(c.live), names(c.applied), schema("Pod")), names(c.merged))
        << c.live << " with " << c.applied;
}

TEST_F(TypedFieldsTest, whatIsAppliedReplacesOnlyWhatItNames) {
  EXPECT_EQ(mergeFields(value(R"({"metadata":{"labels":{"a":"1","b":"2"},"finalizers":["x","y"]},
          "spec":{"nodeSelector":{"a":"b"},"tolerations":[{"key":"a"}],
          "containers":[{"name":"c","image":"1","tty":true}]}})"),
                        value(R"({"metadata":{"labels":{"b":"3"},"finalizers":["z","y"]},
          "spec":{"nodeSelector":{"c":"d"},"tolerations":[{"key":"b"}],
          "containers":[{"name":"c","image":"2"}]}})"),
                        schema("Pod")),
            value(R"({"metadata":{"labels":{"a":"1","b":"3"},"finalizers":["x","z","y"]},
          "spec":{"nodeSelector":{"c":"d"},"tolerations":[{"key":"b"}],
          "containers":[{"name":"c","image":"2","tty":true}]}})"));
}

TEST_F(TypedFieldsTest, removedFieldsGoWithTheObjectsThatTheyLeaveEmpty) {
  EXPECT_EQ(
      removeFields(
          value(R"({"metadata":{"labels":{"a":"1"},"annotations":{"x":"1","y":"2"}},
              "spec":{"containers":[{"name":"a","tty":true},{"name":"b"}]}})"),
          set(R"({"f:metadata":{"f:labels":{"f:a":{}},"f:annotations":{"f:x":{}}},)"
              R"("f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{"f:tty":{}},"k:{\"name\":\"b\"}":{".":{},"f:name":{}}}}})"),
          schema("Pod")),
      value(R"({"metadata":{"annotations":{"y":"2"}},"spec":{"containers":[{"name":"a"}]}})"));
}

TEST_F(TypedFieldsTest, whatCannotBeAppliedIsNamed) {
  const auto problem = [&](const char* text) {
    const auto good = checkApplied(value(text), schema("Pod"));
    return good ? "" : good.error().message;
  };
  EXPECT_EQ(problem(R"({"spec":{"containers":[{"name":"a"}]}})"), "");
  EXPECT_EQ(problem(R"({"spec":{"nodes":1}})"), ".spec.nodes: field not declared in schema");
  EXPECT_EQ(problem(R"({"spec":{"containers":[{"name":"a","env":[{"name":"X"},{"name":"X"}]}]}})"),
            R"(.spec.containers[name="a"].env: duplicate entries for key [name="X"])");
  EXPECT_THAT(problem(R"({"spec":{"containers":[{"image":"a"}]}})"),
              HasSubstr(".spec.containers: an element of a list with keys has none of its keys"));
}

}  // namespace
}  // namespace koord::api
