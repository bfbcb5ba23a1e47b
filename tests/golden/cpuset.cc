#include "base/cpuset.h"

#include <fmt/format.h>

#include "golden/checkers.h"

namespace koord::golden {
namespace {

json::array numbers(const CpuSet& cpus) {
  json::array result;
  cpus.forEach([&](int cpu) { result.push_back(cpu); });
  return result;
}

bool sameLists(std::string_view a, std::string_view b) {
  const auto left = CpuSet::parse(a);
  const auto right = CpuSet::parse(b);
  return left && right && *left == *right;
}

json::object parseCpuset(const json::object& testCase) {
  json::object result;
  const auto strict = CpuSet::parse(textOf(testCase, "in"), CpuSet::ReversedRange::Error);
  result["kubernetesValid"] = strict.has_value();
  if (strict) result["kubernetesString"] = strict->toString();

  const auto cpus = CpuSet::parse(textOf(testCase, "in"));
  for (const auto* field : {"valid", "parseCPUSetStrValid"}) result[field] = cpus.has_value();
  if (!cpus) return result;
  for (const auto* field : {"string", "text", "generateCPUSetStr"})
    result[field] = cpus->toString();
  for (const auto* field : {"cpus", "parseCPUSetStr"}) result[field] = numbers(*cpus);
  result["size"] = cpus->size();
  return result;
}

Result<json::object> setOperations(const json::object& testCase) {
  const auto a = CpuSet::parse(textOf(testCase, "a"));
  const auto b = CpuSet::parse(textOf(testCase, "b"));
  const auto c = CpuSet::parse(textOf(testCase, "c"));
  for (const auto* parsed : {&a, &b, &c}) {
    if (!*parsed) return fail(parsed->error());
  }
  CpuSet even;
  a->forEach([&](int cpu) {
    if (cpu % 2 == 0) even.add(cpu);
  });
  const auto cpu = testCase.at("contains").as_object().at("cpu").to_number<int>();
  return json::object{
      {"union", a->unionWith(*b).toString()},
      {"unionAll", a->unionWith(*b).unionWith(*c).toString()},
      {"intersection", a->intersect(*b).toString()},
      {"difference", a->difference(*b).toString()},
      {"filterEven", even.toString()},
      {"merge", numbers(a->unionWith(*b))},
      {"isSubset", a->isSubsetOf(*b)},
      {"equals", *a == *b},
      {"isEqualStr", sameLists(textOf(testCase, "a"), textOf(testCase, "b"))},
      {"contains", {{"cpu", cpu}, {"is", a->contains(cpu)}}},
  };
}

Result<json::object> evaluateCpuset(const json::object& testCase) {
  const std::string_view op = textOf(testCase, "op");
  if (op == "parse") return parseCpuset(testCase);
  if (op == "set") return setOperations(testCase);
  if (op == "isEqualStr") {
    return json::object{{"isEqualStr", sameLists(textOf(testCase, "a"), textOf(testCase, "b"))}};
  }
  return fail(ErrorCode::Invalid, fmt::format("unknown op \"{}\"", op));
}

}  // namespace

Checker cpusetChecker() {
  return {
      .file = "cpuset",
      .inputs = {"op", "in", "a", "b", "c"},
      .open = [](const json::array&) -> Result<Evaluate> { return evaluateCpuset; },
  };
}

}  // namespace koord::golden
