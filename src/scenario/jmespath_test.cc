#include "scenario/jmespath.h"

#include <gtest/gtest.h>

#include <span>

#include "base/virtual_loop.h"

namespace koord::scenario {
namespace {

constexpr const char* kPodJson = R"({
  "metadata": {"name": "web-0", "labels": {"app": "web", "koordinator.sh/qosClass": "BE"}},
  "spec": {"priority": 5500, "containers": [
    {"name": "a", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}, "ports": [80, 443]},
    {"name": "b", "resources": {"requests": {"cpu": "250m", "memory": "512Mi"}}, "ports": []}]},
  "status": {"phase": "Running", "conditions": [
    {"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "False"}]},
  "empty": [], "zero": 0, "nested": [[1, 2], [3], 4]
})";

std::string evaluate(std::string_view expression, std::string_view input,
                     const Bindings& bindings = {}) {
  const auto parsed = Expression::parse(expression);
  if (!parsed) return parsed.error().message;
  const auto document = parseJson(input);
  const auto value = parsed->evaluate(*document, bindings);
  return value ? toJson(*value) : value.error().message;
}

struct QueryCase {
  const char* expression;
  const char* result;
};

void expectAll(std::span<const QueryCase> cases) {
  for (const auto& c : cases) EXPECT_EQ(evaluate(c.expression, kPodJson), c.result) << c.expression;
}

TEST(JmespathTest, PathsIndicesAndSlices) {
  const QueryCase cases[] = {
      {"metadata.name", R"("web-0")"},
      {R"(metadata.labels."koordinator.sh/qosClass")", R"("BE")"},
      {"metadata.missing.deeper", "null"},
      {"spec.containers[0].name", R"("a")"},
      {"spec.containers[-1].name", R"("b")"},
      {"spec.containers[7]", "null"},
      {"metadata[0]", "null"},
      {"nested[0][1]", "2"},
      {"nested[:2]", "[[1,2],[3]]"},
      {"nested[::-1]", "[4,[3],[1,2]]"},
      {"metadata.name[0:3]", R"("web")"},
      {"metadata.name[::-1]", R"("0-bew")"},
      {"@.zero", "0"},
      {"status | phase", R"("Running")"},
  };
  expectAll(cases);
}

TEST(JmespathTest, ProjectionsFlattenAndFilters) {
  const QueryCase cases[] = {
      {"spec.containers[*].name", R"(["a","b"])"},
      {"spec.containers[].ports[]", "[80,443]"},
      {"spec.containers[*].ports[0]", "[80]"},
      {"spec.containers[*].ports | [0]", "[80,443]"},
      {"nested[]", "[1,2,3,4]"},
      {"metadata.labels.*", R"(["web","BE"])"},
      {"status.conditions[?type == 'Ready'].status | [0]", R"("False")"},
      {"status.conditions[?status == 'True'].type", R"(["PodScheduled"])"},
      {"spec.containers[?contains(ports, `80`)].name", R"(["a"])"},
      {"nested[?@ == `4`]", "[4]"},
      {"metadata[*]", "null"},
      {"spec.containers[*].{n: name, c: resources.requests.cpu}",
       R"([{"n":"a","c":"500m"},{"n":"b","c":"250m"}])"},
      {"spec.containers[*].[name, ports[0]]", R"([["a",80],["b",null]])"},
  };
  expectAll(cases);
}

TEST(JmespathTest, LogicComparisonAndArithmetic) {
  const QueryCase cases[] = {
      {"spec.priority > `5000` && spec.priority < `6000`", "true"},
      {"spec.priority >= `5500`", "true"},
      {"metadata.name < 'x'", "null"},
      {"!empty", "true"},
      {"!metadata.name", "false"},
      {"!(metadata.name == 'x')", "true"},
      {"zero || 'none'", "0"},
      {"empty || 'none'", R"("none")"},
      {"zero == `0.0`", "true"},
      {"`1` + `2` * `3`", "7"},
      {"(`1` + `2`) * `3`", "9"},
      {"`7` / `2`", "3.5E0"},
      {"`8` / `2`", "4"},
      {"`7` // `2`", "3"},
      {"`7` % `4`", "3"},
      {"-zero - `1`", "-1"},
      {"length(spec.containers) + `1`", "3"},
      {"status.phase == 'Running' ? 'up' : 'down'", R"("up")"},
      {"let $p = spec.priority in {p: $p, q: $p + `1`}", R"({"p":5500,"q":5501})"},
      {"spec.containers[?name == $.spec.containers[1].name].name", R"(["b"])"},
      {"null == missing", "true"},
  };
  expectAll(cases);
}

TEST(JmespathTest, Functions) {
  const QueryCase cases[] = {
      {"length(metadata.name)", "5"},
      {"keys(metadata.labels)", R"(["app","koordinator.sh/qosClass"])"},
      {"values(metadata.labels)", R"(["web","BE"])"},
      {"starts_with(metadata.name, 'web-')", "true"},
      {"ends_with(metadata.name, '-1')", "false"},
      {"join('-', ['a', metadata.name])", R"("a-web-0")"},
      {"sort(spec.containers[*].resources.requests.cpu)", R"(["250m","500m"])"},
      {"sort_by(spec.containers, &resources.requests.cpu)[0].name", R"("b")"},
      {"max_by(spec.containers, &length(ports)).name", R"("a")"},
      {"sum(spec.containers[0].ports)", "523"},
      {"sum(spec.containers[*].resources.requests.cpu)", R"("750m")"},
      {"max(`[1, 3, 2]`)", "3"},
      {"min(`[]`)", "null"},
      {"to_number('5500')", "5500"},
      {"to_number('x')", "null"},
      {"to_string(spec.priority)", R"("5500")"},
      {"to_string(`1` / `4`)", R"("0.25")"},
      {"type(spec)", R"("object")"},
      {"not_null(missing, 'x')", R"("x")"},
      {"map(&name, spec.containers)", R"(["a","b"])"},
      {"reverse('abc')", R"("cba")"},
      {"merge({a: 'x'}, {b: 'y', a: 'z'})", R"({"a":"z","b":"y"})"},
      {"split('a,b,c', ',')", R"(["a","b","c"])"},
      {"split('a,b,c', ',', `1`)", R"(["a","b,c"])"},
      {"to_upper('be')", R"("BE")"},
      {"trim_space(' x\n')", R"("x")"},
      {"trim('  x ')", R"("x")"},
      {"replace_all('a-b-c', '-', '')", R"("abc")"},
      {"regex_match('^web-[0-9]+$', metadata.name)", "true"},
      {"regex_match('^[0-9]+$', spec.priority)", "true"},
      {"regex_replace_all('([a-z]+)-([0-9])', metadata.name, '$2-$1')", R"("0-web")"},
      {"regex_match('a.c', 'a\nc')", "false"},
      {"regex_match('(?s)a.c', 'a\nc')", "true"},
      {"regex_replace_all('(?P<word>[a-z]+)', 'one two', '<${word}>')", R"("<one> <two>")"},
      {"regex_replace_all('([a-z])', 'ab', '$1x')", R"("")"},
      {"regex_replace_all('([a-z])', 'ab', '${1}x')", R"("axbx")"},
      {"regex_replace_all('([a-z])', 'a', '$0$9$$${1$')", R"("a$${1$")"},
      {"regex_replace_all('(b)?', 'aéb', '-$1')", R"("-a-é-b")"},
      {"regex_replace_all('b*', 'abb', '-')", R"("-a-")"},
      {"regex_replace_all_literal('([a-z])', 'ab', '$1')", R"("$1$1")"},
      {"wildcard('web-*', metadata.name)", "true"},
      {"items(metadata.labels, 'k', 'v')[0]", R"({"k":"app","v":"web"})"},
      {"from_items([['a', `1`]])", R"({"a":1})"},
      {"zip(['a', 'b'], `[1, 2, 3]`)", R"([["a",1],["b",2]])"},
      {"group_by(spec.containers, &name).a[0].name", R"("a")"},
      {"json_parse('{\"a\": [1]}').a", "[1]"},
      {"parse_yaml('a: 1').a", "1"},
      {"base64_decode('aGVsbG8=')", R"("hello")"},
      {"base64_encode('hello')", R"("aGVsbG8=")"},
      {"length('\xc3\xa9t\xc3\xa9')", "3"},
      {"at(spec.containers, `1`).name", R"("b")"},
      {"round(`1.005`, `2`)", "1.01E0"},
  };
  expectAll(cases);
}

TEST(JmespathTest, QuantitiesAndDurationsAddUp) {
  const QueryCase cases[] = {
      {"add('1Mi', '2Mi')", R"("3Mi")"},
      {"add('500m', '1500m')", R"("2")"},
      {"subtract('2Gi', '1Gi')", R"("1Gi")"},
      {"multiply('250m', `3`)", R"("750m")"},
      {"divide('4Gi', '1Gi')", "4"},
      {"divide('4Gi', `4`)", R"("1Gi")"},
      {"add('1h', '30m0s')", R"("1h30m0s")"},
      {"divide('2h', '1h')", "2"},
      {"add(`1`, `2`)", "3"},
      {"modulo(`10`, `3`)", "1"},
      {"x_quantity_compare('1Gi', '1024Mi')", "0"},
      {"x_quantity_compare('900m', '1')", "-1"},
      {"add('1h', '1Gi')", "(add('1h', '1Gi')): add(): 1h and 1Gi cannot be combined"},
      {"divide('1Gi', '0')", "(divide('1Gi', '0')): divide(): division by zero"},
  };
  expectAll(cases);
}

TEST(JmespathTest, TimesComeFromTheClockThatIsBound) {
  VirtualLoop loop;
  const Bindings bindings(loop);
  EXPECT_EQ(evaluate("time_now_utc()", "{}", bindings), R"("2026-01-01T00:00:00Z")");
  EXPECT_EQ(evaluate("time_since('', '2025-12-31T23:00:00Z', '')", "{}", bindings), R"("1h0m0s")");
  EXPECT_EQ(evaluate("time_add('2026-01-01T00:00:00Z', '90m')", "{}"), R"("2026-01-01T01:30:00Z")");
  EXPECT_EQ(evaluate("time_before('2026-01-01T00:00:00Z', '2026-01-01T00:00:01Z')", "{}"), "true");
}

TEST(JmespathTest, BindingsHideOuterOnesOfTheSameName) {
  const Bindings outer = Bindings().with("a", "outer").with("b", 2);
  const Bindings inner = outer.with("a", "inner");
  EXPECT_EQ(evaluate("[$a, $b]", "{}", inner), R"(["inner",2])");
  EXPECT_EQ(evaluate("$a", "{}", outer), R"("outer")");
  EXPECT_EQ(evaluate("$c", "{}", outer), "($c): unknown binding $c");
}

TEST(JmespathTest, ErrorsNameTheColumnOrTheArgument) {
  const QueryCase cases[] = {
      {"", "column 1: the expression is empty in ()"},
      {"a.", "column 3: unexpected end of the expression in (a.)"},
      {"a[?b == 'x'", "column 12: expected \"]\" after the filter in (a[?b == 'x')"},
      {"replicas > 3", "column 12: numbers are written in backticks: `3` in (replicas > 3)"},
      {"'open", "column 1: the closing ' is missing in ('open)"},
      {"`{`", "column 1: the text in backticks must be JSON in (`{`)"},
      {"nope(a)", "column 1: unknown function nope() in (nope(a))"},
      {"length(a, b)", "column 1: length() does not take 2 arguments in (length(a, b))"},
      {"a b", "column 3: unexpected \"b\" in (a b)"},
      {"a # b", "column 3: unexpected character '#' in (a # b)"},
      {"length(zero)",
       "(length(zero)): length(): argument 1 must be a string, an array or an object, got number"},
      {"join(',', `[1]`)",
       "(join(',', `[1]`)): join(): argument 2 must be an array of strings, got array"},
      {"nested[::0]", "(nested[::0]): the step of a slice must not be 0"},
      {"regex_match('(', 'a')", nullptr},
      {"metadata + zero",
       "(metadata + zero): arithmetic needs numbers, got object and number (add(), subtract(), ... "
       "take "
       "quantities and durations)"},
      {"zero / zero", "(zero / zero): the result is not a number"},
  };
  for (const auto& c : cases) {
    if (c.result) {
      EXPECT_EQ(evaluate(c.expression, kPodJson), c.result) << c.expression;
    } else {
      const auto value = Expression::parse(c.expression)->evaluate(nullptr);
      EXPECT_FALSE(value) << c.expression;
    }
  }
  EXPECT_FALSE(Expression::parse(std::string(500, '(') + "a" + std::string(500, ')')));
}

TEST(JmespathTest, AnEvaluationMakesAQuarterGibibyteAtMost) {
  const auto tooMuch = [](const std::string& expression) {
    const auto value = Expression::parse(expression)->evaluate(*parseJson(kPodJson));
    return !value && value.error().message.find("more than 256 MiB") != std::string::npos;
  };
  std::string doubling = "$a60";
  for (int i = 60; i > 0; --i) {
    const auto before = i == 1 ? std::string("@") : "$a" + std::to_string(i - 1);
    doubling = "let $a" + std::to_string(i) + " = [" + before + "," + before + "] in " + doubling;
  }
  EXPECT_TRUE(tooMuch(doubling));
  EXPECT_TRUE(
      tooMuch("let $x = pad_left('', `1000000`) in "
              "let $l = split($x, '') in join($x, $l)"));
  EXPECT_TRUE(tooMuch("let $x = pad_left('', `100000`) in replace_all($x, ' ', $x)"));
  std::string maps = "@";
  for (int i = 0; i < 30; ++i) maps = "map(&(" + maps + "), [@, @, @])";
  EXPECT_TRUE(tooMuch(maps));
  const auto regex =
      Expression::parse("let $x = pad_left('', `100000`) in regex_replace_all(' ', $x, $x)")
          ->evaluate(nullptr);
  ASSERT_FALSE(regex);
  EXPECT_NE(regex.error().message.find("the result is too long"), std::string::npos);
}

}  // namespace
}  // namespace koord::scenario
