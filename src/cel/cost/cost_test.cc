// The costs of standard functions: the numbers of cel-go's tests checker/cost_test.go and
// interpreter/runtimecost_test.go.

#include "cel/cost.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "cel/library/bindings.h"
#include "cel/library/comprehensions.h"
#include "cel/library/optionals.h"
#include "cel/library/standard.h"
#include "cel/library/strings.h"

namespace koord::cel {
namespace {

constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();

// Sizes by path; bytes have at most 12.
class HintedCosts : public CostModel {
 public:
  using Hints = std::vector<std::pair<std::string, std::uint64_t>>;
  HintedCosts(Hints hints, bool presenceTestHasCost)
      : hints_(std::move(hints)), presenceTestHasCost_(presenceTestHasCost) {}
  std::optional<SizeEstimate> estimateSize(const CostNode& node) const override {
    std::string path;
    for (const std::string& part : node.path) path += (path.empty() ? "" : ".") + part;
    for (const auto& [hinted, most] : hints_)
      if (hinted == path) return SizeEstimate{0, most};
    if (node.type.kind() == TypeKind::Bytes) return SizeEstimate{0, 12};
    return std::nullopt;
  }
  bool presenceTestHasCost() const override { return presenceTestHasCost_; }

 private:
  Hints hints_;
  bool presenceTestHasCost_;
};

Environment environmentWith(std::vector<Variable> variables, const CostModel& model) {
  EnvironmentOptions options;
  options.libraries = {&standardLibrary(), &bindingsLibrary(), &comprehensionsLibrary(),
                       &optionalsLibrary(), &stringsLibrary()};
  options.variables = std::move(variables);
  options.costModel = &model;
  return Environment::create(std::move(options)).value();
}

struct EstimateCase {
  std::string_view expression;
  std::vector<Variable> variables;
  HintedCosts::Hints hints;
  bool presenceTestHasCost;
  CostEstimate expected;
};

const std::vector<EstimateCase> kEstimateCases = {
    {R"cel("Hello World!")cel", {}, {}, true, {0, 0}},
    {R"cel(input)cel", {{"input", Type::list(Type::integer())}}, {}, true, {1, 1}},
    {R"cel(input['key'])cel",
     {{"input", Type::map(Type::string(), Type::string())}},
     {},
     true,
     {2, 2}},
    {R"cel(has(input.testAttr.nestedAttr))cel",
     {{"input", Type::map(Type::string(), Type::map(Type::string(), Type::dyn()))}},
     {},
     true,
     {3, 3}},
    {R"cel(has(input.testAttr.nestedAttr))cel",
     {{"input", Type::map(Type::string(), Type::map(Type::string(), Type::dyn()))}},
     {},
     false,
     {2, 2}},
    {R"cel(has(input.testAttr.nestedAttr))cel",
     {{"input", Type::map(Type::string(), Type::map(Type::string(), Type::dyn()))}},
     {},
     true,
     {3, 3}},
    {R"cel([1, 2, 3])cel", {}, {}, true, {10, 10}},
    {R"cel({"a": 1, "b": 2, "c": 3})cel", {}, {}, true, {30, 30}},
    {R"cel(input.all(x, true))cel",
     {{"input", Type::list(Type::dyn())}},
     {{"input", 100}},
     true,
     {2, 302}},
    {R"cel(input.all(x, x.all(y, true)))cel",
     {{"input", Type::list(Type::list(Type::dyn()))}},
     {{"input", 50}, {"input.@items", 10}},
     true,
     {2, 1752}},
    {R"cel([1, 2, 3].all(x, true))cel", {}, {}, true, {20, 20}},
    {R"cel(input.matches('[0-9]'))cel",
     {{"input", Type::string()}},
     {{"input", 500}},
     true,
     {3, 103}},
    {R"cel('123'.matches('[0-9]'))cel", {}, {}, true, {2, 2}},
    {R"cel(true || false)cel", {}, {}, true, {0, 0}},
    {R"cel(a || b || c || d)cel",
     {{"a", Type::boolean()},
      {"b", Type::boolean()},
      {"c", Type::boolean()},
      {"d", Type::boolean()}},
     {},
     true,
     {1, 4}},
    {R"cel(true && false)cel", {}, {}, true, {0, 0}},
    {R"cel(a && b && c && d)cel",
     {{"a", Type::boolean()},
      {"b", Type::boolean()},
      {"c", Type::boolean()},
      {"d", Type::boolean()}},
     {},
     true,
     {1, 4}},
    {R"cel(1 < 2)cel", {}, {}, true, {1, 1}},
    {R"cel(1 <= 2)cel", {}, {}, true, {1, 1}},
    {R"cel(1 == 2)cel", {}, {}, true, {1, 1}},
    {R"cel(2 > 1)cel", {}, {}, true, {1, 1}},
    {R"cel(2 >= 1)cel", {}, {}, true, {1, 1}},
    {R"cel(2 in [1, 2, 3])cel", {}, {}, true, {13, 13}},
    {R"cel(1 + 1)cel", {}, {}, true, {1, 1}},
    {R"cel(1 - 1)cel", {}, {}, true, {1, 1}},
    {R"cel(1 / 1)cel", {}, {}, true, {1, 1}},
    {R"cel(1 * 1)cel", {}, {}, true, {1, 1}},
    {R"cel(1 % 1)cel", {}, {}, true, {1, 1}},
    {R"cel(true ? 1 : 2)cel", {}, {}, true, {0, 0}},
    {R"cel(size("123"))cel", {}, {}, true, {1, 1}},
    {R"cel(size(b"123"))cel", {}, {}, true, {1, 1}},
    {R"cel(string(input))cel", {{"input", Type::bytes()}}, {{"input", 500}}, true, {1, 51}},
    {R"cel(string(input) == string(input))cel",
     {{"input", Type::bytes()}},
     {{"input", 500}},
     true,
     {3, 152}},
    {R"cel(bytes(input))cel", {{"input", Type::string()}}, {{"input", 500}}, true, {1, 51}},
    {R"cel(bytes(input) == bytes(input))cel",
     {{"input", Type::string()}},
     {{"input", 500}},
     true,
     {3, 302}},
    {R"cel(string(1))cel", {}, {}, true, {1, 1}},
    {R"cel(input.contains(arg1))cel",
     {{"input", Type::string()}, {"arg1", Type::string()}},
     {{"input", 500}, {"arg1", 500}},
     true,
     {2, 2502}},
    {R"cel(input.matches('\\d+a\\d+b'))cel",
     {{"input", Type::string()}},
     {{"input", 500}},
     true,
     {3, 103}},
    {R"cel(input.startsWith(arg1))cel",
     {{"input", Type::string()}, {"arg1", Type::string()}},
     {{"arg1", 500}},
     true,
     {2, 52}},
    {R"cel(input.endsWith(arg1))cel",
     {{"input", Type::string()}, {"arg1", Type::string()}},
     {{"arg1", 500}},
     true,
     {2, 52}},
    {R"cel(input.size())cel", {{"input", Type::string()}}, {}, true, {2, 2}},
    {R"cel(size(input))cel", {{"input", Type::string()}}, {}, true, {2, 2}},
    {R"cel((x > 2 ? input1 : input2).all(y, true))cel",
     {{"x", Type::integer()},
      {"input1", Type::list(Type::dyn())},
      {"input2", Type::list(Type::dyn())}},
     {{"input1", 1}, {"input2", 1}},
     true,
     {4, 7}},
    {R"cel(input.all(k, input[k].all(x, true)))cel",
     {{"input", Type::map(Type::string(), Type::map(Type::string(), Type::dyn()))}},
     {{"input", 5}, {"input.@values", 10}},
     true,
     {2, 187}},
    {R"cel(input.all(k, k.contains(k)))cel",
     {{"input", Type::map(Type::string(), Type::map(Type::string(), Type::dyn()))}},
     {{"input", 5}, {"input.@keys", 10}},
     true,
     {2, 32}},
    {R"cel(input.all(k, input[k].all(k, true) && k.contains(k)))cel",
     {{"input", Type::map(Type::string(), Type::map(Type::string(), Type::dyn()))}},
     {{"input", 2}, {"input.@values", 2}, {"input.@keys", 5}},
     true,
     {2, 34}},
    {R"cel(input.all(k, input[k].all(k, true) && k.contains(k)))cel",
     {{"input", Type::map(Type::string(), Type::map(Type::string(), Type::dyn()))}},
     {{"input", 2}, {"input.@values", 2}, {"input.@keys", 5}},
     true,
     {2, 34}},
    {R"cel((list1 + list2).all(x, true))cel",
     {{"list1", Type::list(Type::integer())}, {"list2", Type::list(Type::integer())}},
     {{"list1", 10}, {"list2", 10}},
     true,
     {4, 64}},
    {R"cel("abcdefg".contains(str1 + str2))cel",
     {{"str1", Type::string()}, {"str2", Type::string()}},
     {{"str1", 10}, {"str2", 10}},
     true,
     {2, 6}},
    {R"cel(list1.size() == list2.size())cel",
     {{"list1", Type::list(Type::integer())}, {"list2", Type::list(Type::integer())}},
     {},
     true,
     {5, 5}},
    {R"cel(x > y ? list1.size() : list2.size())cel",
     {{"x", Type::integer()},
      {"y", Type::integer()},
      {"list1", Type::list(Type::integer())},
      {"list2", Type::list(Type::integer())}},
     {},
     true,
     {5, 5}},
    {R"cel(([x, y] + list1 + list2).size())cel",
     {{"x", Type::integer()},
      {"y", Type::integer()},
      {"list1", Type::list(Type::integer())},
      {"list2", Type::list(Type::integer())}},
     {{"list1", 10}, {"list2", 20}},
     true,
     {17, 17}},
    {R"cel([list1, list2].exists(l, l.exists(v, v.startsWith('hi'))))cel",
     {{"list1", Type::list(Type::string())}, {"list2", Type::list(Type::string())}},
     {{"list1", 10}, {"list1.@items", 64}, {"list2", 20}, {"list2.@items", 128}},
     true,
     {21, 265}},
    {R"cel(str1.endsWith("abcdefghijklmnopqrstuvwxyz") == str2.endsWith("abcdefghijklmnopqrstuvwxyz"))cel",
     {{"str1", Type::string()}, {"str2", Type::string()}},
     {},
     true,
     {9, 9}},
    {R"cel(((5 != 6) == (1 == 2)) == ((3 <= 4) == (9 != 9)))cel", {}, {}, true, {7, 7}},
    {R"cel(string(timestamp1) == string(timestamp2))cel",
     {{"timestamp1", Type::timestamp()}, {"timestamp2", Type::timestamp()}},
     {},
     true,
     {5, 1844674407370955268}},
    {R"cel(timestamp1 == timestamp2)cel",
     {{"timestamp1", Type::timestamp()}, {"timestamp2", Type::timestamp()}},
     {},
     true,
     {3, 3}},
    {R"cel(duration1 != duration2)cel",
     {{"duration1", Type::duration()}, {"duration2", Type::duration()}},
     {},
     true,
     {3, 3}},
    {R"cel([1,2,3,4,5].filter(x, x % 2 == 0))cel", {}, {}, true, {41, 101}},
    {R"cel([1,2,3,4,5].map(x, x))cel", {}, {}, true, {86, 86}},
    {R"cel([1,2,3,4,5].map(x, x).filter(x, x % 2 == 0))cel", {}, {}, true, {117, 177}},
    {R"cel([1,2,3,4,5].map(x, x).exists(x, x == 5) == true)cel", {}, {}, true, {108, 118}},
    {R"cel([1,2,3,4,5].map(x, x).map(x, x))cel", {}, {}, true, {162, 162}},
    {R"cel([1,2,3,4,5].map(x, x)[4])cel", {}, {}, true, {87, 87}},
    {R"cel([[1,2],[1,2],[1,2],[1,2],[1,2]][4])cel", {}, {}, true, {61, 61}},
    {R"cel({'a': [1,2], 'b': [1,2], 'c': [1,2], 'd': [1,2], 'e': [1,2]}.b)cel",
     {},
     {},
     true,
     {81, 81}},
    {R"cel([[1, 1], [2, 2], [3, 3], [4, 4], [5, 5]].all(y, y.all(y, y == 1)))cel",
     {},
     {},
     true,
     {76, 136}},
    {R"cel([1,2,3,4,5].map(x, [x, x]).all(y, y.all(y, y == 1)))cel", {}, {}, true, {157, 217}},
    {R"cel(["a", "ab", "abc", "abcd", "abcde"].map(x, [x, x]).all(y, y.all(y, y.startsWith('a'))))cel",
     {},
     {},
     true,
     {157, 217}},
    {R"cel(input.map(x, [x, x]).all(y, y.all(y, y.startsWith('a'))))cel",
     {{"input", Type::list(Type::string())}},
     {{"input", 5}, {"input.@items", 10}},
     true,
     {13, 208}},
    {R"cel([1,2,3,4,5].map(x, x).map(x, x) + [1])cel", {}, {}, true, {173, 173}},
    {R"cel([1,2,3].all(i, i in [1,2,3].map(j, j + j)))cel", {}, {}, true, {20, 230}},
    {R"cel(dyn([1,2,3]).all(i, i in dyn([1,2,3]).map(j, j + j)))cel", {}, {}, true, {21, 234}},
    {R"cel({'hello': 'hi'}['hello'] != {'hello': 'bye'}['hello'])cel", {}, {}, true, {63, 63}},
    {R"cel(['hello', 'hi'][0] != ['hello', 'bye'][1])cel", {}, {}, true, {23, 23}},
    {R"cel(type(1))cel", {}, {}, true, {1, 1}},
    {R"cel(type(self.val1))cel",
     {{"self", Type::map(Type::string(), Type::integer())}},
     {},
     true,
     {3, 3}},
    {R"cel(type(self.val1) == int)cel",
     {{"self", Type::map(Type::string(), Type::integer())}},
     {},
     true,
     {5, 1844674407370955268}},
    {R"cel(type(1) == int)cel", {}, {}, true, {3, 1844674407370955266}},
    {R"cel(type(1) == int)cel", {}, {}, true, {3, 1844674407370955266}},
    {R"cel(self.val1 == 1.0)cel",
     {{"self", Type::map(Type::string(), Type::real())}},
     {},
     true,
     {3, 3}},
    {R"cel(self.val1 == timestamp('2011-08-18T00:00:00.000+01:00') + duration('19h3m37s10ms'))cel",
     {{"self", Type::map(Type::string(), Type::timestamp())}},
     {},
     true,
     {6, 6}},
    {R"cel(timestamp(self.val1) == timestamp('2011-08-18T00:00:00.000+01:00') + duration('19h3m37s10ms'))cel",
     {{"self", Type::map(Type::string(), Type::timestamp())}},
     {},
     true,
     {7, 7}},
    {R"cel(self.val1 != self.val2)cel",
     {{"self", Type::map(Type::string(), Type::boolean())}},
     {},
     true,
     {5, 5}},
    {R"cel(self.val1 != true)cel",
     {{"self", Type::map(Type::string(), Type::boolean())}},
     {},
     true,
     {3, 3}},
    {R"cel(self.val1 == 1.0)cel",
     {{"self", Type::map(Type::string(), Type::real())}},
     {},
     true,
     {3, 3}},
};

TEST(Cost, EstimatesAreThoseOfCelGo) {
  for (const EstimateCase& each : kEstimateCases) {
    SCOPED_TRACE(each.expression);
    const HintedCosts costs(each.hints, each.presenceTestHasCost);
    const auto program = environmentWith(each.variables, costs).compile(each.expression);
    if (!program) {
      ADD_FAILURE() << program.error().message;
      continue;
    }
    EXPECT_EQ(program->estimateCost().min, each.expected.min) << "minimum";
    EXPECT_EQ(program->estimateCost().max, each.expected.max) << "maximum";
  }
}

struct ActualCase {
  std::string_view expression;
  std::vector<Variable> variables;
  std::string_view values;  // JSON
  bool presenceTestHasCost;
  std::uint64_t expected;
};

using ActualCases = std::vector<ActualCase>;
const ActualCases kActualCases = {
    {R"cel("Hello World!")cel", {}, R"cel({})cel", true, 0},
    {R"cel(input)cel",
     {{"input", Type::list(Type::integer())}},
     R"cel({"input": [1, 2]})cel",
     true,
     1},
    {R"cel(input['key'])cel",
     {{"input", Type::map(Type::string(), Type::string())}},
     R"cel({"input": {"key": "v"}})cel",
     true,
     2},
    {R"cel(input[0])cel",
     {{"input", Type::list(Type::string())}},
     R"cel({"input": ["v"]})cel",
     true,
     2},
    {R"cel(input['ke' + 'y'])cel",
     {{"input", Type::map(Type::string(), Type::string())}},
     R"cel({"input": {"key": "v"}})cel",
     true,
     3},
    {R"cel(input[3-3])cel",
     {{"input", Type::list(Type::string())}},
     R"cel({"input": ["v"]})cel",
     true,
     3},
    {R"cel(has(input.testAttr.nestedAttr))cel",
     {{"input", Type::map(Type::string(), Type::map(Type::string(), Type::dyn()))}},
     R"cel({"input": {"testAttr": {"nestedAttr": "0"}}})cel",
     true,
     3},
    {R"cel(has(input.testAttr.nestedAttr))cel",
     {{"input", Type::map(Type::string(), Type::map(Type::string(), Type::dyn()))}},
     R"cel({"input": {"testAttr": {"nestedAttr": "0"}}})cel",
     false,
     2},
    {R"cel(has(input.testAttr.nestedAttr))cel",
     {{"input", Type::map(Type::string(), Type::map(Type::string(), Type::dyn()))}},
     R"cel({"input": {"testAttr": {"nestedAttr": "0"}}})cel",
     true,
     3},
    {R"cel([1, 2, 3])cel", {}, R"cel({})cel", true, 10},
    {R"cel({"a": 1, "b": 2, "c": 3})cel", {}, R"cel({})cel", true, 30},
    {R"cel([1, 2, 3].all(x, true))cel", {}, R"cel({})cel", true, 20},
    {R"cel(input.matches('[0-9]'))cel",
     {{"input", Type::string()}},
     R"cel({"input": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"})cel",
     true,
     103},
    {R"cel('123'.matches('[0-9]'))cel", {}, R"cel({})cel", true, 2},
    {R"cel(false || false)cel", {}, R"cel({})cel", true, 0},
    {R"cel(true || false)cel", {}, R"cel({})cel", true, 0},
    {R"cel(a || b || c || d)cel",
     {{"a", Type::boolean()},
      {"b", Type::boolean()},
      {"c", Type::boolean()},
      {"d", Type::boolean()}},
     R"cel({"a": false, "b": false, "c": false, "d": false})cel",
     true,
     4},
    {R"cel(true && false)cel", {}, R"cel({})cel", true, 0},
    {R"cel(false && true)cel", {}, R"cel({})cel", true, 0},
    {R"cel(a && b && c && d)cel",
     {{"a", Type::boolean()},
      {"b", Type::boolean()},
      {"c", Type::boolean()},
      {"d", Type::boolean()}},
     R"cel({"a": true, "b": true, "c": true, "d": true})cel",
     true,
     4},
    {R"cel(1 < 2)cel", {}, R"cel({})cel", true, 1},
    {R"cel(1 <= 2)cel", {}, R"cel({})cel", true, 1},
    {R"cel(1 == 2)cel", {}, R"cel({})cel", true, 1},
    {R"cel(2 > 1)cel", {}, R"cel({})cel", true, 1},
    {R"cel(2 >= 1)cel", {}, R"cel({})cel", true, 1},
    {R"cel(2 in [1, 2, 3])cel", {}, R"cel({})cel", true, 13},
    {R"cel(1 + 1)cel", {}, R"cel({})cel", true, 1},
    {R"cel(1 - 1)cel", {}, R"cel({})cel", true, 1},
    {R"cel(1 / 1)cel", {}, R"cel({})cel", true, 1},
    {R"cel(1 * 1)cel", {}, R"cel({})cel", true, 1},
    {R"cel(1 % 1)cel", {}, R"cel({})cel", true, 1},
    {R"cel(true ? 1 : 2)cel", {}, R"cel({})cel", true, 0},
    {R"cel(size("123"))cel", {}, R"cel({})cel", true, 1},
    {R"cel('12345678901234567890' == '123456789012345678901234567890')cel",
     {},
     R"cel({})cel",
     true,
     2},
    {R"cel(bytes(input))cel",
     {{"input", Type::string()}},
     R"cel({"input": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"})cel",
     true,
     51},
    {R"cel(string(1))cel", {}, R"cel({})cel", true, 1},
    {R"cel(input.contains(arg1))cel",
     {{"input", Type::string()}, {"arg1", Type::string()}},
     R"cel({"input": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "arg1": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"})cel",
     true,
     2502},
    {R"cel(input.matches('\\d+a\\d+b'))cel", {{"input", Type::string()}}, R"cel({"input": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "arg1": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"})cel", true, 103},
    {R"cel(input.startsWith(arg1))cel",
     {{"input", Type::string()}, {"arg1", Type::string()}},
     R"cel({"input": "idc", "arg1": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"})cel",
     true,
     3},
    {R"cel(input.endsWith(arg1))cel",
     {{"input", Type::string()}, {"arg1", Type::string()}},
     R"cel({"input": "idc", "arg1": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"})cel",
     true,
     3},
    {R"cel(input.size())cel",
     {{"input", Type::string()}},
     R"cel({"input": "500", "arg1": "500"})cel",
     true,
     2},
    {R"cel(size(input))cel",
     {{"input", Type::string()}},
     R"cel({"input": "500", "arg1": "500"})cel",
     true,
     2},
    {R"cel(true ? false : 1 > 3)cel", {}, R"cel({})cel", true, 0},
    {R"cel(false ? false : 1 > 3)cel", {}, R"cel({})cel", true, 1},
    {R"cel(input.all(k, input[k].all(x, true)))cel",
     {{"input", Type::map(Type::string(), Type::map(Type::string(), Type::dyn()))}},
     R"cel({"input": {}})cel",
     true,
     2},
    {R"cel(input.all(k, k.contains(k)))cel",
     {{"input", Type::map(Type::string(), Type::map(Type::string(), Type::dyn()))}},
     R"cel({"input": {}})cel",
     true,
     2},
    {R"cel(input.all(k, input[k].all(k, true) && k.contains(k)))cel",
     {{"input", Type::map(Type::string(), Type::map(Type::string(), Type::dyn()))}},
     R"cel({"input": {}})cel",
     true,
     2},
    {R"cel(input.all(k, input[k].all(k, true) && k.contains(k)))cel",
     {{"input", Type::map(Type::string(), Type::map(Type::string(), Type::dyn()))}},
     R"cel({"input": {}})cel",
     true,
     2},
    {R"cel((list1 + list2).all(x, true))cel",
     {{"list1", Type::list(Type::integer())}, {"list2", Type::list(Type::integer())}},
     R"cel({"list1": [], "list2": []})cel",
     true,
     4},
    {R"cel("abcdefg".contains(str1 + str2))cel",
     {{"str1", Type::string()}, {"str2", Type::string()}},
     R"cel({"str1": "val1", "str2": "val2222222"})cel",
     true,
     6},
    {R"cel("abcdefg".contains(str1 + str2))cel",
     {{"str1", Type::string()}, {"str2", Type::string()}},
     R"cel({"str1": "val1", "str2": "val2222222"})cel",
     true,
     6},
    {R"cel((1 > 2 ? 5 : 3) > 1)cel", {}, R"cel({})cel", true, 2},
    {R"cel((1 > 2 || 2 > 1) == true)cel", {}, R"cel({})cel", true, 3},
    {R"cel([{'k1': 1}, {'k2': 2}].all(x, true))cel", {}, R"cel({})cel", true, 77},
    {R"cel([{'k1': 1}, {'k2': 2}].all(x, true))cel", {}, R"cel({})cel", true, 77},
    {R"cel([1,2,3,4,5].filter(x, x % 2 == 0))cel", {}, R"cel({})cel", true, 62},
    {R"cel([1,2,3,4,5].map(x, x))cel", {}, R"cel({})cel", true, 86},
    {R"cel([1,2,3,4,5].map(x, x).filter(x, x % 2 == 0))cel", {}, R"cel({})cel", true, 138},
    {R"cel([1,2,3,4,5].map(x, x).exists(x, x == 5) == true)cel", {}, R"cel({})cel", true, 118},
    {R"cel([1,2,3,4,5].map(x, x).map(x, x))cel", {}, R"cel({})cel", true, 162},
    {R"cel([1,2,3,4,5].map(x, [x, x]).filter(z, z.size() == 2))cel", {}, R"cel({})cel", true, 232},
    {R"cel([1,2,3,4,5].map(x, [x, x]).all(y, y.all(y, y == 1)))cel", {}, R"cel({})cel", true, 171},
    {R"cel([1,2,3,4,5].map(x, x).map(x, x) + [1])cel", {}, R"cel({})cel", true, 173},
    {R"cel([1,2,3].all(i, i in [1,2,3].map(j, j + j)))cel", {}, R"cel({})cel", true, 86},
};

TEST(Cost, ActualCostsAreThoseOfCelGo) {
  for (const ActualCase& each : kActualCases) {
    SCOPED_TRACE(each.expression);
    const HintedCosts costs({}, each.presenceTestHasCost);
    const Environment environment = environmentWith(each.variables, costs);
    const auto program = environment.compile(each.expression);
    if (!program) {
      ADD_FAILURE() << program.error().message;
      continue;
    }
    const json::value values = parseJson(each.values).value();
    Activation activation(environment);
    for (const Variable& variable : each.variables)
      if (const json::value* value = find(values, variable.name))
        activation.set(variable.name, Value::json(*value, variable.type));
    std::uint64_t cost = 0;
    const auto value = program->evaluate(activation, {}, &cost);
    if (!value) ADD_FAILURE() << value.error().message;
    EXPECT_EQ(cost, each.expected);
    EXPECT_LE(program->estimateCost().min, cost);
    EXPECT_GE(program->estimateCost().max, cost);
  }
}

}  // namespace
}  // namespace koord::cel
