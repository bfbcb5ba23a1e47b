#include "scenario/match.h"

#include <gtest/gtest.h>

#include "base/yaml.h"

namespace koord::scenario {
namespace {

constexpr const char* kPodYaml = R"(
metadata:
  name: web-0
  labels: {app: web, tier: front}
spec:
  (odd): 4
  priority: 5500
  containers:
  - name: c1
    image: nginx-1
    env: [{name: A, value: "1"}]
  - name: c2
    image: nginx-2
    env: [{name: A, value: "2"}]
  none: null
status:
  conditions:
  - {type: PodScheduled, status: "True"}
  - {type: Ready, status: "False"}
)";

// "path: message" of each mismatch, one per line; or the error.
std::string mismatches(std::string_view tree, std::string_view actual,
                       const Bindings& bindings = {}) {
  const auto document = parseYaml(tree);
  if (!document) return "not YAML: " + document.error().message;
  const auto parsed = AssertionTree::parse(*document);
  if (!parsed) return "error: " + parsed.error().message;
  const auto found = parsed->match(*parseYaml(actual), bindings);
  if (!found) return "error: " + found.error().message;
  std::string result;
  for (const auto& mismatch : *found) {
    if (!result.empty()) result += "\n";
    result += mismatch.path + ": " + mismatch.message;
  }
  return result;
}

struct MatchCase {
  const char* name;
  const char* tree;
  const char* mismatches;
};

TEST(MatchTest, TreesHoldOrSayWhere) {
  const MatchCase cases[] = {
      {"named fields must have their value", "metadata: {name: web-0}", ""},
      {"other fields do not matter", "spec: {priority: 5500}", ""},
      {"a wrong value", "spec: {priority: 1}", "spec.priority: expected 1, got 5500"},
      {"numbers compare by amount", "spec: {priority: 5.5e3}", ""},
      {"text is not a number", "spec: {priority: '5500'}",
       "spec.priority: expected \"5500\", got 5500"},
      {"a missing field", "metadata: {annotations: {a: b}}",
       "metadata.annotations: the field is missing"},
      {"a missing field is not null", "metadata: {uid: null}",
       "metadata.uid: the field is missing"},
      {"null is null", "spec: {none: null}", ""},
      {"null is not an object", "spec: {none: {}}", "spec.none: expected an object, got null"},
      {"lists of the same length",
       "status: {conditions: [{type: PodScheduled}, {status: 'False'}]}", ""},
      {"lists of another length", "status: {conditions: [{type: Ready}]}",
       "status.conditions: expected 1 item, got 2: "
       "[{\"type\":\"PodScheduled\",\"status\":\"True\"},{\"type\":\"Ready\",\"status\":\"False\"}"
       "]"},
      {"something that is not a list", "metadata: {name: [a]}",
       "metadata.name: expected a list, got \"web-0\""},
      {"several mismatches", "metadata: {name: x}\nspec: {priority: 0}",
       "metadata.name: expected \"x\", got \"web-0\"\nspec.priority: expected 0, got 5500"},
      {"an expression as key", "spec: {(priority > `5000`): true}", ""},
      {"an expression that gives another value", "spec: {(length(containers)): 3}",
       "spec.(length(containers)): expected 3, got 2"},
      {"a filter as key", "status:\n  (conditions[?type == 'Ready']):\n  - status: 'False'", ""},
      {"an absent field as an expression", "metadata: {(uid): null}", ""},
      {"an expression as value sees the value", "spec: {priority: (@)}", ""},
      {"a computed value", "metadata:\n  name: (join('-', ['web', '1']))",
       "metadata.name: expected \"web-1\", got \"web-0\""},
      {"each element", "spec:\n  ~.containers:\n    (starts_with(image, 'nginx-')): true", ""},
      {"each element of an expression",
       "spec:\n  ~.(containers[?name == 'c1']):\n    image: nginx-2",
       "spec.~.(containers[?name == 'c1'])[0].image: expected \"nginx-2\", got \"nginx-1\""},
      {"the index as a binding",
       "spec:\n  ~i.(containers):\n    image: (join('-', ['nginx', to_string($i + `1`)]))", ""},
      {"nested iteration",
       "spec:\n  ~i.(containers):\n    ~.(env):\n      value: (to_string($i + `1`))", ""},
      {"the key of a map as a binding",
       "metadata:\n  ~k.labels:\n    (contains(['app', 'tier'], $k)): true", ""},
      {"nothing to iterate over", "metadata:\n  ~.name: x",
       "metadata.~.name: expected a list or an object to iterate over, got \"web-0\""},
      {"a binding for what is below",
       "spec:\n  (length(containers))->n:\n    ($n + $n)->n:\n      ($n): 4\n    ($n): 2", ""},
      {"a binding of a list under iteration",
       "spec:\n  ~i.containers->all:\n    (name == at($all, $i).name): true", ""},
      {"an escaped key", "spec:\n  \\(odd)\\: 4", ""},
      {"an escaped value", "metadata: {name: '\\(web)\\'}",
       "metadata.name: expected \"(web)\", got \"web-0\""},
      {"text with an arrow is text", "metadata: {name: a->b}",
       "metadata.name: expected \"a->b\", got \"web-0\""},
      {"an explicit language", "spec: {(jp; priority > `1`): true}", ""},
      {"another language", "spec: {(cel; object.x): true}",
       "error: spec.(cel; object.x): (cel; object.x): only JMESPath (jp) expressions are "
       "supported, not cel"},
      {"a bad expression", "spec: {(a ==): true}",
       "error: spec.(a ==): column 5: unexpected end of the expression in (a ==)"},
      {"an expression that fails", "spec: {(length(priority)): 1}",
       "error: spec.(length(priority)): (length(priority)): length(): argument 1 must be a string, "
       "an "
       "array or an object, got number"},
      {"iteration in a value", "spec: {priority: ~.(x)}",
       "error: spec.priority: \"~\" iterates in keys, not in values"},
  };
  for (const auto& c : cases) EXPECT_EQ(mismatches(c.tree, kPodYaml), c.mismatches) << c.name;
}

TEST(MatchTest, TreesWithoutAnObjectSpeakAboutBindings) {
  const auto bindings = Bindings().with("error", nullptr).with("stdout", "hello\n");
  EXPECT_EQ(mismatches("($error): ~\n(trim($stdout)): hello", "null", bindings), "");
  EXPECT_EQ(mismatches("($error != null): true", "null", bindings),
            "($error != null): expected true, got false");
}

TEST(MatchTest, TheViewHasTheTreesShape) {
  const auto tree = AssertionTree::parse(*parseYaml(
      "metadata: {name: x, uid: y}\nspec:\n  (length(containers)): 3\n  ~.containers: {image: z}\n"
      "status: {conditions: [{type: Ready}]}"));
  ASSERT_TRUE(tree);
  EXPECT_EQ(
      toJson(tree->view(*parseYaml(kPodYaml), {})),
      R"x({"metadata":{"name":"web-0"},"spec":{"(length(containers))":2,)x"
      R"x("~.containers":[{"image":"nginx-1"},{"image":"nginx-2"}]},)x"
      R"x("status":{"conditions":[{"type":"PodScheduled"},{"type":"Ready","status":"False"}]}})x");
}

TEST(MatchTest, RenderReplacesTextInParentheses) {
  const auto bindings = Bindings().with("namespace", "ns-1").with("n", 3);
  const auto rendered =
      render(*parseYaml("a: ($namespace)\nb: [($n + `1`), plain]\n(c): d"), bindings);
  ASSERT_TRUE(rendered);
  EXPECT_EQ(toJson(*rendered), R"x({"a":"ns-1","b":[4,"plain"],"(c)":"d"})x");
  EXPECT_EQ(*renderText("(join('-', [$namespace, 'x']))", bindings), "ns-1-x");
  EXPECT_FALSE(renderText("($n)", bindings));
  EXPECT_EQ(render(*parseYaml("a: ($nope)"), bindings).error().message,
            "a: ($nope): unknown binding $nope");
}

}  // namespace
}  // namespace koord::scenario
