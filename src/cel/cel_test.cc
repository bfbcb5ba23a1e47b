#include "cel/cel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/json.h"
#include "cel/json_object.h"
#include "cel/library/all.h"
#include "cel/library/kubernetes_cost.h"
#include "cel/library/kubernetes_quantity.h"
#include "cel/library/standard.h"
#include "cel/utf8_text.h"

namespace koord::cel {
namespace {

Environment environmentOf(std::vector<Variable> variables = {}) {
  EnvironmentOptions options;
  options.libraries = conformanceLibraries();
  options.variables = std::move(variables);
  return Environment::create(std::move(options)).value();
}

std::string issueOf(std::string_view text, const Environment& environment) {
  std::vector<Issue> issues;
  const auto program = environment.compile(text, {}, &issues);
  if (program) return "none";
  const Issue& first = issues.at(0);
  return std::to_string(first.line) + ":" + std::to_string(first.column) + ": " + first.message;
}

std::string resultOf(std::string_view text) {
  const Environment environment = environmentOf();
  const auto program = environment.compile(text);
  if (!program) return program.error().message;
  const auto value = program->evaluate(Activation(environment));
  return value ? value->toString() : "error: " + value.error().message;
}

TEST(Cel, AnIssueSaysWhereAndWhat) {
  const Environment environment = environmentOf({{"n", Type::integer()}});
  const std::array<std::pair<std::string_view, std::string_view>, 14> kCases = {{
      {"1 +", "1:4: Syntax error: expected an expression but found the end"},
      {"(1", "1:3: Syntax error: expected ')' but found the end"},
      {"1 1", "1:3: Syntax error: expected an operator or the end but found '1'"},
      {"\n  'ä' + #", "2:9: Syntax error: \"#\" is not part of an expression"},
      {"'abc", "1:1: Syntax error: the string is not closed"},
      {"'\\z'", "1:1: Syntax error: invalid escape sequence in a string"},
      {"9223372036854775808", "1:1: invalid int literal"},
      {"for", "1:1: reserved identifier: for"},
      {"has(n)", "1:5: invalid argument to has() macro"},
      {"[1].all(1, true)", "1:9: argument must be a simple name"},
      {"n + m", "1:5: undeclared reference to 'm' (in container '')"},
      {"n + 'a'", "1:3: found no matching overload for '_+_' applied to '(int, string)'"},
      {"n.field", "1:2: type 'int' does not support field selection"},
      {"n ? 1 : 2", "1:3: found no matching overload for '_?_:_' applied to '(int, int, int)'"},
  }};
  for (const auto& [text, issue] : kCases) EXPECT_EQ(issueOf(text, environment), issue) << text;
}

TEST(Cel, TheErrorOfCompileShowsTheLine) {
  const auto program = environmentOf().compile("1 + x");
  EXPECT_EQ(program.error().message,
            "ERROR: <input>:1:5: undeclared reference to 'x' (in container '')\n"
            " | 1 + x\n"
            " | ....^");
  EXPECT_EQ(program.error().code, ErrorCode::Invalid);
}

TEST(Cel, TextsThatNestTooDeeplyOrAreTooLongAreIssues) {
  const Environment environment = environmentOf();
  // As cel-go: 250 expressions, the outermost included.
  const auto deep = [](std::size_t levels) {
    return std::string(levels, '(') + "1" + std::string(levels, ')');
  };
  EXPECT_EQ(issueOf(deep(249), environment), "none");
  EXPECT_EQ(issueOf(deep(250), environment), "1:251: expression recursion limit exceeded: 250");
  EXPECT_NE(issueOf(deep(1000), environment), "none");
  EXPECT_NE(issueOf(std::string(200'000, ' ') + "1", environment), "none");
  std::string chain = "1";
  for (int i = 0; i < 5000; ++i) chain += "+1";
  EXPECT_NE(issueOf(chain, environment), "none");
  std::string logic = "true";
  for (int i = 0; i < 5000; ++i) logic += "&&true";
  EXPECT_EQ(issueOf(logic, environment), "none");
}

TEST(Cel, TypesThatGrowWithoutBoundAreAnIssue) {
  const Environment environment = environmentOf({{"n", Type::integer()}});
  const std::string tooComplex = "the types of the expression are too complex";
  // Each level doubles the type of the map.
  std::string text = "[n]";
  for (int i = 0; i < 6; ++i) text += ".map(a, {a: a})";
  EXPECT_EQ(issueOf(text, environment), "none");
  for (int i = 0; i < 54; ++i) text += ".map(a, {a: a})";
  EXPECT_THAT(issueOf(text, environment), testing::HasSubstr(tooComplex));
  // Each level binds a type variable to a map of the one before.
  std::string open, close;
  for (int i = 0; i < 50; ++i) {
    open += "[].all(x" + std::to_string(i + 1) + ", ";
    close += i == 0 ? "x1 == {1: 1}"
                    : " && x" + std::to_string(i + 1) + " == {x" + std::to_string(i) + ": x" +
                          std::to_string(i) + "}";
  }
  EXPECT_THAT(issueOf(open + close + std::string(50, ')'), environment),
              testing::HasSubstr(tooComplex));
}

TEST(Cel, ValuesThatGrowWithoutBoundAreErrors) {
  // Each level holds the one before twice.
  const auto nested = [](std::string text, std::string_view level) {
    for (int i = 0; i < 60; ++i) text += level;
    return text;
  };
  const std::string lists = nested("[[0]]", ".map(a, [a, a])");
  EXPECT_EQ(resultOf(lists + " == " + lists), "error: list is too long");
  EXPECT_EQ(resultOf(nested("[[0]]", ".map(a, [dyn(a), dyn(a)])") + ".flatten(100)"),
            "error: list is too long");
  EXPECT_EQ(resultOf(nested("[dyn(0)]", ".map(a, dyn({1: a, 2: a}))") + "[0] == 0"),
            "error: map is too large");
  EXPECT_EQ(resultOf(nested("[dyn(0)]", ".map(a, dyn(optional.of([a, a])))") + "[0] == 0"),
            "error: list is too long");
  EXPECT_EQ(resultOf(nested("[dyn(0)]", ".map(a, dyn([1, 2].transformMap(i, v, a)))") + "[0] == 0"),
            "error: map is too large");
}

TEST(Cel, ListsOfLongTextsAreErrors) {
  // A text of 1,000,000 bytes; the list holds it 100 times.
  const std::string text =
      "'" + std::string(1'000, 'a') + "'.replace('a', '" + std::string(1'000, 'b') + "')";
  EXPECT_EQ(resultOf("size(" + text + ")"), "1000000");
  EXPECT_EQ(resultOf("['%s', '%s'].map(f, f.format([lists.range(100).map(i, " + text + ")]))"),
            "error: list is too long");
  EXPECT_EQ(resultOf("lists.range(1000).map(i, [" + text + "]) == []"), "error: list is too long");
}

TEST(Cel, MessagesShowTheBeginningOfAList) {
  const std::string message = resultOf("[dyn(lists.range(100000))].join()");
  EXPECT_THAT(message, testing::StartsWith("error: join: invalid input: [0, 1, 2, "));
  EXPECT_THAT(message, testing::EndsWith(", ..."));
  EXPECT_LT(message.size(), 5'000);
}

TEST(Cel, CodePointsOfLongTextsAreFound) {
  std::string text;
  std::vector<std::size_t> begins;
  for (int i = 0; i < 1000; ++i) {
    begins.push_back(text.size());
    static constexpr std::string_view kCharacters[] = {"a", "\u00e4", "\u20ac", "\U0001f600"};
    text += kCharacters[(i * i + i / 7) % 4];
    ASSERT_EQ(countCodePoints(text), begins.size());
  }
  for (std::size_t i = 0; i < begins.size(); ++i) ASSERT_EQ(byteOfCodePoint(text, i), begins[i]);
  EXPECT_EQ(byteOfCodePoint(text, begins.size()), text.size());
  EXPECT_EQ(byteOfCodePoint(text, begins.size() + 7), text.size());
}

TEST(Cel, ErrorsAreAbsorbedWhereTheyCannotMatter) {
  EXPECT_EQ(resultOf("1 / 0 > 0 || true"), "true");
  EXPECT_EQ(resultOf("false && 1 / 0 > 0"), "false");
  EXPECT_EQ(resultOf("1 / 0 > 0 && true"), "error: division by zero");
  EXPECT_EQ(resultOf("true ? 1 : 1 / 0"), "1");
  EXPECT_EQ(resultOf("[1, 0].exists(x, 1 / x == 1)"), "true");
  EXPECT_EQ(resultOf("[0, 2].all(x, 4 / x == 2)"), "error: division by zero");
}

TEST(Cel, NumbersDoNotWrap) {
  EXPECT_EQ(resultOf("9223372036854775807 + 1"), "error: integer overflow");
  EXPECT_EQ(resultOf("0u - 1u"), "error: unsigned integer overflow");
  EXPECT_EQ(resultOf("-9223372036854775808 / -1"), "error: integer overflow");
  EXPECT_EQ(resultOf("1 == 1.0 && 1u == 1 && {1: 'a'}[1.0] == 'a'"),
            "ERROR: <input>:1:3: found no matching overload for '_==_' applied to '(int, double)'\n"
            " | 1 == 1.0 && 1u == 1 && {1: 'a'}[1.0] == 'a'\n | ..^\n"
            "ERROR: <input>:1:16: found no matching overload for '_==_' applied to '(uint, int)'\n"
            " | 1 == 1.0 && 1u == 1 && {1: 'a'}[1.0] == 'a'\n | ...............^\n"
            "ERROR: <input>:1:32: found no matching overload for '_[_]' applied to '(map(int, "
            "string), double)'\n"
            " | 1 == 1.0 && 1u == 1 && {1: 'a'}[1.0] == 'a'\n | ...............................^");
  EXPECT_EQ(resultOf("dyn(1) == 1.0 && dyn(1u) == 1 && {1: 'a'}[dyn(1.0)] == 'a'"), "true");
}

TEST(Cel, ReadsJsonInPlace) {
  const auto document =
      parseJson(R"({"spec":{"replicas":3,"ratio":0.5,"names":["a","b"]}})").value();
  const Environment environment = environmentOf({{"self", Type::dyn()}});
  Activation activation(environment);
  activation.set("self", Value::json(document));
  const auto evaluate = [&](std::string_view text) {
    const Program program =
        environment.compile(text).value();  // the value may borrow its constants
    const auto value = program.evaluate(activation);
    return value ? value->toString() : value.error().message;
  };
  EXPECT_EQ(evaluate("self.spec.replicas <= 5 && self.spec.ratio == 0.5"), "true");
  EXPECT_EQ(evaluate("self.spec.names.map(n, n + '!')"), R"(["a!", "b!"])");
  EXPECT_EQ(evaluate("has(self.spec.missing)"), "false");
  EXPECT_EQ(evaluate("self.spec.missing"), "no such key: missing");
  EXPECT_EQ(evaluate("self.spec.?missing.orValue('none')"), "\"none\"");
  EXPECT_EQ(evaluate("self.spec"), R"({"replicas": 3, "ratio": 0.5, "names": ["a", "b"]})");
}

TEST(Cel, JsonObjectsHaveDeclaredFields) {
  JsonObjectType container("Container");
  container.add("image", Type::string());
  JsonObjectType spec("Spec");
  spec.add("weight", Type::real());
  spec.add("started", Type::timestamp());
  spec.add("containers", Type::list(Type::object(container)));
  const auto document =
      parseJson(R"({"weight":7,"started":"2026-01-02T03:04:05Z","containers":[{"image":"web"}]})")
          .value();
  const Environment environment = environmentOf({{"self", Type::object(spec)}});
  Activation activation(environment);
  activation.set("self", Value::json(document, Type::object(spec)));
  const auto evaluate = [&](std::string_view text) {
    const Program program =
        environment.compile(text).value();  // the value may borrow its constants
    const auto value = program.evaluate(activation);
    return value ? value->toString() : value.error().message;
  };
  EXPECT_EQ(evaluate("self.weight / 2.0"), "3.5");
  EXPECT_EQ(evaluate("self.started.getFullYear()"), "2026");
  EXPECT_EQ(evaluate("self.containers.all(c, c.image == 'web')"), "true");
  EXPECT_EQ(issueOf("self.wieght", environment), "1:5: undefined field 'wieght'");
}

TEST(Cel, ALimitOnTheCostEndsAnEvaluation) {
  const Environment environment = environmentOf();
  const Program program = environment.compile("lists.range(1000).all(x, x >= 0)").value();
  const Activation activation(environment);
  std::uint64_t cost = 0;
  ASSERT_TRUE(program.evaluate(activation, {}, &cost));
  EXPECT_GT(cost, 3000U);
  const auto stopped = program.evaluate(activation, {.cost = 2000}, &cost);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::TooManyRequests);
  EXPECT_LT(cost, 2100U);
  // && and || do not absorb the end of an evaluation.
  const Program absorbed = environment.compile("lists.range(1000).all(x, x >= 0) || true").value();
  EXPECT_FALSE(absorbed.evaluate(activation, {.cost = 2000}));
}

TEST(Cel, KubernetesFoldsConstantsWithoutCost) {
  EnvironmentOptions options;
  options.libraries = kubernetesLibraries();
  options.costModel = &kubernetesCosts();
  options.variables = {{"name", Type::string()}, {"self", Type::dyn()}};
  const Environment environment = Environment::create(std::move(options)).value();
  Activation activation(environment);
  activation.set("name", Value::stringView("a"));
  const auto document = parseJson(R"({"a":{"b":1}})").value();
  activation.set("self", Value::json(document));
  const auto costOf = [&](std::string_view text) {
    std::uint64_t cost = 0;
    EXPECT_TRUE(environment.compile(text).value().evaluate(activation, {}, &cost));
    return cost;
  };
  EXPECT_EQ(costOf("name in ['a', 'b']"), 1U);
  EXPECT_EQ(costOf("[1, 2, 3].size()"), 1U);
  EXPECT_EQ(costOf("duration('1m') > duration('1s')"), 1U);
  EXPECT_EQ(costOf("self.a.b == 1"), 4U);
  EXPECT_EQ(costOf("has(self.a.b)"), 2U);
  EXPECT_EQ(costOf("true ? self.a.b : 0"), 2U);
  EXPECT_FALSE(environment.compile("duration('soon')"));
}

TEST(Cel, AccumulatedListsGrowInPlace) {
  const Environment environment = environmentOf();
  const Program program =
      environment.compile("lists.range(100000).map(x, x * 2).filter(x, x % 3 == 0).size()").value();
  EXPECT_EQ(program.evaluate(Activation(environment)).value().asInt(), 33334);
}

TEST(Cel, ComprehensionsNest) {
  EXPECT_EQ(resultOf("[1, 2].map(x, [x, 3].all(y, y > x))"), "[false, false]");
  EXPECT_EQ(resultOf("[1].map(x, [2].map(y, [3].map(z, [x, y, z])))"), "[[[[1, 2, 3]]]]");
  EXPECT_EQ(resultOf("cel.bind(a, [1, 2].map(x, x * 2), [1].map(y, a + [y]))"), "[[2, 4, 1]]");
  EXPECT_EQ(resultOf("{'a': 1}.transformMap(k, v, [v].map(x, x + 1))"), R"({"a": [2]})");
}

TEST(Cel, AnEnvironmentCanBeExtended) {
  const Environment base = environmentOf({{"a", Type::integer()}});
  const Environment more = base.extend({{"b", Type::integer()}}).value();
  EXPECT_EQ(more.variable("a"), base.variable("a"));
  Activation activation(more);
  activation.set("a", Value::integer(1));
  activation.set("b", Value::integer(2));
  const Program program = more.compile("a + b").value();
  EXPECT_EQ(program.evaluate(activation).value().asInt(), 3);
  EXPECT_EQ(program.variables(), (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(base.extend({{"a", Type::string()}}));
}

TEST(Cel, ZonesOfTheSystemAreKnown) {
  EXPECT_EQ(resultOf("timestamp('2026-07-01T12:00:00Z').getHours('Europe/Berlin')"), "14");
  EXPECT_EQ(resultOf("timestamp('2076-01-01T12:00:00Z').getHours('Europe/Berlin')"), "13");
  EXPECT_EQ(resultOf("timestamp('2076-07-01T12:00:00Z').getHours('Europe/Berlin')"), "14");
  EXPECT_EQ(resultOf("timestamp('2026-07-01T12:00:00Z').getHours('Nowhere/City')"),
            "error: unknown time zone Nowhere/City");
}

TEST(Cel, ValuesBecomeJson) {
  const Environment environment = environmentOf();
  const auto json = [&](std::string_view text) {
    const Program program = environment.compile(text).value();
    const auto value = program.evaluate(Activation(environment)).value().toJson();
    return value ? koord::toJson(*value) : value.error().message;
  };
  EXPECT_EQ(json("{'a': [1, 2u, 1.5, null, true], 'b': b'x', 'c': duration('1m')}"),
            R"({"a":[1,2,1.5E0,null,true],"b":"eA==","c":"60s"})");
  EXPECT_EQ(json("0.0 / 0.0"), "a value of type double has no JSON form");
}

}  // namespace
}  // namespace koord::cel
